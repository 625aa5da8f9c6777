// Counts of a group in a table with one row per node of the tree: the sum over its parts and its single texts.

export class Tallied {
  constructor({ meta, tree }, rows) {
    Object.assign(this, { tree, rows, known: meta.tally.known, single: meta.details.filters });
  }

  // Single texts can be counted only if the report has their dates and segments.
  has(node) {
    const made = this.tree.made.get(node);
    if (!made) return this.known[node];
    return made.parts.every((part) => this.known[part]) && (this.single || !(made.moved.length || made.left.length));
  }

  // `cellOf` returns the cell of a row of the data, or -1.
  row(node, table, width, cellOf) {
    const made = this.tree.made.get(node);
    if (!made) return table.subarray(node * width, (node + 1) * width);
    const sum = new Int32Array(width);
    for (const part of made.parts) for (let i = 0; i < width; i++) sum[i] += table[part * width + i];
    for (const [positions, sign] of [[made.moved, 1], [made.left, -1]]) {
      for (const position of positions) {
        for (const row of this.rows.of(position)) {
          const cell = cellOf(row);
          if (cell >= 0) sum[cell] += sign;
        }
      }
    }
    return sum;
  }
}
