// Similarities and cohesion of any group. The values of the tree's nodes are packed; for groups made by hand, they are
// computed from the parts of the groups, and from the vectors of the texts in a few directions.

export class Measures {
  constructor({ meta, tree, likeness, similarities }, { vectors, means, between }) {
    const { between: scale, ...parts } = meta.parts;
    Object.assign(this, { tree, likeness, similarities, vectors, means, between, scale, ...parts });
    this.width = this.step.length;
    this.before = [0];
    for (const texts of this.distinct) this.before.push(this.before.at(-1) + texts);
    this.centers = new Map();
    this.cohesions = new Map();
  }

  // Whether the similarities of its texts are exact.
  isExact(node) {
    return !this.tree.made.has(node);
  }

  #packed(node, i) {
    return this.similarities[this.tree.offsets[node] + i - this.tree.ranges[node][0]] / 32767.5 - 1;
  }

  // Of the centers of two nodes of the tree.
  #likenessOf(a, b) {
    return (256 * this.likeness[a * this.tree.ranges.length + b] + 128) / 32767.5 - 1;
  }

  // The sum of the vectors of a group in the few directions, and the length of the whole sum.
  #center(node) {
    if (!this.centers.has(node)) this.centers.set(node, this.#newCenter(node));
    return this.centers.get(node);
  }

  #newCenter(node) {
    const { tree, width } = this;
    const { size } = tree.nodes;
    const sum = new Float64Array(width);
    const parts = tree.parts(node);
    for (const part of parts) {
      const [start, end] = tree.spans[part];
      for (let leaf = start; leaf < end; leaf++) {
        for (let d = 0; d < width; d++) sum[d] += size[leaf] * this.means[leaf * width + d];
      }
    }
    let square = 0;
    for (const a of parts) {
      for (const b of parts) {
        square += size[a] * this.norm[a] * size[b] * this.norm[b] * (a === b ? 1 : this.#likenessOf(a, b));
      }
    }
    const whole = sum.slice();
    const { moved, left } = tree.made.get(node) ?? { moved: [], left: [] };
    for (const [positions, sign] of [[moved, 1], [left, -1]]) {
      for (const i of positions) for (let d = 0; d < width; d++) whole[d] += sign * tree.counts[i] * this.#place(i, d);
    }
    if (moved.length || left.length) {
      square += dot(whole, whole) - dot(sum, sum);
      for (const i of moved) square += tree.counts[i] ** 2 * this.#rest(i);
      for (const i of left) square -= tree.counts[i] ** 2 * this.#rest(i);
    }
    const scaled = whole.map((value, d) => value * this.step[d]);
    return { whole, scaled, start: dot(whole, this.middle), length: Math.sqrt(Math.max(square, Number.MIN_VALUE)) };
  }

  #place(i, d) {
    return this.middle[d] + this.step[d] * this.vectors[i * this.width + d];
  }

  // The part of a squared vector outside the few directions.
  #rest(i) {
    let square = 0;
    for (let d = 0; d < this.width; d++) square += this.#place(i, d) ** 2;
    return Math.max(0, 1 - square);
  }

  #dot(i, { scaled, start }) {
    let sum = start;
    for (let d = 0, at = i * this.width; d < this.width; d++, at++) sum += scaled[d] * this.vectors[at];
    return sum;
  }

  // The cosine of a text with the center of any group; approximate unless the group is a node of the tree with the text.
  similarity(node, i) {
    const { tree } = this;
    const [start, end] = tree.made.has(node) ? [0, 0] : tree.ranges[node];
    if (i >= start && i < end) return this.#packed(node, i);
    const center = this.#center(node);
    let sum = this.#dot(i, center);
    if (tree.made.has(node)) {
      const home = tree.parts(node).find((part) => i >= tree.ranges[part][0] && i < tree.ranges[part][1]);
      if (home !== undefined) {
        sum += tree.nodes.size[home] * this.norm[home] * this.#packed(home, i) - this.#dot(i, this.#center(home));
      } else if (tree.has(node, i)) sum += tree.counts[i] * this.#rest(i);
    }
    return bounded(sum / center.length);
  }

  // Of the centers of two groups.
  alike(one, other) {
    const { tree } = this;
    const sides = [one, other];
    if (!sides.some((node) => tree.made.has(node))) return this.#likenessOf(one, other);
    const [a, b] = sides.map((node) => this.#center(node));
    if (sides.some((node) => tree.made.get(node)?.moved.length)) {
      return bounded(dot(a.whole, b.whole) / a.length / b.length);
    }
    let sum = 0;
    const long = (part) => tree.nodes.size[part] * this.norm[part];
    for (const x of tree.parts(one)) {
      for (const y of tree.parts(other)) sum += long(x) * long(y) * this.#likenessOf(x, y);
    }
    return bounded(sum / a.length / b.length);
  }

  #texts(node) {
    return this.tree.parts(node).reduce((sum, part) => {
      const [start, end] = this.tree.spans[part];
      return sum + this.before[end] - this.before[start];
    }, 0);
  }

  // Null if it is unknown, because single texts were moved.
  cohesion(node) {
    const { tree } = this;
    const made = tree.made.get(node);
    if (!made) return tree.nodes.cohesion[node];
    if (made.moved.length || made.left.length || this.scale === null) return null;
    if (!this.cohesions.has(node)) this.cohesions.set(node, this.#joined(made.parts));
    return this.cohesions.get(node);
  }

  #joined(parts) {
    const size = parts.map((part) => this.#texts(part));
    let total = 0;
    parts.forEach((a, i) => {
      total += this.tree.nodes.cohesion[a] * pairs(size[i]);
      parts.slice(i + 1).forEach((b) => total += this.#across(a, b));
    });
    return total / pairs(size.reduce((sum, n) => sum + n, 0));
  }

  // The sum over the pairs of a text of one node and a text of another.
  #across(a, b) {
    const { k } = this.tree;
    let sum = 0;
    for (let i = this.tree.spans[a][0]; i < this.tree.spans[a][1]; i++) {
      for (let j = this.tree.spans[b][0]; j < this.tree.spans[b][1]; j++) {
        const [low, high] = i < j ? [i, j] : [j, i];
        const at = low * (2 * k - low - 1) / 2 + high - low - 1;
        sum += this.between[at] * this.scale * this.distinct[i] * this.distinct[j];
      }
    }
    return sum;
  }

  // The Cohesion Ratio of groups; null if the cohesion of any of them is unknown.
  ratio(nodes) {
    let [sum, weights] = [0, 0];
    for (const node of nodes) {
      const cohesion = this.cohesion(node);
      if (cohesion === null) return null;
      const n = this.#texts(node);
      const weight = pairs(n) + (n === 1);
      sum += weight * cohesion;
      weights += weight;
    }
    return sum / weights;
  }
}

function dot(a, b) {
  return a.reduce((sum, value, d) => sum + value * b[d], 0);
}

function bounded(cosine) {
  return Math.max(-1, Math.min(1, cosine));
}

function pairs(n) {
  return n * (n - 1) / 2;
}
