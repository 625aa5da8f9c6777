// The text under the pointer, with its group, beside the point.
import { count, element, make, shorten } from "./data.js";

export class Tooltip {
  constructor({ tree, state, counts }) {
    Object.assign(this, { tree, state, counts, box: element("tooltip") });
  }

  hide() {
    this.box.hidden = true;
  }

  show(i, text, node, { clientX, clientY }) {
    const n = this.counts.texts[i];
    const name = make("p", { class: "tip-name", dir: "auto" }, this.state.nameOf(node));
    name.style.setProperty("--color", this.tree.colors[node]);
    if (n > 1) name.append(` · ${count(n, "time")}`);
    this.box.replaceChildren(make("p", { class: "text", dir: "auto" }, shorten(text, 280)), ...this.#cells(i), name);
    this.box.hidden = false;
    const around = this.box.parentElement.getBoundingClientRect();
    const [x, y] = [clientX - around.left, clientY - around.top];
    const left = Math.max(8, Math.min(x + 14, around.width - this.box.offsetWidth - 8));
    const below = y + 18 + this.box.offsetHeight < around.height;
    this.box.style.translate = `${left}px ${below ? y + 18 : Math.max(8, y - this.box.offsetHeight - 12)}px`;
  }

  // The shown columns of the first row with this text.
  #cells(i) {
    const { rows } = this.counts;
    if (!rows?.shown.length) return [];
    const [row] = this.counts.rowsOf(i);
    const cells = rows.shown.map((column) => `${shorten(column.title, 40)} ${shorten(rows.value(column, row), 80)}`);
    return [make("p", { class: "cells", dir: "auto" }, cells.join(" · "))];
  }
}
