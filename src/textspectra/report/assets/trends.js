// The share of each group in each period: sparklines on the cards, and the numbers for the panel.
import { make, makeShape } from "./data.js";

const LINE = { width: 120, height: 22, edge: 2.5 };
const Z = 1.96; // of a 95% interval
const ARROWS = { growing: "↗", shrinking: "↘", burst: "⌃", uneven: "↕" };
export const FEWEST_TEXTS = 10; // a share of fewer means nothing

export class Trends {
  constructor({ meta, tree, state, counts, tallies, tallied }) {
    Object.assign(this, { time: meta.tally.time, tree, counts, table: tallies.periods, tallied });
    this.n = this.time?.starts.length ?? 0;
    this.hasPeriods = this.n > 0 && this.table.subarray(-this.n).filter(Boolean).length > 1; // whatever the filter is
    state.listen((changed) => changed.filter && this.#count());
    this.#count();
  }

  #count() {
    this.totals = this.n ? this.#row(this.tree.ranges.length - 1) : [];
    this.filled = Array.from(this.totals.keys()).filter((period) => this.totals[period] > 0);
    const enough = this.filled.filter((period) => this.totals[period] >= FEWEST_TEXTS);
    this.drawn = new Set(enough.length > 1 ? enough : this.filled);
  }

  has(node) {
    return this.filled.length > 1 && this.tallied.has(node);
  }

  #row(node) {
    return this.tallied.row(node, this.table, this.n, (row) => this.#period(row));
  }

  // The period of a row of the data, or -1.
  #period(row) {
    return this.time.starts.findLastIndex((start) => start <= this.counts.rows.days[row]);
  }

  // The share in each period with its interval (Wilson); null without texts.
  shares(node) {
    return Array.from(this.#row(node), (texts, period) => {
      const total = this.totals[period];
      if (!total) return null;
      const [share, extra] = [texts / total, Z * Z / total];
      const middle = (share + extra / 2) / (1 + extra);
      const half = Math.sqrt(extra * (share * (1 - share) + extra / 4)) / (1 + extra);
      return { texts, total, share, low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
    });
  }

  // Null if it was not tested; the texts that a filter leaves are not.
  kind(node) {
    return this.counts.isFiltered ? null : this.time.kind[node];
  }

  #changes(node) {
    return this.has(node) && this.kind(node) in ARROWS;
  }

  // The same sentence as on the command line; groups made by hand are not tested.
  words(node) {
    if (this.kind(node) === "steady") return "no significant change";
    return (this.kind(node) && this.time.words[node]) || "not tested";
  }

  // The groups that change, the most significant first.
  strongest(nodes) {
    const { p, change } = this.time;
    return nodes.filter((node) => this.#changes(node))
      .sort((a, b) => p[a] - p[b] || Math.abs(change[b]) - Math.abs(change[a]));
  }

  // The growth of the share; 0 if the change is not significant.
  growth(node) {
    return this.#changes(node) ? this.time.change[node] : 0;
  }

  // The mark of a significant change.
  arrow(node) {
    if (!this.#changes(node)) return "";
    const kind = this.kind(node);
    return make(
      "b",
      { class: `arrow ${kind}`, title: this.words(node), role: "img", "aria-label": kind },
      ARROWS[kind],
    );
  }

  line(node) {
    if (!this.has(node)) return "";
    const shares = this.shares(node);
    const drawn = [...this.drawn];
    const most = Math.max(...drawn.map((period) => shares[period].share), Number.EPSILON);
    const { width, height, edge } = LINE;
    const x = (period) => edge + period / (this.n - 1) * (width - 2 * edge);
    const y = (period) => height - edge - shares[period].share / most * (height - 2 * edge);
    const points = drawn.map((period) => `${x(period).toFixed(1)},${y(period).toFixed(1)}`);
    const last = drawn.at(-1);
    const words = this.words(node);
    const kind = this.kind(node);
    const line = makeShape(
      "svg",
      { class: "spark", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words },
      makeShape("polyline", { points: points.join(" ") }),
      makeShape("circle", { cx: x(last), cy: y(last), r: edge }),
    );
    line.style.setProperty("--color", this.tree.colors[node]);
    const change = this.#changes(node) ? ` ${ARROWS[kind]} ${kind}` : kind ?? "";
    return make(
      "span",
      { class: `trend ${kind ?? ""}`, title: words },
      line,
      make("span", { "aria-hidden": "true" }, this.kind(node) ? this.time.ends[node] : "", make("b", {}, change)),
    );
  }
}
