// The heat map of groups by segment: how much more or less frequent each group is for each value.
import { count, element, make, number, percent, shorten } from "./data.js";

const FIRST_ROWS = 25; // groups shown at first
const STRONG = 2; // powers of two: the color is full at a lift of 4 or 1/4

export class Segments {
  constructor({ meta, tree, state, tallies, tallied }) {
    Object.assign(this, { tree, state, tallies, tallied, segments: meta.tally.segments, all: false });
    element("segments").hidden = !this.segments.length;
    if (!this.segments.length) return;
    const choice = element("segment");
    choice.replaceChildren(...this.segments.map(({ name }, i) => make("option", { value: i }, shorten(name, 60))));
    choice.parentElement.hidden = this.segments.length < 2;
    choice.addEventListener("change", () => this.show());
    element("heat-all").addEventListener("click", () => {
      this.all = !this.all;
      this.show();
    });
    state.listen((changed) => (changed.k || changed.names) && this.show());
    this.show();
  }

  // The counts, shares and lifts of a segment.
  #table(at) {
    const { values } = this.segments[at];
    const [counts, marks] = [this.tallies.segments[at], this.tallies.marks[at]];
    const width = values.length;
    const totals = counts.subarray(-width); // the last node has all texts
    const sum = (row) => row.reduce((a, b) => a + b, 0);
    const n = sum(totals);
    const cell = (node, row, code) => {
      const bit = node * width + code;
      const overall = sum(row) / n;
      const share = row[code] / totals[code];
      return {
        texts: row[code],
        share,
        overall,
        lift: overall && totals[code] ? share / overall : null,
        marked: ((marks[bit >> 3] >> (bit & 7)) & 1) === 1,
        distance: Math.abs(row[code] - overall * totals[code]) / Math.sqrt(overall * totals[code] || 1),
      };
    };
    const row = (node) => {
      const own = this.tallied.row(node, counts, width, (one) => this.tallied.rows.code(at, one));
      return values.map((_, code) => cell(node, own, code));
    };
    return { values, totals, row };
  }

  show() {
    const at = Number(element("segment").value) || 0;
    const { values, totals, row } = this.#table(at);
    const name = this.segments[at].name;
    const strength = (cells) => Math.max(0, ...cells.map((one) => one.marked ? one.distance : 0));
    const rows = this.tree.largestFirst(this.state.k).filter((node) => this.tallied.has(node))
      .map((node) => ({ node, cells: row(node) }));
    rows.sort((a, b) => strength(b.cells) - strength(a.cells));
    const marked = rows.filter(({ cells }) => cells.some((one) => one.marked)).length;
    const shown = this.all ? rows : rows.slice(0, FIRST_ROWS);
    const head = values.map((value, i) =>
      make("th", { scope: "col", dir: "auto" }, shorten(value, 40), make("span", {}, number.format(totals[i])))
    );
    element("heat").replaceChildren(
      make(
        "table",
        {},
        make("thead", {}, make("tr", {}, make("th", { scope: "col", dir: "auto" }, shorten(name, 40)), ...head)),
        make("tbody", {}, ...shown.map((one) => this.#row(one, name, values))),
      ),
    );
    element("heat-all").hidden = rows.length <= FIRST_ROWS;
    element("heat-all").textContent = this.all
      ? `Show the first ${FIRST_ROWS}`
      : `Show all ${count(rows.length, "group")}`;
    element("segment-text").textContent = `How frequent each group is for each value of ${
      shorten(name, 60)
    }, relative to all texts. ${
      marked
        ? `Framed cells are statistically significant (${count(marked, "group")})`
        : "No difference is statistically significant"
    }; the tests correct for the number of groups and values. Filters do not apply to this table.`;
    element("heat-about").textContent = "";
  }

  #row({ node, cells }, name, values) {
    const open = () => this.state.set({ selected: node });
    const title = make("button", { type: "button", dir: "auto", onclick: open }, shorten(this.state.nameOf(node), 60));
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, title),
      ...cells.map((cell, i) => this.#cell(node, cell, name, values[i])),
    );
  }

  #cell(node, { texts, share, overall, lift, marked }, name, value) {
    if (lift === null) return make("td", {}, "–");
    const chance = marked ? "" : this.tree.made.has(node) ? " (not tested)" : " (not significant)";
    const words = `${this.state.nameOf(node)}: ${percent(share)} of texts with ${name} ${value} (${
      count(texts, "text")
    }), ${percent(overall)} overall; ${times(lift)} as frequent${chance}`;
    const tell = () => element("heat-about").textContent = words;
    const attributes = { class: `${lift >= 1 ? "over" : "under"}${marked ? " marked" : ""}`, title: words };
    const made = make("td", { ...attributes, onpointerenter: tell }, times(lift));
    made.style.setProperty("--strength", Math.min(1, Math.abs(Math.log2(lift)) / STRONG).toFixed(2));
    return made;
  }
}

function times(lift) {
  return `${lift.toFixed(lift > 0 && lift < 0.095 ? 2 : lift < 9.95 ? 1 : 0)}×`;
}
