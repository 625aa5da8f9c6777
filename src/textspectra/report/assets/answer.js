// The answer at the top: the number of groups and the largest ones, their quality, and notes. The first sentence follows
// the slider, the edits and the filter; what is about all texts says so while there is a filter.
import { count, element, make, number, shorten, unfiltered } from "./data.js";

const NAMED = 3; // groups in the first sentence

export class Answer {
  constructor({ meta, tree, state, counts }) {
    Object.assign(this, { meta, tree, state, counts, measures: null });
    const { about, details } = meta;
    element("range").textContent = meta.answers.range;
    this.#notes(notes(about, details));
    const { command, model_reason, ...recipe } = about.recipe;
    const model = model_reason ? `${about.model}, ${model_reason}` : about.model;
    const facts = {
      model,
      algorithm: { kmeans: "K-Means", hac: "Ward (HAC)", given: "groups made elsewhere" }[about.algorithm],
      ...recipe,
    };
    element("facts").replaceChildren(
      ...Object.entries(facts).map(([name, value]) =>
        make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))
      ),
    );
    element("command").textContent = command ?? "not recorded";
    element("colophon").textContent =
      `Made by textspectra ${about.version}. This page needs no network and sends nothing.`;
    globalThis.addEventListener("beforeprint", () => element("notes").open = true);
    state.listen((changed) => (changed.k || changed.names || changed.filter) && this.show());
    this.show();
  }

  #sizes() {
    const { grouped, texts } = this.meta.about;
    if (this.counts.isFiltered) {
      const about = this.counts.sampled ? "about " : "";
      const left = `${about}${number.format(this.counts.total)} of ${count(grouped, "text")}`;
      return `Filter: ${this.state.filter.words(this.state.fields)}: ${left}.`;
    }
    return grouped === texts
      ? `${count(texts, "text")}.`
      : `${number.format(grouped)} of ${count(texts, "text")} have a group.`;
  }

  // "22 groups. The largest: cancelled flights (11%), lost luggage (9%), on hold (7%)."
  #headline() {
    const { nodes, total, isFiltered } = this.counts;
    const left = this.counts.largestFirst(this.state.k);
    const where = isFiltered ? " in the filtered texts" : "";
    if (!left.length) return [make("b", {}, "0 groups"), `${where}.`];
    const share = (node) => {
      const value = Math.round(100 * nodes[node] / total);
      return `${this.tree.nodes.mixed[node] ? "mixed, " : ""}${value || "< 1"}%`;
    };
    const named = left.slice(0, NAMED).flatMap((node, i) => [
      i ? ", " : "",
      make("bdi", {}, shorten(this.state.nameOf(node), 60)),
      " ",
      make("span", {}, `(${share(node)})`),
    ]);
    const before = left.length > NAMED ? ". The largest: " : ": ";
    return [make("b", {}, count(left.length, "group")), where + before, ...named, "."];
  }

  // Some facts are known only for cuts of the tree, not for edited groups.
  #edited() {
    const ratio = this.measures?.ratio(this.state.edits.nodes) ?? null;
    const known = ratio === null
      ? "The Cohesion Ratio is not known"
      : `Two texts of one group are ${ratio.toFixed(1)} times as alike as any two texts (Cohesion Ratio ${
        ratio.toFixed(2)
      }). The silhouette is not known`;
    return `The groups were edited by hand. ${known} until the edits are applied to the model.`;
  }

  // The measures are unpacked after the map is drawn.
  addMeasures(measures) {
    this.measures = measures;
    this.show();
  }

  #notes(all) {
    const [first, ...others] = all;
    const box = element("notes");
    box.hidden = !all.length;
    const more = others.length ? [" ", make("b", {}, `and ${count(others.length, "more note")}`)] : [];
    box.replaceChildren(
      make("summary", {}, make("span", { class: "note" }, first ?? ""), ...more, " ", unfiltered()),
      ...others.map((note) => make("p", { class: "note" }, note)),
    );
  }

  show() {
    const { k, edits } = this.state;
    const { about, answers, profile } = this.meta;
    element("headline").replaceChildren(...this.#headline());
    element("read").textContent = `${this.#sizes()} ${about.read}`;
    document.title = `${element("headline").querySelector("b").textContent} in ${
      count(this.counts.total, "text")
    } · textspectra`;
    document.documentElement.classList.toggle("filtered", this.counts.isFiltered); // shows the marks of what it leaves out
    element("worth").textContent = edits ? this.#edited() : answers.worth[k - 1];
    const ari = edits ? null : profile.curves.ari?.[k - 1] ?? null;
    element("truth").hidden = ari === null;
    if (ari !== null) {
      const words = `Agreement with the ground truth, which has ${profile.classes} classes: ARI ${ari.toFixed(2)}. `;
      element("truth").replaceChildren(words, unfiltered());
    }
  }
}

function notes({ notes: given, blank, unknown, shown, distinct, cut_at }, details) {
  return [
    ...given,
    blank && `${count(blank, "blank text")} without a group`,
    unknown && `${count(unknown, "text")} without a group, because the model knows none of the words`,
    shown < distinct &&
    `The map and the lists show a random sample of ${number.format(shown)} of ${
      number.format(distinct)
    } different texts; group sizes count all texts.`,
    cut_at !== null && `Texts are cut to ${number.format(cut_at)} characters.`,
    details.cut_at !== null && `Values of the shown columns are cut to ${number.format(details.cut_at)} characters.`,
  ].filter(Boolean);
}
