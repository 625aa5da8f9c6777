// Texts in lists, and one text in full, where its group can be changed.
import { count, element, make, number, shorten } from "./data.js";

const ROW = { text: 46, line: 18 }; // pixels in a long list: two lines of the text, and one for each line below it
const MOST_ROWS = 100; // of one text, in the reader
const LETTERS_SHOWN = 220; // of a text in a list
const LETTERS_SEARCHED = 110; // of a text that was found
const FLAT = 20_000; // characters of a text that are searched for matches to mark

export class TextRows {
  constructor({ tree, state, counts, measures, texts }) {
    Object.assign(this, { tree, state, counts, measures, texts, query: null });
    const choice = element("reader-group");
    choice.addEventListener("change", () => {
      const node = Number(choice.value);
      const moved = this.state.grouping().move([this.reading], node);
      element("reader").close();
      this.state.edit("moving a text", moved, [this.reading]);
    });
  }

  // Matches are among the first characters, which fit into two lines.
  #words(i) {
    if (!this.query) return [shorten(this.texts[i], LETTERS_SHOWN)];
    return this.query.marked(shorten(this.texts[i], FLAT), LETTERS_SEARCHED);
  }

  // The similarity of a text to a group, after a sign if it is approximate.
  similarity(node, i, digits = 2) {
    const exact = this.measures.isExact(node) && this.tree.has(node, i);
    return `${exact ? "" : "≈ "}${this.measures.similarity(node, i).toFixed(digits)}`;
  }

  // With `n`, the number of its rows in the list.
  row(node, i, more = [], n = this.counts.texts[i]) {
    const times = n > 1 ? make("b", {}, `${number.format(n)}×`) : "";
    return make(
      "button",
      { type: "button", class: "text-row", onclick: () => this.read(node, i) },
      make(
        "span",
        { class: "words" },
        make("span", { class: "text", dir: "auto" }, ...this.#words(i)),
        this.#cells(i),
        ...more,
      ),
      times,
      make("span", { class: "similarity" }, this.similarity(node, i)),
    );
  }

  list(node, positions) {
    return make("ul", { class: "texts" }, ...positions.map((i) => make("li", {}, this.row(node, i))));
  }

  // The shown columns of the first row with this text.
  #cells(i) {
    const { rows } = this.counts;
    if (!rows?.shown.length) return "";
    const [row] = this.counts.rowsOf(i);
    if (row === undefined) return "";
    const cells = rows.shown.map((column) => shorten(rows.value(column, row), 60));
    return make("span", { class: "cells", dir: "auto" }, cells.join(" · "));
  }

  // All details of the rows with this text, as a table.
  #rows(i) {
    const { rows } = this.counts;
    if (!rows?.columns.length) return [];
    const all = this.counts.rowsOf(i);
    const heads = rows.columns.map(({ title }) => make("th", { scope: "col", dir: "auto" }, title));
    const lines = all.slice(0, MOST_ROWS).map((row) =>
      make("tr", {}, ...rows.columns.map((column) => make("td", { dir: "auto" }, rows.value(column, row) ?? "")))
    );
    const rest = all.length > MOST_ROWS
      ? [make("p", { class: "muted" }, `and ${count(all.length - MOST_ROWS, "row")} more`)]
      : [];
    return [make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...lines)), ...rest];
  }

  read(node, i) {
    const n = this.counts.texts[i];
    const times = n > 1 ? `, ${count(n, "time")} in the data` : "";
    this.reading = i;
    const about = `similarity to the center of its group ${this.similarity(node, i, 4)}${times}`;
    element("reader-about").textContent = about;
    element("reader-text").replaceChildren(...(this.query ? this.query.marked(this.texts[i]) : [this.texts[i]]));
    element("reader-rows").replaceChildren(...this.#rows(i));
    element("reader-group").replaceChildren(...this.options(node));
    element("reader").showModal();
  }

  // All groups as options, the largest first; the given one is selected.
  options(node) {
    const groups = this.tree.largestFirst(this.state.k);
    return groups.map((group) =>
      make("option", { value: group, selected: group === node }, shorten(this.state.nameOf(group), 60))
    );
  }

  // Only the visible rows are elements; the box has the height of all rows.
  virtual(positions, label, nodeOf, { more = null, times } = {}) {
    const inner = make("ul", { class: "texts" });
    const high = ROW.text + ROW.line * (Boolean(this.counts.rows?.shown.length) + Boolean(more));
    const box = make("div", { class: "virtual", tabindex: "0", role: "region", "aria-label": label }, inner);
    box.style.setProperty("--row", `${high}px`);
    inner.style.height = `${positions.length * high}px`;
    box.style.height = `${Math.min(positions.length, 9) * high}px`;
    const fill = () => {
      const first = Math.max(0, Math.floor(box.scrollTop / high) - 4);
      const last = Math.min(positions.length, first + Math.ceil(box.clientHeight / high) + 8);
      inner.replaceChildren(
        ...positions.slice(first, last).map((i, at) => {
          const place = { "aria-setsize": positions.length, "aria-posinset": first + at + 1 };
          const item = make("li", place, this.row(nodeOf(i), i, more?.(i), times?.(i)));
          item.style.translate = `0 ${(first + at) * high}px`;
          return item;
        }),
      );
    };
    box.addEventListener("scroll", () => requestAnimationFrame(fill));
    requestAnimationFrame(fill);
    return box;
  }
}
