// The groups as a list, and one group with its texts.
import { count, element, make, number, percent, quoted, shorten } from "./data.js";

const ROW = { plain: 46, "with-cells": 64 }; // height of a row in the list of all texts, as in the style sheet
const NEAREST = 5;
const EXTREMES = 5;
const MOST_ROWS = 100; // of one text, in the reader

export class Groups {
  constructor(report) {
    Object.assign(this, report);
    this.cards = new Map();
    this.order = { key: "size", down: true };
    this.matches = null;
    this.#sorting();
    element("list-all").addEventListener("click", () => element("list").classList.add("all"));
    this.state.listen((changed) => this.#changed(changed));
    this.show();
  }

  #changed(changed) {
    if (changed.names || changed.filter) this.cards.clear();
    if (changed.selected && this.state.selected !== null) element("panel").scrollTop = 0;
    this.show();
  }

  // The texts are unpacked after the map is drawn.
  addTexts(texts) {
    this.texts = texts;
    this.cards.clear();
    this.show();
  }

  highlight(matches) {
    this.matches = matches;
    this.cards.clear();
    this.show();
  }

  show() {
    const open = this.state.selected !== null;
    element("list-view").inert = open; // on a narrow screen the group covers the list, which stays where it is
    element("group-view").hidden = !open;
    this.#showList();
    if (open) this.#showGroup(this.state.selected);
  }

  #sorting() {
    const keys = { size: "size", name: "name", cohesion: "cohesion", change: "change", found: "found" };
    for (const [key, name] of Object.entries(keys)) {
      const sort = () => {
        this.order = { key, down: this.order.key === key ? !this.order.down : key !== "name" };
        this.#showList();
      };
      element("sorting").append(make("button", { type: "button", "data-key": key, onclick: sort }, name));
    }
  }

  #found(node) {
    if (!this.matches) return null;
    let hits = 0;
    const [start, end] = this.tree.ranges[node];
    for (let i = start; i < end; i++) hits += this.matches[i] ? this.counts.texts[i] : 0;
    return hits;
  }

  #sorted() {
    const { cohesion } = this.tree.nodes;
    const size = this.counts.nodes;
    const value = {
      size: (node) => size[node],
      cohesion: (node) => cohesion[node] ?? 0,
      change: (node) => this.trends.growth(node),
      found: (node) => this.#found(node) ?? 0,
    }[this.order.key];
    const compare = value
      ? (a, b) => value(a) - value(b)
      : (a, b) => this.state.nameOf(a).localeCompare(this.state.nameOf(b));
    const sign = this.order.down ? -1 : 1;
    const left = this.tree.cut(this.state.k).filter((node) => size[node] > 0);
    return left.sort((a, b) => sign * compare(a, b) || size[b] - size[a]);
  }

  #showList() {
    for (const button of element("sorting").children) {
      const active = button.dataset.key === this.order.key;
      button.setAttribute("aria-pressed", String(active));
      button.dataset.down = active ? String(this.order.down) : "";
      button.hidden = { found: !this.matches, change: this.trends.filled.length < 2 }[button.dataset.key] ?? false;
    }
    element("list").replaceChildren(...this.#sorted().map((node) => this.#card(node)));
  }

  #card(node) {
    if (!this.cards.has(node)) this.cards.set(node, this.#newCard(node));
    return this.cards.get(node);
  }

  #newCard(node) {
    const { keywords } = this.tree.nodes;
    const size = this.counts.nodes[node];
    const found = this.#found(node);
    const examples = this.texts ? this.#typical(node).slice(0, 2).map((i) => this.#line(i, 110)) : [];
    const open = () => {
      this.state.set({ selected: node });
      element("panel").focus({ preventScroll: true });
    };
    const title = make("span", { class: "name", dir: "auto" }, this.state.nameOf(node));
    const share = percent(size / Math.max(1, this.counts.total));
    const figures = make("span", { class: "figures" }, make("b", {}, number.format(size)), ` · ${share}`);
    const button = make(
      "button",
      { type: "button", class: "card", "data-node": node, onclick: open },
      make("span", { class: "top" }, this.#swatch(node), title, figures),
      this.#bar(node),
      this.trends.line(node),
      make("span", { class: "keywords", dir: "auto" }, keywords[node].slice(0, 7).join(" · ")),
      ...examples.map(quoted),
    );
    if (found !== null) button.append(make("span", { class: "hits" }, `${number.format(found)} found`));
    return make("li", {}, button);
  }

  #swatch(node) {
    const swatch = make("span", { class: "swatch" });
    swatch.style.setProperty("--color", this.tree.colors[node]);
    return swatch;
  }

  // A bar for the cohesion; it is full at twice the Cohesion Ratio of the whole clustering.
  #bar(node) {
    const value = this.tree.nodes.cohesion[node];
    if (value === null) return "";
    const ratio = this.meta.profile.curves.cohesion[this.state.k - 1] ?? 1;
    const fill = make("span", { class: value < this.meta.about.loose ? "fill loose" : "fill" });
    fill.style.width = `${Math.max(2, Math.min(100, 50 * value / Math.max(ratio, 1)))}%`;
    const title = `cohesion ${value.toFixed(2)}: two texts of this group are ${
      value.toFixed(2)
    } times as alike as any two texts`;
    return make(
      "span",
      { class: "bar", title },
      "cohesion",
      make("span", { class: "rail" }, fill),
      make("span", { class: "value" }, value.toFixed(2)),
    );
  }

  #line(i, limit) {
    return shorten(this.texts[i], limit);
  }

  similarity(node, i) {
    const [start] = this.tree.ranges[node];
    return this.similarities[this.tree.offsets[node] + i - start] / 32767.5 - 1;
  }

  #showGroup(node) {
    const { keywords } = this.tree.nodes;
    const size = this.counts.nodes[node];
    const label = this.tree.labelsAt(this.state.k).get(node);
    const back = make("button", { type: "button", class: "back", onclick: () => this.#close(node) }, "← all groups");
    const share = percent(size / Math.max(1, this.counts.total));
    const facts = `group ${label} · ${count(size, "text")} · ${share}`;
    element("group-view").replaceChildren(
      back,
      make("h2", { class: "hidden", dir: "auto" }, this.state.nameOf(node)),
      this.#nameForm(node),
      make("p", { class: "muted" }, facts),
      this.#bar(node),
      this.trends.line(node),
      make("p", { class: "chips" }, ...keywords[node].map((word) => make("span", { dir: "auto" }, word))),
      ...this.#nearest(node),
      ...this.#texts(node),
    );
  }

  #close(node) {
    this.state.set({ selected: null });
    this.#card(node).firstChild.focus(); // which does nothing if the filter leaves none of its texts
  }

  #nameForm(node) {
    const name = this.state.nameOf(node);
    const input = make("input", {
      value: name,
      "aria-label": "Name of the group; change it here",
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
      this.#swatch(node),
      input,
      make("span", { class: "pen", "aria-hidden": "true" }, "✎"),
      problem,
    );
  }

  #nearest(node) {
    const others = this.tree.cut(this.state.k).filter((other) => other !== node);
    const n = this.tree.ranges.length;
    const like = (other) => this.likeness[node * n + other];
    const near = others.sort((a, b) => like(b) - like(a)).slice(0, NEAREST);
    if (!near.length) return [];
    const buttons = near.map((other) =>
      make(
        "button",
        { type: "button", onclick: () => this.state.set({ selected: other }) },
        this.#swatch(other),
        make("span", { dir: "auto" }, this.state.nameOf(other)),
      )
    );
    return [make("h3", {}, "Nearest groups"), make("p", { class: "near" }, ...buttons)];
  }

  // The texts of a group that the filter leaves, the most typical first.
  #left(node) {
    const [start, end] = this.tree.ranges[node];
    const all = Array.from({ length: end - start }, (_, i) => start + i).filter((i) => this.counts.texts[i] > 0);
    return this.#mostAlikeFirst(node, all);
  }

  #typical(node) {
    const left = this.tree.nodes.typical[node].filter((i) => this.counts.texts[i] > 0);
    return left.length ? this.#mostAlikeFirst(node, left) : this.#left(node).slice(0, EXTREMES);
  }

  #mostAlikeFirst(node, texts) {
    return texts.sort((a, b) => this.similarity(node, b) - this.similarity(node, a));
  }

  #texts(node) {
    if (!this.texts) return [];
    const all = this.#left(node);
    const shown = this.matches ? all.filter((i) => this.matches[i]) : all;
    const extremes = (rows) =>
      make("ul", { class: "texts" }, ...rows.map((i) => make("li", {}, this.#textButton(node, i))));
    const parts = [make("h3", {}, "Most typical"), extremes(this.#typical(node))];
    if (all.length > 2 * EXTREMES) {
      parts.push(make("h3", {}, "Least typical"), extremes(all.slice(-EXTREMES).reverse()));
    }
    const what = this.matches
      ? `${count(shown.length, "text")} found here`
      : `All ${count(all.length, "different text")}`;
    return [...parts, make("h3", {}, what), this.#virtual(node, shown)];
  }

  #textButton(node, i) {
    const n = this.counts.texts[i];
    const times = n > 1 ? make("b", {}, `${number.format(n)}×`) : "";
    const similarity = make("span", { class: "similarity" }, this.similarity(node, i).toFixed(2));
    const open = () => this.#read(node, i);
    return make(
      "button",
      { type: "button", class: "text-row", onclick: open },
      make(
        "span",
        { class: "words" },
        make("span", { class: "text", dir: "auto" }, this.#line(i, 220)),
        this.#cells(i),
      ),
      times,
      similarity,
    );
  }

  // The shown columns of the first row with this text.
  #cells(i) {
    const { rows } = this.counts;
    if (!rows?.shown.length) return "";
    const [row] = this.counts.rowsOf(i);
    const cells = rows.shown.map((column) => shorten(rows.value(column, row), 60));
    return make("span", { class: "cells", dir: "auto" }, cells.join(" · "));
  }

  // All that is known of the rows with this text, as a table.
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

  #read(node, i) {
    const n = this.counts.texts[i];
    const times = n > 1 ? `, ${count(n, "time")} in the data` : "";
    element("reader-about").textContent = `similarity to the centre of its group ${
      this.similarity(node, i).toFixed(4)
    }${times}`;
    element("reader-text").textContent = this.texts[i];
    element("reader-rows").replaceChildren(...this.#rows(i));
    element("reader").showModal();
  }

  // Only the visible rows are elements; the box is as high as all rows together.
  #virtual(node, rows) {
    const inner = make("ul", { class: "texts" });
    const look = this.counts.rows?.shown.length ? "with-cells" : "plain";
    const high = ROW[look];
    const box = make("div", {
      class: `virtual ${look}`,
      tabindex: "0",
      role: "region",
      "aria-label": "All texts of the group, the most typical first",
    }, inner);
    inner.style.height = `${rows.length * high}px`;
    box.style.height = `${Math.min(rows.length, 9) * high}px`;
    const fill = () => {
      const first = Math.max(0, Math.floor(box.scrollTop / high) - 4);
      const last = Math.min(rows.length, first + Math.ceil(box.clientHeight / high) + 8);
      inner.replaceChildren(
        ...rows.slice(first, last).map((i, at) => {
          const item = make(
            "li",
            { "aria-setsize": rows.length, "aria-posinset": first + at + 1 },
            this.#textButton(node, i),
          );
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
