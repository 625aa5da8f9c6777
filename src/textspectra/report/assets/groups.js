// The groups as a list, and one group with its texts.
import { count, element, make, number, percent, sortedBy, unfiltered } from "./data.js";
import { Lines } from "./lines.js";
import { Themes } from "./themes.js";

const NEAREST = 5;
const EXTREMES = 5;
const HITS = 3; // matching texts below a line
const ALSO = 6; // other groups with matching texts, in an open group

export class Groups {
  constructor(report) {
    Object.assign(this, report);
    this.lines = new Lines(report, this);
    this.themes = new Themes(report);
    this.folded = new Set(); // themes whose groups are not listed
    this.order = { key: "size", down: true };
    this.matches = null;
    this.found = null;
    this.#sorting();
    element("list-all").addEventListener("click", () => element("list").classList.add("all"));
    this.state.listen((changed) => this.#changed(changed));
    this.show();
  }

  #changed(changed) {
    if (changed.names || changed.filter) this.lines.clear();
    if (changed.k || changed.filter) this.#find();
    if (changed.selected && this.state.selected !== null) element("panel").scrollTop = 0;
    this.show();
  }

  highlight(matches, query) {
    this.matches = matches;
    this.textRows.query = query;
    this.#find();
    this.show();
  }

  // The number of matching rows in each group, and the most typical matches.
  #find() {
    this.lines.clear();
    this.found = this.matches && new Map(this.tree.cut(this.state.k).map((node) => [node, this.#hits(node)]));
  }

  #hits(node) {
    let rows = 0;
    const texts = [];
    for (const [start, end] of this.tree.pieces(node)) {
      for (let i = start; i < end; i++) {
        if (!this.matches[i]) continue;
        rows += this.counts.texts[i];
        texts.push(i);
      }
    }
    return { rows, texts: texts.length, best: this.#best(node, texts, HITS) };
  }

  // The texts that are most similar to the center of a group.
  #best(node, texts, n) {
    const [best, similarity] = [[], []];
    for (const i of texts) {
      const value = this.measures.similarity(node, i);
      if (similarity.length === n && value <= similarity[n - 1]) continue;
      const at = similarity.findIndex((one) => one < value);
      const place = at < 0 ? similarity.length : at;
      similarity.splice(place, 0, value);
      best.splice(place, 0, i);
      similarity.length = best.length = Math.min(n, similarity.length);
    }
    return best;
  }

  show() {
    const { selected, work } = this.state;
    // On a narrow screen, an open group covers the list, which keeps its position.
    element("list-view").inert = selected !== null || work !== null;
    element("group-view").hidden = selected === null;
    this.#showList();
    if (selected !== null) return this.#showGroup(selected);
    element("group-view").replaceChildren();
  }

  #sorting() {
    const keys = { size: "size", name: "name", cohesion: "cohesion", change: "change" };
    for (const [key, name] of Object.entries(keys)) {
      const sort = () => {
        this.order = { key, down: this.order.key === key ? !this.order.down : key !== "name" };
        this.#showList();
      };
      element("sorting").append(make("button", { type: "button", "data-key": key, onclick: sort }, name));
    }
    element("fold").addEventListener("click", () => this.#foldAll());
    element("sorting").append(element("fold"), element("open-all"));
  }

  // Groups with matches come first. By size they stand under their themes, the largest theme first.
  #sorted() {
    const size = this.counts.nodes;
    const value = {
      size: (node) => size[node],
      cohesion: (node) => this.measures.cohesion(node) ?? 0,
      change: (node) => this.trends.growth(node),
    }[this.order.key];
    const compare = value
      ? (a, b) => value(a) - value(b)
      : (a, b) => this.state.nameOf(a).localeCompare(this.state.nameOf(b));
    const sign = this.order.down ? -1 : 1;
    const hits = (node) => this.found?.get(node).rows ?? 0;
    const left = this.tree.cut(this.state.k).filter((node) => size[node] > 0);
    left.sort((a, b) => hits(b) - hits(a) || sign * compare(a, b) || size[b] - size[a]);
    if (this.order.key !== "size") return left.map((node) => ({ theme: null, nodes: [node] }));
    const sections = this.themes.sections(left);
    const total = (of) => new Map(sections.map((each) => [each, each.nodes.reduce((sum, node) => sum + of(node), 0)]));
    const [rows, sizes] = [total(hits), total((node) => size[node])];
    return sections.sort((a, b) => rows.get(b) - rows.get(a) || sign * (sizes.get(a) - sizes.get(b)));
  }

  #hasChanges() {
    return this.tree.cut(this.state.k).some((node) => this.trends.growth(node) !== 0);
  }

  #section({ theme, nodes }) {
    const cards = () => nodes.map((node) => this.lines.item(node));
    if (theme === null) return cards();
    const folded = this.folded.has(theme) && !this.lines.printing;
    const rows = this.found && nodes.reduce((sum, node) => sum + (this.found.get(node)?.rows ?? 0), 0);
    const fold = () => {
      if (!this.folded.delete(theme)) this.folded.add(theme);
      this.#showList();
      this.#themeButton(theme).focus();
    };
    const heading = this.themes.heading({ theme, nodes }, { folded, rows, fold });
    return folded ? [heading] : [heading, ...cards()];
  }

  #listedThemes(sections) {
    return sections.map(({ theme }) => theme).filter((theme) => theme !== null);
  }

  #foldAll() {
    const themes = this.#listedThemes(this.#sorted());
    const all = themes.every((theme) => this.folded.has(theme));
    for (const theme of themes) all ? this.folded.delete(theme) : this.folded.add(theme);
    this.#showList();
  }

  // The lines of groups, open, in view of the folds; none for a group without texts in the filter.
  reveal(nodes) {
    const unfolded = nodes.filter((node) => this.folded.delete(this.themes.of(node)));
    for (const node of nodes) this.lines.open(node);
    if (unfolded.length) this.#showList();
    const lines = nodes.map((node) => this.lines.item(node)).filter((line) => line.isConnected);
    const isCut = lines.some((line) => getComputedStyle(line).display === "none"); // after the first ones, on a phone
    if (isCut) element("list").classList.add("all");
    return lines;
  }

  #themeButton(theme) {
    return element("list").querySelector(`[data-theme="${theme}"]`);
  }

  #showList() {
    for (const button of element("sorting").querySelectorAll("[data-key]")) {
      const active = button.dataset.key === this.order.key;
      button.setAttribute("aria-pressed", String(active));
      button.dataset.down = active ? String(this.order.down) : "";
      button.hidden = !active && button.dataset.key === "change" && !this.#hasChanges();
    }
    const sections = this.#sorted();
    element("list").replaceChildren(...sections.flatMap((section) => this.#section(section)));
    this.lines.show();
    const themes = this.#listedThemes(sections);
    element("fold").hidden = themes.length === 0;
    element("fold").textContent = themes.every((theme) => this.folded.has(theme)) ? "Unfold themes" : "Fold themes";
    for (const { theme, nodes } of sections) {
      for (const node of nodes) this.lines.item(node).classList.toggle("of-theme", theme !== null);
    }
  }

  open(node) {
    this.state.set({ selected: node });
    element("panel").focus({ preventScroll: true });
  }

  // For a group of single texts, its most frequent words.
  keywords(node) {
    const known = this.tree.nodes.keywords[node];
    if (known.length || !this.tree.made.has(node)) return known;
    return this.tree.nodes.keywords[node] = this.words.keywords(this.tree.pieces(node));
  }

  swatch(node) {
    const swatch = make("span", { class: "swatch" });
    swatch.style.setProperty("--color", this.tree.colors[node]);
    return swatch;
  }

  #showGroup(node) {
    const size = this.counts.nodes[node];
    const label = this.tree.labelsAt(this.state.k).get(node);
    const back = make("button", { type: "button", class: "back", onclick: () => this.#close(node) }, "← all groups");
    const share = percent(size / Math.max(1, this.counts.total));
    const mixed = this.tree.nodes.mixed[node] ? " · mixed: its texts have no common theme" : "";
    const facts = `group ${label} · ${count(size, "text")} · ${share}${mixed}`;
    element("group-view").setAttribute("aria-label", this.state.nameOf(node));
    element("group-view").replaceChildren(
      back,
      make("h2", { class: "hidden", dir: "auto" }, this.state.nameOf(node)),
      this.#nameForm(node),
      make("p", { class: "muted" }, facts),
      unfiltered("cohesion, keywords, nearest groups and edits: "),
      this.lines.bar(node),
      this.trends.line(node),
      make("p", { class: "chips" }, ...this.keywords(node).map((word) => make("span", { dir: "auto" }, word))),
      this.editing.actions(node, this.nearest(node)),
      ...this.#nearest(node),
      ...this.#texts(node),
    );
  }

  #close(node) {
    this.state.set({ selected: null });
    const card = this.lines.item(node).querySelector(".card");
    // Its theme may be folded. Nothing gets the focus if the filter leaves none of its texts.
    (card.isConnected ? card : this.#themeButton(this.themes.of(node)))?.focus();
  }

  #nameForm(node) {
    const name = this.state.nameOf(node);
    const input = make("input", {
      value: name,
      "aria-label": "Group name, editable",
      dir: "auto",
      maxlength: 200,
    });
    const problem = make("span", { class: "problem", role: "alert" });
    const save = () => {
      if (input.value.trim() === this.state.nameOf(node)) return;
      const why = this.state.rename(node, input.value);
      problem.textContent = why ?? "";
    };
    const submit = (event) => {
      event.preventDefault();
      save();
      input.blur();
    };
    input.addEventListener("change", save);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") input.value = name;
    });
    return make(
      "form",
      { class: "rename", onsubmit: submit },
      this.swatch(node),
      input,
      make("span", { class: "pen", "aria-hidden": "true" }, "✎"),
      problem,
    );
  }

  nearest(node) {
    const others = this.tree.cut(this.state.k).filter((other) => other !== node);
    const like = new Map(others.map((other) => [other, this.measures.alike(node, other)]));
    return others.sort((a, b) => like.get(b) - like.get(a));
  }

  #nearest(node) {
    const near = this.nearest(node).slice(0, NEAREST);
    return near.length ? [make("h3", {}, "Nearest groups"), this.#buttons(near)] : [];
  }

  #buttons(nodes, after = () => "") {
    const open = (node) => () => this.state.set({ selected: node });
    const named = (node) => make("span", { dir: "auto" }, this.state.nameOf(node), after(node));
    return make(
      "p",
      { class: "near" },
      ...nodes.map((node) => make("button", { type: "button", onclick: open(node) }, this.swatch(node), named(node))),
    );
  }

  // The texts of a group that the filter leaves.
  left(node) {
    const left = [];
    for (const [start, end] of this.tree.pieces(node)) {
      for (let i = start; i < end; i++) if (this.counts.texts[i] > 0) left.push(i);
    }
    return left;
  }

  // The same, the most typical first.
  members(node) {
    return sortedBy(this.left(node), (i) => -this.measures.similarity(node, i));
  }

  typical(node) {
    const left = this.tree.nodes.typical[node].filter((i) => this.counts.texts[i] > 0);
    return left.length ? left : this.#best(node, this.left(node), EXTREMES);
  }

  #texts(node) {
    const all = this.members(node);
    const long = (positions) =>
      this.textRows.virtual(positions, "All texts of the group, the most typical first", () => node);
    const typical = sortedBy(this.typical(node), (i) => -this.measures.similarity(node, i));
    const extremes = [make("h3", {}, "Most typical"), this.textRows.list(node, typical)];
    if (all.length > 2 * EXTREMES) {
      const least = all.slice(-EXTREMES).reverse();
      extremes.push(make("h3", {}, "Least typical"), this.textRows.list(node, least));
    }
    if (!this.matches) return [...extremes, make("h3", {}, `All ${count(all.length, "different text")}`), long(all)];
    const shown = all.filter((i) => this.matches[i]);
    return [
      make("h3", {}, `${count(shown.length, "matching text")}`),
      long(shown),
      ...this.#alsoFound(node),
      ...extremes,
    ];
  }

  #alsoFound(node) {
    const hits = (other) => this.found.get(other)?.rows ?? 0;
    const others = [...this.found.keys()].filter((other) => other !== node && hits(other) > 0);
    others.sort((a, b) => hits(b) - hits(a));
    const shown = this.#buttons(others.slice(0, ALSO), (other) => ` ${number.format(hits(other))}`);
    return others.length ? [make("h3", {}, "Also found in"), shown] : [];
  }
}
