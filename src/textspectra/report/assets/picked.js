// A list of texts beside the map, from the lasso, the search or the heat map. They can be moved, named and saved.
import { count, element, make, number, shorten, sortedBy } from "./data.js";

export class Picked {
  constructor(report, map) {
    Object.assign(this, report, { map, lit: false });
    this.state.listen((changed) => (changed.work || changed.k || changed.names || changed.filter) && this.show());
  }

  show() {
    const { work } = this.state;
    const view = element("work-view");
    view.hidden = work === null;
    if (work?.kind === "picked") view.replaceChildren(...this.#list(work));
    else if (!work) view.replaceChildren();
    const positions = work?.kind === "picked" ? work.positions : null;
    if (positions || this.lit) this.#light(positions);
  }

  // The picked texts keep their colors on the map; without any, the matches of the search do.
  #light(positions) {
    this.lit = positions !== null;
    const matches = positions && new Uint8Array(this.x.length);
    for (const i of positions ?? []) matches[i] = 1;
    this.map.highlight(matches ?? this.groups.matches);
  }

  // The group with the most texts comes first, and in it the most typical text.
  #byGroup(positions, owners) {
    const sizes = new Map();
    for (const i of positions) sizes.set(owners[i], (sizes.get(owners[i]) ?? 0) + 1);
    const groups = [...sizes.keys()].sort((a, b) => sizes.get(b) - sizes.get(a));
    const place = new Map(groups.map((node, i) => [node, 4 * i])); // a similarity is between -1 and 1
    return sortedBy(positions, (i) => place.get(owners[i]) - this.measures.similarity(owners[i], i));
  }

  #note(left, owners, times) {
    const groups = new Set(left.map((i) => owners[i])).size;
    const sum = (of) => left.reduce((rows, i) => rows + of(i), 0);
    const rows = sum(times);
    const others = sum((i) => this.counts.all[i]) - rows;
    const different = rows > left.length ? `, ${number.format(left.length)} different` : "";
    const same = others ? `; moving them also moves ${count(others, "row")} outside this list` : "";
    return `${count(rows, "text")}${different}, in ${count(groups, "group")}${same}`;
  }

  // `isIn` tells the rows that count, if only some rows of the texts do; `back` is a way back to somewhere else.
  #list({ title, positions, isIn = null, back = null }) {
    const owners = this.tree.ownersAt(this.state.k);
    const times = (i) => isIn ? this.counts.rowsOf(i).filter(isIn).length : this.counts.texts[i];
    const left = positions.filter((i) => times(i) > 0);
    const ordered = this.#byGroup(left, owners);
    const group = (i) => {
      const named = make("span", { class: "of-group", dir: "auto" }, this.groups.swatch(owners[i]));
      named.append(` ${shorten(this.state.nameOf(owners[i]), 50)}`);
      return [named];
    };
    const close = () => {
      this.state.set({ work: null });
      back?.();
    };
    return [
      make("button", { type: "button", class: "back", onclick: close }, back ? "← by segment" : "← all groups"),
      make("h2", { class: "work-title", dir: "auto" }, shorten(title, 120)),
      make("p", { class: "muted" }, this.#note(left, owners, times)),
      ...(left.length ? [this.#actions(left, isIn)] : []),
      this.textRows.virtual(ordered, title, (i) => owners[i], { more: group, times }),
    ];
  }

  #actions(positions, isIn) {
    const name = make("input", {
      placeholder: "New group name",
      "aria-label": "New group name",
      maxlength: 200,
    });
    const problem = make("span", { class: "problem", role: "alert" });
    const makeGroup = (event) => {
      event.preventDefault();
      problem.textContent = this.state.problemOf(name.value) ?? "";
      if (problem.textContent) return;
      this.#move(positions, null, name.value.trim());
    };
    const target = make(
      "select",
      { "aria-label": "Move to a group" },
      make("option", { value: "", selected: true }, "Move to …"),
      ...this.textRows.options(null),
    );
    target.addEventListener("change", () => this.#move(positions, Number(target.value)));
    const save = () => this.takeAway.saveTexts(positions, isIn);
    return make(
      "form",
      { class: "edit-actions", onsubmit: makeGroup },
      name,
      make("button", {}, "Create group"),
      target,
      make("button", { type: "button", onclick: save }, "Download CSV"),
      problem,
    );
  }

  #move(positions, node, name = null) {
    const moved = this.state.grouping().move(positions, node, name);
    this.state.set({ work: null });
    this.state.edit(`moving ${count(positions.length, "text")}`, moved, positions);
  }
}
