// What the reader chose. It is kept here, written to the address, and passed to the listeners.
import { shorten } from "./data.js";
import { Filter } from "./filter.js";

const WRITE_AFTER = 250; // browsers refuse an address that changes too often

export class State {
  constructor(tree, { tally, details }) {
    this.tree = tree;
    this.fields = details.filters ? tally : { time: null, segments: [] };
    this.k = tree.base.k;
    this.selected = null;
    this.hovered = null; // the group that the pointer is at; it is not part of the view, and has its own listeners
    this.hoverListeners = [];
    this.query = "";
    this.filter = Filter.none(this.fields);
    this.names = new Map();
    this.listeners = [];
    this.timer = 0;
    this.read();
    globalThis.addEventListener("hashchange", () => {
      this.read();
      this.tell({ k: true, selected: true, query: true, filter: true, names: true });
    });
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  tell(changed) {
    for (const listener of this.listeners) listener(changed);
  }

  set(change) {
    const changed = {};
    if ("k" in change) {
      const k = Math.round(Math.min(this.tree.k, Math.max(this.tree.lowest, change.k)));
      changed.k = k !== this.k;
      this.k = k;
      const selected = this.selected === null ? null : this.tree.standIn(this.selected, k);
      changed.selected = selected !== this.selected;
      this.selected = selected;
    }
    if ("selected" in change) {
      changed.selected = change.selected !== this.selected;
      this.selected = change.selected;
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

  onHover(listener) {
    this.hoverListeners.push(listener);
  }

  hover(node) {
    if (node === this.hovered) return;
    this.hovered = node;
    for (const listener of this.hoverListeners) listener(node);
  }

  nameOf(node) {
    return this.names.get(node) ?? this.tree.nodes.name[node];
  }

  // Returns the reason if a name cannot be used.
  rename(node, name) {
    const clean = name.trim();
    if (!clean) return "Enter a name.";
    const other = this.tree.cut(this.k).find((one) => one !== node && this.nameOf(one) === clean);
    if (other !== undefined) return "Another group has this name.";
    if (clean === this.tree.nodes.name[node]) this.names.delete(node);
    else this.names.set(node, clean);
    this.#changed({ names: true });
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

  address() {
    const parts = new URLSearchParams({ k: this.k });
    if (this.selected !== null) parts.set("group", this.selected);
    if (this.query) parts.set("q", shorten(this.query, 200));
    this.filter.write(parts, this.fields);
    if (this.names.size) parts.set("names", JSON.stringify([...this.names]));
    return `#${parts}`;
  }

  // The address may be edited or cut short: whatever is not valid is ignored.
  read() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const isNode = (node) => Number.isInteger(node) && node >= 0 && node < this.tree.ranges.length;
    const k = Number(parts.get("k") ?? this.tree.base.k);
    this.k = Number.isInteger(k) && k >= this.tree.lowest && k <= this.tree.k ? k : this.tree.base.k;
    const group = Number(parts.get("group") ?? NaN);
    this.selected = isNode(group) ? this.tree.standIn(group, this.k) : null;
    this.query = parts.get("q") ?? "";
    this.filter = Filter.read(parts, this.fields);
    this.names = new Map();
    try {
      for (const [node, name] of JSON.parse(parts.get("names") ?? "[]")) {
        if (isNode(node) && typeof name === "string" && name.trim()) this.names.set(node, name.trim());
      }
    } catch {
      this.names.clear();
    }
  }
}
