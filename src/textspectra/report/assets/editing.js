// Merge, split, compare, undo and redo: the bar above the groups, the boxes on the cards, and the keys.
import { element, make } from "./data.js";
import { range } from "./grouping.js";

export class Editing {
  constructor({ tree, state }) {
    Object.assign(this, { tree, state, chosen: [] });
    element("undo").addEventListener("click", () => state.undo());
    element("redo").addEventListener("click", () => state.redo());
    element("keep").addEventListener("click", () => element("keeping").scrollIntoView({ block: "center" }));
    document.addEventListener("keydown", (event) => this.#onKey(event));
    state.listen((changed) => (changed.k || changed.names || changed.work || changed.selected) && this.show());
    this.show();
  }

  #onKey(event) {
    const key = event.key.toLowerCase();
    if (!(event.ctrlKey || event.metaKey) || event.altKey || !["z", "y"].includes(key)) return;
    if (event.target.matches("input:not([type=checkbox], [type=range])")) return; // inputs have their own undo
    event.preventDefault();
    if (key === "y" || event.shiftKey) this.state.redo();
    else this.state.undo();
  }

  // The box on a card.
  tick(node) {
    const box = make("input", { type: "checkbox", "aria-label": `Select ${this.state.nameOf(node)}` });
    box.checked = this.chosen.includes(node);
    box.addEventListener("change", () => {
      this.chosen = this.chosen.filter((other) => other !== node);
      if (box.checked) this.chosen.push(node);
      this.show();
    });
    return make("label", { class: "tick" }, box);
  }

  #clear() {
    this.chosen = [];
    for (const box of element("list").querySelectorAll(".tick input")) box.checked = false;
    this.show();
  }

  show() {
    const { state } = this;
    const alive = this.tree.cut(state.k);
    this.chosen = this.chosen.filter((node) => alive.includes(node));
    for (const [id, steps, verb] of [["undo", state.past, "Undo"], ["redo", state.future, "Redo"]]) {
      element(id).disabled = !steps.length;
      const words = steps.length ? `${verb}: ${steps.at(-1).what}` : `Nothing to ${id}`;
      element(id).title = words;
      element(id).setAttribute("aria-label", words);
    }
    element("misfits").hidden = this.chosen.length > 0 || state.work !== null;
    element("chosen").replaceChildren(...this.#choices());
    element("edited").hidden = !state.edits;
    element("other-link").hidden = !state.isOther;
  }

  #choices() {
    const n = this.chosen.length;
    if (!n || this.state.work || this.state.selected !== null) return [];
    const button = (words, act) => make("button", { type: "button", onclick: act }, words);
    return [
      make("span", { class: "muted" }, n === 1 ? "1 selected; select another, or" : `${n} selected`),
      ...(n === 1 && this.canSplit(this.chosen[0]) ? [button("Split", () => this.split(this.chosen[0]))] : []),
      ...(n > 1 ? [button("Merge", () => this.merge(this.chosen))] : []),
      ...(n === 2 ? [button("Compare", () => this.compare(...this.chosen))] : []),
      button("Clear", () => this.#clear()),
    ];
  }

  merge(nodes) {
    const merged = this.state.grouping().merge(nodes);
    this.chosen = [];
    this.state.edit(`merging ${nodes.length} groups`, merged);
  }

  compare(one, other) {
    this.state.set({ work: { kind: "compare", pair: [one, other] } });
    element("panel").scrollTop = 0;
    element("panel").focus({ preventScroll: true }); // the button that was pressed no longer exists
  }

  // A group is split along the tree, so it needs texts of several finest clusters.
  canSplit(node) {
    const { leaves, moved } = this.tree.made.get(node) ?? { leaves: range(...this.tree.spans[node]), moved: [] };
    return new Set(leaves.length ? leaves : moved.map((i) => this.tree.leaves[i])).size > 1;
  }

  split(node) {
    const split = this.state.grouping().split(node);
    this.chosen = [];
    this.state.set({ selected: null });
    this.state.edit("splitting a group", split);
  }

  // Actions on an open group, alone and with other groups.
  actions(node, others) {
    const choose = (words, act) => {
      const choice = make(
        "select",
        { "aria-label": words },
        make("option", { value: "", selected: true }, `${words} …`),
        ...others.map((other) => make("option", { value: other }, this.state.nameOf(other).slice(0, 60))),
      );
      choice.addEventListener("change", () => act(Number(choice.value)));
      return choice;
    };
    const button = (words, act) => make("button", { type: "button", onclick: act }, words);
    return make(
      "p",
      { class: "edit-actions", role: "group", "aria-label": "Edit this group" },
      ...(this.canSplit(node) ? [button("Split in two", () => this.split(node))] : []),
      ...(others.length
        ? [
          choose("Merge with", (other) => this.merge([node, other])),
          choose("Compare with", (other) => this.compare(node, other)),
        ]
        : []),
    );
  }
}
