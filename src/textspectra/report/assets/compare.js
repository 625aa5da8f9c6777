// Two groups side by side: their similarity, the words that set them apart, and the texts on the border.
import { count, element, make, number, percent, sortedBy, unfiltered } from "./data.js";

const BORDER = 8; // texts of each group

export class Compare {
  constructor(report) {
    Object.assign(this, report);
    this.state.listen((changed) => (changed.work || changed.names || changed.k || changed.filter) && this.show());
  }

  show() {
    const { work } = this.state;
    if (work?.kind !== "compare") return;
    const [one, other] = work.pair;
    const close = () => this.state.set({ work: null });
    const sides = this.words.differing(this.groups.left(one), this.groups.left(other));
    element("work-view").replaceChildren(
      make("button", { type: "button", class: "back", onclick: close }, "← all groups"),
      make("div", { class: "sides" }, ...work.pair.map((node) => this.#head(node))),
      this.#alike(one, other),
      make("h3", {}, "Words that differ"),
      make("div", { class: "sides" }, ...sides.map((words) => this.#words(words))),
      make("h3", {}, "On the border"),
      make(
        "p",
        { class: "muted" },
        "Texts that are about as close to the other group, with both similarities.",
      ),
      ...this.#border(one, other),
      ...this.#border(other, one),
    );
  }

  #head(node) {
    const open = () => this.state.set({ selected: node });
    return make(
      "button",
      { type: "button", class: "side", onclick: open },
      this.groups.swatch(node),
      make("b", { dir: "auto" }, this.state.nameOf(node)),
      make("span", { class: "muted" }, count(this.counts.nodes[node], "text")),
    );
  }

  // A rank among all pairs of groups says more than a cosine.
  #alike(one, other) {
    const nodes = this.tree.cut(this.state.k);
    const value = this.measures.alike(one, other);
    let [more, pairs] = [0, 0];
    nodes.forEach((a, i) =>
      nodes.slice(i + 1).forEach((b) => {
        pairs++;
        more += this.measures.alike(a, b) > value;
      })
    );
    const rank = pairs > 1
      ? `; ${number.format(more)} of ${number.format(pairs)} pairs of groups are more similar`
      : "";
    const merge = () => this.editing.merge([one, other]);
    return make(
      "p",
      { class: "edit-actions" },
      make("span", {}, "Similarity ", make("b", {}, value.toFixed(2)), rank, " ", unfiltered()),
      make("button", { type: "button", onclick: merge }, "Merge these groups"),
    );
  }

  #words(words) {
    const item = ({ word, shares }) =>
      make(
        "li",
        { title: `in ${percent(shares[0])} of the texts here, in ${percent(shares[1])} there` },
        make("span", { dir: "auto" }, word),
        make("span", { class: "muted" }, shares.map((share) => `${Math.round(100 * share)}%`).join(" : ")),
      );
    return make("ul", { class: "differing" }, ...words.map(item));
  }

  #border(node, other) {
    const margin = (i) => this.measures.similarity(node, i) - this.measures.similarity(other, i);
    const near = sortedBy(this.groups.members(node), margin).slice(0, BORDER);
    const beside = (i) => make("span", { class: "of-group" }, `${this.textRows.similarity(other, i)} to the other`);
    return [
      make("h4", { dir: "auto" }, this.groups.swatch(node), ` ${this.state.nameOf(node)}`),
      make("ul", { class: "texts" }, ...near.map((i) => make("li", {}, this.textRows.row(node, i, [beside(i)])))),
    ];
  }
}
