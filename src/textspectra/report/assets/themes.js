// The broad themes of the groups, and pairs of groups that look alike.
import { count, element, make, number, percent } from "./data.js";
import { range } from "./grouping.js";

const OFFERS = 3; // pairs of groups that look alike, in the list above the groups

export class Themes {
  constructor({ meta, tree, state, counts }) {
    Object.assign(this, { tree, state, counts, all: meta.themes });
    this.ofLeaf = new Int32Array(tree.k).fill(-1);
    this.all.forEach(({ nodes }, theme) => {
      for (const node of nodes) this.ofLeaf.fill(theme, ...tree.spans[node]);
    });
  }

  // The number of texts of each finest cluster that were never moved by hand.
  #count() {
    const { tree, state } = this;
    const stayed = Int32Array.from(tree.distinct);
    for (const i of state.edits?.movedByHand ?? []) stayed[tree.leaves[i]]--;
    Object.assign(this, { edits: state.edits, stayed, themeOf: new Map() });
  }

  // The theme of all texts of a group that were not moved; -1 if there is none. In a group of moved texts only, these
  // count.
  of(node) {
    if (this.edits !== this.state.edits) this.#count();
    if (!this.themeOf.has(node)) {
      const made = this.tree.made.get(node);
      const leaves = made?.leaves ?? range(...this.tree.spans[node]);
      const stayed = leaves.filter((leaf) => this.stayed[leaf] > 0);
      const all = stayed.length ? stayed : [...leaves, ...(made?.moved ?? []).map((i) => this.tree.leaves[i])];
      const themes = new Set(all.map((leaf) => this.ofLeaf[leaf]));
      this.themeOf.set(node, themes.size === 1 ? [...themes][0] : -1);
    }
    return this.themeOf.get(node);
  }

  // A theme of one group of the result has its name, which the reader may have changed.
  nameOf(theme) {
    const { name, nodes } = this.all[theme];
    return nodes.length === 1 ? this.state.nameOf(nodes[0]) : name;
  }

  // Groups in their order as sections: those of a theme that has several together, each of the others alone.
  sections(nodes) {
    const several = new Map();
    for (const node of this.tree.cut(this.state.k)) several.set(this.of(node), (several.get(this.of(node)) ?? 0) + 1);
    const sections = new Map();
    for (const node of nodes) {
      const theme = this.of(node);
      const key = theme >= 0 && several.get(theme) > 1 ? theme : `group ${node}`;
      if (!sections.has(key)) sections.set(key, { theme: typeof key === "number" ? theme : null, nodes: [] });
      sections.get(key).nodes.push(node);
    }
    return [...sections.values()];
  }

  heading({ theme, nodes }, { folded, rows, fold }) {
    const size = nodes.reduce((sum, node) => sum + this.counts.nodes[node], 0);
    const share = percent(size / Math.max(1, this.counts.total));
    const figures = make("span", { class: "figures" }, `${count(nodes.length, "group")} · `);
    figures.append(make("b", {}, number.format(size)), ` · ${share}`);
    if (rows !== null) figures.append(make("span", { class: "hits" }, ` · ${number.format(rows)} found`));
    const name = make("span", { class: "name", dir: "auto" }, this.nameOf(theme));
    const attributes = { type: "button", class: "theme-name", "data-theme": theme, "aria-expanded": String(!folded) };
    return make("li", { class: "theme" }, make("button", { ...attributes, onclick: fold }, name, figures));
  }
}

// Pairs of groups that look alike, each with a button that merges them.
export class Alike {
  constructor({ meta, tree, state, editing }) {
    Object.assign(this, { tree, state, editing, pairs: meta.similar });
    state.listen((changed) => (changed.k || changed.names) && this.show());
    this.show();
  }

  show() {
    const shown = new Set(this.tree.cut(this.state.k));
    const left = this.pairs.filter((pair) => pair.every((node) => shown.has(node)));
    element("alike").hidden = left.length === 0;
    element("alike-count").textContent = left.length > OFFERS ? ` (${OFFERS} of ${left.length})` : "";
    element("alike-pairs").replaceChildren(...left.slice(0, OFFERS).map((pair) => this.#offer(pair)));
  }

  // The merged group has the name of the larger one.
  #offer(pair) {
    const [one, other] = [...pair].sort((a, b) => this.tree.bySize(a, b));
    const [name, otherName] = [one, other].map((node) => this.state.nameOf(node));
    const quoted = (words) => make("b", { dir: "auto" }, words);
    const merge = () => this.editing.merge([one, other]);
    const label = `Merge ${name} and ${otherName}`;
    return make(
      "li",
      {},
      make("span", {}, quoted(name), " and ", quoted(otherName)),
      make("button", { type: "button", "aria-label": label, onclick: merge }, "Merge"),
    );
  }
}
