// The number of rows of each text and each group; with a filter, only of the rows that pass it.

export class Counts {
  constructor({ about }, tree, all) {
    Object.assign(this, { tree, all, rows: null, passing: null });
    this.everything = { texts: all, nodes: tree.nodes.size, total: about.grouped };
    this.sampled = about.shown < about.distinct;
    Object.assign(this, this.everything);
  }

  get isFiltered() {
    return this.passing !== null;
  }

  // The rows are unpacked after the map is drawn; until then, all of them count.
  follow(filter) {
    this.passing = filter.isActive && this.rows ? this.rows.passing(filter) : null;
    if (!this.passing) return Object.assign(this, this.everything);
    const texts = new Uint32Array(this.all.length);
    const { positions, n } = this.rows;
    for (let row = 0; row < n; row++) if (this.passing[row] && positions[row] < texts.length) texts[positions[row]]++;
    const [left, all] = [texts, this.all].map((counts) => this.#ofNodes(counts));
    // In a sample, the share that passes is extrapolated to all rows.
    const nodes = this.sampled
      ? left.map((some, node) => Math.round(this.tree.nodes.size[node] * some / Math.max(1, all[node])))
      : left;
    Object.assign(this, { texts, nodes, total: nodes[this.tree.ranges.length - 1] });
  }

  #ofNodes(counts) {
    const before = new Float64Array(counts.length + 1);
    counts.forEach((count, i) => before[i + 1] = before[i] + count);
    return this.tree.nodes.size.map((_, node) =>
      this.tree.pieces(node).reduce((sum, [start, end]) => sum + before[end] - before[start], 0)
    );
  }

  // The rows of a text that count.
  rowsOf(position) {
    const rows = [...this.rows.of(position)];
    return this.passing ? rows.filter((row) => this.passing[row]) : rows;
  }
}
