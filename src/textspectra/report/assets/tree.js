// The merge tree: the nodes that are the groups at each number of groups. Groups made by hand are further nodes.

export class Tree {
  // `counts` are the rows of each text, and (x, y) its place on the map.
  constructor(meta, { counts, x, y }) {
    const { k, merges, ranges } = meta.levels;
    Object.assign(this, { counts, x, y, distinct: meta.parts.distinct });
    this.k = k;
    this.merges = merges;
    this.ranges = ranges;
    this.base = meta.base;
    this.nodes = meta.nodes;
    this.lowest = Math.min(2, meta.base.k);
    this.parent = new Int32Array(2 * k - 1).fill(-1);
    merges.forEach((pair, step) => pair.forEach((child) => this.parent[child] = k + step));
    this.palette = meta.palette;
    this.colors = this.#colors(meta.palette);
    this.cuts = new Map();
    this.offsets = this.#offsets();
    this.spans = this.#spans();
    this.made = new Map(); // the further nodes: the parts and single texts of each
    this.ofKey = new Map(); // the further nodes by their content, so that none is made twice
    this.byHand = null; // the groups of the reader, which replace the cut into as many
  }

  // The finest clusters of each node: the first, and one past the last.
  #spans() {
    const spans = Array.from({ length: this.k }, (_, leaf) => [leaf, leaf + 1]);
    for (const [one, other] of this.merges) {
      spans.push([Math.min(spans[one][0], spans[other][0]), Math.max(spans[one][1], spans[other][1])]);
    }
    return spans;
  }

  // The finest cluster of each text.
  get leaves() {
    if (!this.leafOf) {
      this.leafOf = new Int32Array(this.ranges[2 * this.k - 2][1]);
      for (let leaf = 0; leaf < this.k; leaf++) this.leafOf.fill(leaf, ...this.ranges[leaf]);
    }
    return this.leafOf;
  }

  // The texts of a group as ranges of positions.
  pieces(node) {
    return this.made.get(node)?.pieces ?? [this.ranges[node]];
  }

  // The largest nodes of the tree that a group is made of.
  parts(node) {
    return this.made.get(node)?.parts ?? [node];
  }

  has(node, position) {
    const pieces = this.pieces(node);
    let [low, high] = [0, pieces.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pieces[middle][1] <= position) low = middle + 1;
      else high = middle;
    }
    return low < pieces.length && pieces[low][0] <= position;
  }

  // The groups of the result have the colors of the model. Of merged groups the larger one, and of a split group the
  // larger part, keeps the color, so that few colors change from one cut to the next.
  #colors(palette) {
    const colors = new Array(2 * this.k - 1).fill(null);
    this.base.nodes.forEach((node, i) => colors[node] = palette[this.base.colors[i]]);
    const taken = new Set(colors);
    for (let node = this.k; node < colors.length; node++) colors[node] ??= colors[this.children(node)[0]];
    for (let node = colors.length - 1; node >= this.k; node--) {
      const [large, small] = this.children(node);
      colors[large] ??= colors[node];
      if (colors[small] === null) taken.add(colors[small] = this.freeColor(taken));
    }
    return colors;
  }

  // The first color of the palette that is not taken. If all are, it gets another one of middling brightness.
  freeColor(taken) {
    while (true) {
      const free = this.palette.find((color) => !taken.has(color));
      if (free) return free;
      const bits = this.palette.length * 0x9e37d % 2 ** 21; // different for each length
      this.palette.push(`#${[14, 7, 0].map((shift) => (48 + ((bits >> shift) & 127)).toString(16)).join("")}`);
    }
  }

  #offsets() {
    let total = 0;
    return this.ranges.map(([start, end]) => {
      total += end - start;
      return total - (end - start);
    });
  }

  children(node) {
    return [...this.merges[node - this.k]].sort((a, b) => this.bySize(a, b));
  }

  bySize(a, b) {
    return this.nodes.size[b] - this.nodes.size[a] || this.nodes.first[a] - this.nodes.first[b];
  }

  isAlive(node, k) {
    const merged = this.k - k;
    const born = node < this.k ? 0 : node - this.k + 1;
    const gone = this.parent[node] < 0 ? Infinity : this.parent[node] - this.k;
    return born <= merged && gone >= merged;
  }

  // The groups at k: first the groups of the result, then the others, the largest first (as `cut` in Python does).
  cut(k) {
    if (this.byHand?.nodes.length === k) return this.byHand.nodes;
    if (!this.cuts.has(k)) {
      const kept = this.base.nodes.filter((node) => this.isAlive(node, k));
      const others = [];
      for (let node = 0; node < 2 * this.k - 1; node++) {
        if (this.isAlive(node, k) && !kept.includes(node)) others.push(node);
      }
      this.cuts.set(k, [...kept, ...others.sort((a, b) => this.bySize(a, b))]);
    }
    return this.cuts.get(k);
  }

  largestFirst(k) {
    return [...this.cut(k)].sort((a, b) => this.bySize(a, b));
  }

  // The label of each group at k: a group of the result has its own, the others get new ones.
  labelsAt(k) {
    if (this.byHand?.nodes.length === k) return this.byHand.labels;
    const own = new Map(this.base.nodes.map((node, i) => [node, this.base.labels[i]]));
    let next = this.base.next;
    return new Map(this.cut(k).map((node) => [node, own.get(node) ?? next++]));
  }

  // The group at k that replaces a node of another cut: the group it was merged into, or its largest part.
  standIn(node, k) {
    if (this.cut(k).includes(node)) return node;
    if (this.byHand?.nodes.length === k || this.made.has(node)) return this.ownersAt(k)[this.pieces(node)[0][0]];
    const merged = this.k - k;
    while (node >= this.k && node - this.k + 1 > merged) node = this.children(node)[0];
    while (!this.isAlive(node, k)) node = this.parent[node];
    return node;
  }

  // The group of each text at k.
  ownersAt(k) {
    return this.owners(this.cut(k));
  }

  owners(nodes) {
    const owners = new Int32Array(this.ranges[2 * this.k - 2][1]);
    for (const node of nodes) for (const piece of this.pieces(node)) owners.fill(node, ...piece);
    return owners;
  }
}
