// The choices of the reader. They are kept here, written to the address, and passed to the listeners.
import { shorten } from "./data.js";
import { Filter } from "./filter.js";
import { Grouping } from "./grouping.js";

const WRITE_AFTER = 250; // browsers refuse an address that changes too often
const SLIDE = "changing the number of groups";
const ALL = { k: true, selected: true, query: true, filter: true, names: true, work: true, link: true };

export class State {
  constructor(tree, { tally, details, about }) {
    this.tree = tree;
    this.mark = about.grouping;
    this.fields = details.filters ? tally : { time: null, segments: [] };
    this.k = tree.base.k;
    this.edits = null; // the groups made by hand
    this.selected = null;
    this.hovered = null; // the group under the pointer; it is not part of the view, and has its own listeners
    this.hoverListeners = [];
    this.work = null; // a list of texts or a comparison beside the map
    this.query = "";
    this.filter = Filter.none(this.fields);
    this.names = new Map();
    this.past = []; // steps to undo, and to redo
    this.future = [];
    this.askFirst = null; // gets a change that would drop the edits, as a function
    this.listeners = [];
    this.timer = 0;
    this.isSaved = () => false; // whether the model has the groups and names, so that the address need not
    this.read();
    globalThis.addEventListener("hashchange", () => {
      if (document.getElementById(location.hash.slice(1))) return; // a link within the page
      this.read();
      this.tell(ALL);
    });
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  tell(changed) {
    for (const listener of this.listeners) listener(changed);
  }

  set(change) {
    if ("k" in change && this.edits && this.askFirst) return this.askFirst(() => this.#set(change));
    this.#set(change);
  }

  #set(change) {
    const changed = {};
    if ("k" in change) this.#slide(change.k, changed);
    if ("selected" in change) {
      changed.selected = change.selected !== this.selected;
      this.selected = change.selected;
    }
    if ("work" in change || (changed.selected && this.selected !== null)) {
      const work = change.work ?? null;
      changed.work = work !== this.work;
      this.work = work;
      if (work && this.selected !== null) {
        this.selected = null;
        changed.selected = true;
      }
    }
    if ("query" in change) {
      changed.query = change.query !== this.query;
      this.query = change.query;
    }
    if ("filter" in change) {
      changed.filter = !change.filter.equals(this.filter);
      this.filter = change.filter;
    }
    if (Object.values(changed).includes(true)) this.#changed(changed);
  }

  // Another number of groups is a cut of the tree, without the edits. Consecutive slider steps are undone together.
  #slide(wanted, changed) {
    const k = Math.round(Math.min(this.tree.k, Math.max(this.tree.lowest, wanted)));
    if (k === this.k && !this.edits) return;
    if (this.edits || this.past.at(-1)?.what !== SLIDE || this.future.length) this.#remember(SLIDE);
    const before = this.selected;
    this.k = k;
    this.#show(null);
    if (before !== null) this.selected = this.tree.standIn(before, k);
    Object.assign(changed, { k: true, selected: this.selected !== before });
  }

  #show(edits) {
    this.edits = edits;
    this.tree.byHand = edits;
    if (edits) this.k = edits.nodes.length;
  }

  // Edits that result in a cut of the tree with its labels are dropped, unless texts were moved: these stay remembered.
  #settle(edits) {
    this.#show(null);
    const k = edits.nodes.length;
    const labels = k >= this.tree.lowest && k <= this.tree.k ? this.tree.labelsAt(k) : new Map();
    const isCut = edits.nodes.every((node) => labels.get(node) === edits.labels.get(node));
    if (!isCut || edits.movedByHand.size) return this.#show(edits);
    this.k = k;
    for (const node of edits.nodes) {
      if (edits.nameOf(node) === this.tree.nodes.name[node]) this.names.delete(node);
      else this.names.set(node, edits.nameOf(node));
    }
  }

  // The groups as shown, ready to be edited.
  grouping() {
    return this.edits ?? Grouping.of(this.tree, this.k, (node) => this.nameOf(node));
  }

  // `texts` are those that were moved, if only texts were.
  edit(what, edits, texts = null) {
    this.#remember(what, texts);
    this.#go(() => this.#settle(edits), { how: "done", what, texts });
  }

  #remember(what, texts = null) {
    this.past.push({ ...this.#now(), what, texts });
    this.future = [];
  }

  #now() {
    return { k: this.k, edits: this.edits, names: new Map(this.names) };
  }

  undo() {
    this.#step(this.past, this.future, "undone");
  }

  redo() {
    this.#step(this.future, this.past, "redone");
  }

  #step(from, to, how) {
    if (!from.length) return;
    const { what, texts, k, edits, names } = from.pop();
    to.push({ ...this.#now(), what, texts });
    this.#go(() => {
      this.k = k;
      this.names = names;
      this.#show(edits);
    }, { how, what, texts });
  }

  // The group that now has the first text of the open one stays open. Listeners hear what the step was, and the names of
  // the groups before it.
  #go(change, step) {
    const names = new Map(this.tree.cut(this.k).map((node) => [node, this.nameOf(node)]));
    const [text] = this.selected === null ? [null] : this.tree.pieces(this.selected)[0];
    change();
    if (text !== null) this.selected = this.tree.ownersAt(this.k)[text];
    if (this.work?.pair?.some((node) => !this.tree.cut(this.k).includes(node))) this.work = null;
    const told = { ...step, names, isSlide: step.what === SLIDE };
    this.#changed({ k: true, selected: true, names: true, work: true, step: told });
  }

  onHover(listener) {
    this.hoverListeners.push(listener);
  }

  hover(node) {
    if (node === this.hovered) return;
    this.hovered = node;
    for (const listener of this.hoverListeners) listener(node);
  }

  nameOf(node) {
    return this.edits?.nameOf(node) ?? this.names.get(node) ?? this.tree.nodes.name[node];
  }

  // Returns the reason if a name cannot be used.
  rename(node, name) {
    const clean = name.trim();
    const problem = this.problemOf(clean, node);
    if (problem) return problem;
    if (this.edits) return this.edit("renaming a group", this.edits.rename(node, clean));
    this.#remember("renaming a group");
    if (clean === this.tree.nodes.name[node]) this.names.delete(node);
    else this.names.set(node, clean);
    this.#changed({ names: true });
  }

  problemOf(name, node = null) {
    if (!name.trim()) return "Enter a name.";
    const other = this.tree.cut(this.k).find((one) => one !== node && this.nameOf(one) === name.trim());
    return other === undefined ? null : "Another group has this name.";
  }

  #changed(changed) {
    this.tell(changed);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), WRITE_AFTER);
  }

  write() {
    // Inside a notebook, the page is in a frame without an address.
    if (location.protocol !== "about:") history.replaceState(null, "", this.address());
  }

  // Nodes and positions belong to this report, so the address names it.
  address() {
    const parts = new URLSearchParams({ k: this.k });
    const isSaved = this.isSaved();
    if (this.selected !== null && !isSaved) {
      parts.set("group", this.edits ? this.edits.at(this.selected) : this.selected);
    }
    if (this.query) parts.set("q", shorten(this.query, 200));
    this.filter.write(parts, this.fields);
    if (isSaved) return `#${parts}`;
    if (this.edits) parts.set("edits", this.edits.write());
    else if (this.names.size) parts.set("names", JSON.stringify([...this.names]));
    if (this.edits || this.names.size || this.selected !== null) parts.set("of", this.mark);
    return `#${parts}`;
  }

  // The address may be edited or cut short: invalid parts are ignored.
  read() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const isOurs = parts.get("of") === this.mark;
    this.isOther = !isOurs && ["edits", "names"].some((name) => parts.has(name));
    const { k, names, edits } = this.#parse(isOurs ? parts : new URLSearchParams({ k: parts.get("k") ?? "" }));
    Object.assign(this, { k, names, past: [], future: [], work: null });
    this.#show(null);
    if (edits) {
      this.k = this.tree.base.k;
      this.#remember("the edits of the link");
      this.#show(edits);
    }
    const group = Number(parts.get("group") ?? NaN);
    const isGroup = isOurs && this.#isNode(group);
    this.selected = isGroup ? (edits ? edits.all[group] ?? null : this.tree.standIn(group, this.k)) : null;
    this.query = parts.get("q") ?? "";
    this.filter = Filter.read(parts, this.fields);
  }

  #isNode(node) {
    return Number.isInteger(node) && node >= 0 && node < this.tree.ranges.length;
  }

  #parse(parts) {
    const { lowest, k: highest, base } = this.tree;
    const k = Number(parts.get("k") ?? base.k);
    const names = new Map();
    try {
      for (const [node, name] of JSON.parse(parts.get("names") ?? "[]")) {
        if (this.#isNode(node) && typeof name === "string" && name.trim()) names.set(node, name.trim());
      }
    } catch {
      names.clear();
    }
    const edits = parts.has("edits") ? Grouping.read(this.tree, parts.get("edits")) : null;
    return { k: Number.isInteger(k) && k >= lowest && k <= highest ? k : base.k, names, edits };
  }

  // Shows the edits in parts of an address, and returns whether there are any; without parts, the groups of the result.
  // The step can be undone.
  restore(what, parts = "") {
    const { k, names, edits } = this.#parse(new URLSearchParams(parts));
    for (const [node, name] of names) if (name === this.tree.nodes.name[node]) names.delete(node);
    if (parts && !edits && !names.size) return false;
    this.#remember(what);
    this.#go(() => {
      Object.assign(this, { k, names });
      this.#show(edits);
    }, { how: "done", what, texts: null });
    return true;
  }
}
