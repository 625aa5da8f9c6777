// The rows of the data behind the texts, each with its day, its segments and the shown columns.

const DAY = 86_400_000; // milliseconds

export class Rows {
  // `table` has the number of each row in the data, then the position of its text.
  constructor({ tally, details }, table, { days, codes, cells }) {
    const n = table.length / 2;
    Object.assign(this, { tally, columns: details.columns, days, codes, cells, n });
    this.numbers = table.subarray(0, n);
    this.positions = table.subarray(n);
    this.shown = this.columns.filter(({ kind }) => kind === "shown");
  }

  value({ kind, at }, row) {
    if (kind === "shown") return this.cells[at * this.n + row];
    if (kind === "segment") return this.tally.segments[at].values[this.code(at, row)];
    const time = new Date(this.days[row] * DAY);
    return this.days[row] > -(2 ** 31) ? time.toISOString().slice(0, 10) : null;
  }

  code(segment, row) {
    return this.codes[segment * this.n + row];
  }

  // The rows that pass a filter; rows without a date pass only if no period is chosen.
  passing({ from, to, values }) {
    const passes = new Uint8Array(this.n).fill(1);
    values.forEach((value, segment) => {
      const start = segment * this.n;
      for (let row = 0; value !== null && row < this.n; row++) passes[row] &= this.codes[start + row] === value;
    });
    if (from === null && to === null) return passes;
    const { starts } = this.tally.time;
    const [first, end] = [starts[from ?? 0], to === null ? Infinity : starts[to + 1] ?? Infinity];
    for (let row = 0; row < this.n; row++) passes[row] &= this.days[row] >= first && this.days[row] < end;
    return passes;
  }

  // The rows of a text, in the order of the data.
  of(position) {
    this.byText ??= this.#byText();
    const { starts, rows } = this.byText;
    return rows.subarray(starts[position], starts[position + 1]);
  }

  #byText() {
    const starts = new Uint32Array(this.positions.reduce((most, one) => Math.max(most, one), 0) + 2);
    for (const position of this.positions) starts[position + 1]++;
    for (let i = 1; i < starts.length; i++) starts[i] += starts[i - 1];
    const [next, rows] = [starts.slice(), new Uint32Array(this.n)];
    this.positions.forEach((position, row) => rows[next[position]++] = row);
    return { starts, rows };
  }
}
