// The number of rows of each text and each group, also over time and by segments; with a filter, only of the rows that
// pass it.

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
    const weights = this.sampled ? all.map((some, node) => this.tree.nodes.size[node] / Math.max(1, some)) : null;
    const nodes = weights ? left.map((some, node) => Math.round(some * weights[node])) : left;
    Object.assign(this, { texts, nodes, weights, total: nodes[this.tree.ranges.length - 1] });
  }

  #ofNodes(counts) {
    const before = new Float64Array(counts.length + 1);
    counts.forEach((count, i) => before[i + 1] = before[i] + count);
    return this.tree.nodes.size.map((_, node) =>
      this.tree.pieces(node).reduce((sum, [start, end]) => sum + before[end] - before[start], 0)
    );
  }

  // The groups at k that the filter leaves, the largest first.
  largestFirst(k) {
    const { nodes } = this;
    return this.tree.largestFirst(k).filter((node) => nodes[node] > 0).sort((a, b) => nodes[b] - nodes[a]);
  }

  // The rows of a text that count.
  rowsOf(position) {
    const rows = [...this.rows.of(position)];
    return this.passing ? rows.filter((row) => this.passing[row]) : rows;
  }
}

// Counts of a group in a table with one row per node of the tree: the sum over its parts and its single texts.
export class Tallied {
  constructor({ meta, tree, counts }) {
    Object.assign(this, { tree, counts, known: meta.tally.known, hasRows: meta.details.filters });
  }

  // Single texts can be counted only if the report has their dates and segments.
  has(node) {
    const made = this.tree.made.get(node);
    if (!made) return this.known[node];
    return made.parts.every((part) => this.known[part]) && (this.hasRows || !(made.moved.length || made.left.length));
  }

  // `cellOf` returns the cell of a row of the data, or -1.
  row(node, table, width, cellOf) {
    if (this.counts.isFiltered) return this.#passing(node, width, cellOf);
    const made = this.tree.made.get(node);
    if (!made) return table.subarray(node * width, (node + 1) * width);
    const sum = new Int32Array(width);
    for (const part of made.parts) for (let i = 0; i < width; i++) sum[i] += table[part * width + i];
    for (const position of made.moved) this.#add(sum, position, cellOf, 1);
    for (const position of made.left) this.#add(sum, position, cellOf, -1);
    return sum;
  }

  #passing(node, width, cellOf) {
    const { passing, weights, texts } = this.counts;
    const sum = new Int32Array(width);
    const cell = (row) => passing[row] ? cellOf(row) : -1;
    for (const [start, end] of this.tree.pieces(node)) {
      for (let i = start; i < end; i++) if (texts[i]) this.#add(sum, i, cell, 1);
    }
    return weights ? sum.map((some) => Math.round(some * weights[node])) : sum;
  }

  #add(sum, position, cellOf, sign) {
    const rows = this.counts.rows.of(position);
    for (let i = 0; i < rows.length; i++) {
      const cell = cellOf(rows[i]);
      if (cell >= 0) sum[cell] += sign;
    }
  }
}
