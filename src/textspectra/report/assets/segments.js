// The heat map of groups by segment: the texts of each group with each value, and how many times as many that is as if
// the value made no difference. A cell opens its texts.
import { count, element, make, number, percent, shorten, whenPrinting } from "./data.js";

const FIRST_ROWS = 25; // groups shown at first
const STRONG = 2; // powers of two: the color is full at a lift of 4 or 1/4
const FEWEST_EXPECTED = 10; // texts; a ratio to fewer is mostly chance
const PAPER_COLUMNS = 8; // values that fit on a page; further ones are in another table
const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

export class Segments {
  constructor({ meta, tree, state, counts, groups, tallies, tallied }) {
    Object.assign(this, { tree, state, counts, groups, tallies, tallied });
    Object.assign(this, { segments: meta.tally.segments, canOpen: meta.details.filters, all: false });
    element("segments").hidden = !this.segments.length;
    if (!this.segments.length) return;
    const choice = element("segment");
    choice.replaceChildren(...this.segments.map(({ name }, i) => make("option", { value: i }, shorten(name, 60))));
    choice.parentElement.hidden = this.segments.length < 2;
    choice.addEventListener("change", () => this.show());
    element("heat").addEventListener("keydown", (event) => this.#onKey(event));
    element("heat").addEventListener("focusin", ({ target }) => this.#stopAt(target));
    element("heat-all").addEventListener("click", () => {
      this.all = !this.all;
      this.show();
    });
    state.listen((changed) => (changed.k || changed.names || changed.filter) && this.show());
    whenPrinting((isPrinting) => this.show(isPrinting ? PAPER_COLUMNS : Infinity));
    this.show();
  }

  // The table is one stop of the Tab key: the button that had the focus. Arrow keys move to the next one.
  #onKey(event) {
    const [down, right] = STEPS[event.key] ?? [];
    if (down === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { rows } = event.currentTarget.querySelector("table");
    let cell = event.target.closest("th, td");
    let button = null;
    while (cell && !button) {
      cell = rows[cell.parentElement.rowIndex + down]?.cells[cell.cellIndex + right];
      button = cell?.querySelector("button");
    }
    button?.focus();
  }

  #stopAt(button) {
    for (const other of element("heat").querySelectorAll("button")) other.tabIndex = other === button ? 0 : -1;
  }

  // The counts, shares and lifts of a segment; values without any texts are left out.
  #table(at) {
    const { values } = this.segments[at];
    const width = values.length;
    const marks = this.tallies.marks[at];
    const codeOf = (row) => this.counts.rows.code(at, row);
    const tallied = (node) => this.tallied.row(node, this.tallies.segments[at], width, codeOf);
    const totals = tallied(this.tree.ranges.length - 1); // the last node has all texts
    const sum = (row) => row.reduce((a, b) => a + b, 0);
    const n = sum(totals);
    const codes = Array.from(totals.keys()).filter((code) => totals[code] > 0);
    const row = (node) => {
      const texts = tallied(node);
      const size = sum(texts);
      return size === 0 ? [] : codes.map((code) => {
        const [bit, expected] = [node * width + code, size * totals[code] / n];
        const marked = !this.counts.isFiltered && ((marks[bit >> 3] >> (bit & 7)) & 1) === 1;
        const [share, lift] = [texts[code] / totals[code], texts[code] / expected];
        return { node, at, code, texts: texts[code], share, expected, lift, marked };
      });
    };
    return { codes, totals, row };
  }

  show(columns = Infinity) {
    const at = Number(element("segment").value) || 0;
    const { name, values } = this.segments[at];
    const { codes, totals, row } = this.#table(at);
    const distance = ({ texts, expected }) => Math.abs(texts - expected) / Math.sqrt(expected);
    const strength = (cells) => Math.max(0, ...cells.map((one) => one.marked ? distance(one) : 0));
    const nodes = this.counts.largestFirst(this.state.k).filter((node) => this.tallied.has(node));
    const rows = nodes.map((node) => row(node)).filter((cells) => cells.length);
    rows.sort((a, b) => strength(b) - strength(a));
    const head = codes.map((code) => [values[code], make("span", {}, number.format(totals[code]))]);
    const shown = this.all ? rows : rows.slice(0, FIRST_ROWS);
    const tables = [];
    for (let first = 0; first < codes.length; first += columns) {
      const part = (all) => all.slice(first, first + columns);
      tables.push(this.#grid([[name], ...part(head)], shown.map(part)));
    }
    element("heat").replaceChildren(...tables);
    this.#stopAt(element("heat").querySelector("button"));
    element("heat-all").hidden = rows.length <= FIRST_ROWS;
    element("heat-all").textContent = this.all
      ? `Show the first ${FIRST_ROWS}`
      : `Show all ${count(rows.length, "group")}`;
    element("segment-text").replaceChildren(...this.#about(shorten(name, 60), rows));
    element("heat-about").textContent = "";
  }

  #grid(head, rows) {
    const heads = head.map(([text, ...more]) => make("th", { scope: "col", dir: "auto" }, shorten(text, 40), ...more));
    return make(
      "table",
      { role: "grid", "aria-label": `Groups by ${shorten(head[0][0], 60)}` },
      make("thead", {}, make("tr", {}, ...heads)),
      make("tbody", {}, ...rows.map((cells) => this.#row(cells))),
    );
  }

  #about(name, rows) {
    const some = (test) => rows.filter((cells) => cells.some(test)).length;
    const marked = some((one) => one.marked);
    const proof = rows[0]?.length === 1
      ? "The texts have only one value here, so there is nothing to compare."
      : this.counts.isFiltered
      ? "Differences are not tested while there is a filter."
      : marked
      ? `Framed cells are statistically significant (${count(marked, "group")}; corrected for the number of tests).`
      : "No difference is statistically significant (corrected for the number of tests).";
    const pale = some((one) => one.expected < FEWEST_EXPECTED)
      ? ` Pale cells: fewer than ${FEWEST_EXPECTED} texts are expected, so the ratio may be chance.`
      : "";
    const compared = `relative to the number expected if ${name} made no difference: 2× is twice as many.`;
    return [
      `How many texts of each group have each value, ${compared} The small figures are the number of texts and their share of the column. `,
      ...(this.canOpen ? [make("span", { class: "on-screen" }, "Select a cell to read its texts. ")] : []),
      proof + pale,
      this.all || rows.length <= FIRST_ROWS ? "" : ` These are ${FIRST_ROWS} of ${count(rows.length, "group")}.`,
    ];
  }

  #row(cells) {
    const [{ node }] = cells;
    const open = () => {
      this.groups.open(node);
      showPanel();
    };
    const title = make("button", { type: "button", dir: "auto", onclick: open }, shorten(this.state.nameOf(node), 60));
    return make("tr", {}, make("th", { scope: "row" }, title), ...cells.map((cell) => this.#cell(cell)));
  }

  #cell(cell) {
    const { node, texts, share, expected, lift, marked } = cell;
    const value = shorten(this.segments[cell.at].values[cell.code], 40);
    const isTested = !this.counts.isFiltered && !this.tree.made.has(node);
    const proof = marked ? "significant" : isTested ? "not significant" : "not tested";
    const few = expected < FEWEST_EXPECTED ? `, fewer than ${FEWEST_EXPECTED} expected` : "";
    const figures = `${count(texts, "text")}, ${percent(share)} of ${value}, ${times(lift)} expected`;
    const words = `${shorten(this.state.nameOf(node), 60)}: ${figures} (${proof}${few})`;
    const tell = () => element("heat-about").textContent = words;
    const parts = [make("b", {}, times(lift)), make("small", {}, `${number.format(texts)} · ${percent(share)}`)];
    const open = { type: "button", "aria-label": words, "data-cell": `${cell.at} ${node} ${cell.code}` };
    const inner = this.canOpen && texts > 0
      ? [make("button", { ...open, onclick: () => this.#open(cell, value), onfocus: tell }, ...parts)]
      : parts;
    const kinds = [lift >= 1 ? "over" : "under", marked ? "marked" : "", few ? "few" : ""].filter(Boolean).join(" ");
    const made = make("td", { class: kinds, title: words, onpointerenter: tell }, ...inner);
    made.style.setProperty("--strength", Math.min(1, Math.abs(Math.log2(lift)) / STRONG).toFixed(2));
    return made;
  }

  // The texts of a cell as a list beside the map; the way back leads to the cell.
  #open({ node, at, code }, value) {
    const isIn = (row) => this.counts.rows.code(at, row) === code;
    const positions = this.groups.left(node).filter((i) => this.counts.rowsOf(i).some(isIn));
    const back = () => element("heat").querySelector(`[data-cell="${at} ${node} ${code}"]`)?.focus();
    const title = `${this.state.nameOf(node)}, ${this.segments[at].name} ${value}`;
    this.state.set({ work: { kind: "picked", title, positions, isIn, back } });
    element("panel").scrollTop = 0;
    element("work-view").focus({ preventScroll: true });
    showPanel();
  }
}

// The panel is at the top of the page; on a narrow screen it covers the page.
function showPanel() {
  document.querySelector(".first").scrollIntoView();
}

function times(lift) {
  return `${lift.toFixed(lift > 0 && lift < 0.095 ? 2 : lift < 9.95 ? 1 : 0)}×`;
}
