// Why this number of groups: the suggested levels in words, and the captions of the charts.
import { count, element, make, number } from "./data.js";

export class Why {
  constructor({ meta, state }) {
    Object.assign(this, { meta, state, evidence: meta.evidence });
    this.#levels();
    if (this.evidence) this.#captions(this.evidence);
    this.#profile(meta.profile);
    const texts = count(meta.matrix.positions.length, "text");
    element("matrix-text").textContent =
      `${texts}, drawn at random and sorted by group; lines separate the groups. A bright block on the diagonal is a group of similar texts; off the diagonal, it is a pair of similar groups.`;
    element("rectified-text").textContent =
      "Similarities in standard deviations above their mean; lower ones are 0. This removes what all texts have in common.";
    this.#layout();
    state.listen((changed) => changed.k && this.show());
    this.show();
  }

  #levels() {
    const levels = this.evidence?.agreement && this.evidence.k > 1 ? this.evidence.suggestions : [];
    element("why-text").textContent = levels.length
      ? "The texts are split into two random halves, and each half is grouped on its own. The better the two halves agree, the more reliable the number of groups. Consider these:"
      : this.meta.answers.range;
    this.cards = levels.map(({ name, k, words }) =>
      make(
        "button",
        { type: "button", class: "level", "data-k": k, onclick: () => this.state.set({ k }) },
        make("b", {}, count(k, "group")),
        make("span", { class: "level-name" }, name),
        make("span", { class: "muted" }, words),
      )
    );
    element("levels").replaceChildren(...this.cards);
    element("levels").hidden = !levels.length;
  }

  #captions({ method, interval, spectrum }) {
    element("agreement-text").textContent =
      "1 is perfect agreement, 0 is chance. We suggest the number of groups on which two halves of your texts agree best, weighted toward detail.";
    element("halves-text").textContent =
      `The score favors finer groups, which tell more about the texts. People would see between ${interval[0]} and ${
        interval[1]
      } groups (95% interval).`;
    const other = method === "spectral"
      ? ""
      : "The method of the paper, for comparison; it does not affect the number of groups above. ";
    const jump = spectrum.fallback < 1
      ? `The last difference above the threshold comes after eigenvalue ${jumpOf(spectrum)}, which means ${
        jumpOf(spectrum)
      } groups.`
      : "No difference is above the threshold, so the number of groups is a default, not a finding.";
    element("spectrum-text").textContent = `${other}Eigenvalues of the normalized Laplacian of ${
      number.format(spectrum.sample)
    } texts, and the normalized difference of each from the ones before it. ${jump}`;
    const [low, high] = spectrum.interval;
    const samples = spectrum.replicates.count.reduce((a, b) => a + b, 0);
    element("replicates-text").textContent = `${other}The estimates from the spectra of ${
      count(samples, "random sample")
    }. 95% of them are between ${low} and ${high}; the estimate is ${spectrum.k}.`;
  }

  #profile({ classes, silhouette_rows }) {
    const truth = classes
      ? ` The other curves compare the groups with the ${classes} classes of the ground truth.`
      : "";
    element("profile-text").textContent =
      `At every cut of the merge tree. The Cohesion Ratio usually grows with the number of groups on any data. The silhouette is computed on ${
        number.format(silhouette_rows)
      } texts.${truth}`;
  }

  // Charts without data are left out; the last of an odd number gets a row of its own.
  #layout() {
    const hidden = {
      agreement: !this.evidence?.agreement,
      halves: !this.evidence?.agreement,
      spectrum: !this.evidence,
      replicates: !this.evidence,
    };
    for (const [id, none] of Object.entries(hidden)) element(id).closest("figure").hidden = none;
    const left = ["halves", "spectrum", "replicates", "profile"].filter((id) => !hidden[id]);
    element("profile").closest("figure").classList.toggle("wide", left.length % 2 === 1);
  }

  show() {
    for (const card of this.cards) {
      card.setAttribute("aria-pressed", String(Number(card.dataset.k) === this.state.k && !this.state.edits));
    }
  }
}

// The index of the eigenvalue before the last difference above the threshold.
export function jumpOf({ deltas, threshold, window, k }) {
  const last = deltas.findLastIndex((delta) => delta > threshold);
  return last < 0 ? k : last + window;
}
