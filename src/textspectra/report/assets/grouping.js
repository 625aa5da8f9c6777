// Groups made by hand. Each has finest clusters of the tree, and single texts that were moved into it.
// A grouping is immutable: an edit makes a new one.

const NAME = 200; // letters

export class Grouping {
  // `keeps` is the label of the result's group that a group continues; null for a new one.
  // The texts that were ever moved by hand are those of the grouping that this one was made from, and more.
  constructor(tree, groups, before = null) {
    this.tree = tree;
    this.movedByHand = new Set([...before?.movedByHand ?? [], ...groups.flatMap(({ moved }) => moved)]);
    this.groups = tidy(tree, groups);
    this.home = homes(tree, this.groups);
    const left = this.groups.map(() => []);
    for (const { moved } of this.groups) {
      for (const position of moved) left[this.home[tree.leaves[position]]].push(position);
    }
    this.left = left.map(ascending);
    this.movedHere = this.#movedHere();
    this.#name();
    this.all = this.groups.map((group, i) => this.#node(group, this.left[i]));
    this.#number();
  }

  static of(tree, k, nameOf) {
    const labels = tree.labelsAt(k);
    return new Grouping(
      tree,
      tree.cut(k).map((node) => ({
        keeps: tree.base.labels.includes(labels.get(node)) ? labels.get(node) : null,
        name: nameOf(node),
        leaves: range(...tree.spans[node]),
        moved: [],
        color: tree.colors[node],
      })),
    );
  }

  // The texts of each group that were moved by hand, also those that are back where they were.
  #movedHere() {
    const goals = new Map(this.groups.flatMap(({ moved }, at) => moved.map((i) => [i, at])));
    const here = this.groups.map(() => []);
    for (const i of this.movedByHand) here[goals.get(i) ?? this.home[this.tree.leaves[i]]].push(i);
    return here.map(ascending);
  }

  at(node) {
    return this.all.indexOf(node);
  }

  nameOf(node) {
    return this.groups[this.at(node)]?.name;
  }

  // The merged group continues the first one, in the color of the largest.
  merge(nodes) {
    const chosen = nodes.map((node) => this.at(node));
    const first = this.groups[chosen[0]];
    const together = chosen.map((i) => this.groups[i]);
    const largest = [...nodes].sort((a, b) => this.tree.bySize(a, b))[0];
    const merged = {
      ...first,
      color: this.groups[this.at(largest)].color,
      leaves: ascending(together.flatMap(({ leaves }) => leaves)),
      moved: ascending(together.flatMap(({ moved }) => moved)),
    };
    return this.#with((group, i) => i === chosen[0] ? [merged] : chosen.includes(i) ? [] : [group]);
  }

  // The two sides of the lowest node of the tree that contains the group; null if there is none.
  split(node) {
    const { tree } = this;
    const group = this.groups[this.at(node)];
    const single = group.leaves.length === 0;
    const homes = ascending([...new Set(single ? group.moved.map((i) => tree.leaves[i]) : group.leaves)]);
    if (homes.length < 2) return null;
    const [one, other] = tree.children(lowestAbove(tree, homes));
    const inside = (side, leaf) => leaf >= tree.spans[side][0] && leaf < tree.spans[side][1];
    const weight = (side) => tree.nodes.size[side];
    const sides = [one, other].map((side) => ({
      keeps: null,
      name: null,
      color: null,
      leaves: group.leaves.filter((leaf) => inside(side, leaf)),
      moved: single ? group.moved.filter((i) => inside(side, tree.leaves[i])) : [],
    }));
    const mass = sides.map(({ leaves }) => leaves.reduce((sum, leaf) => sum + weight(leaf), 0));
    // Texts that were moved into the group stay with its larger side.
    if (!single) sides[mass[1] > mass[0] ? 1 : 0].moved = group.moved;
    return this.#with((other) => other === group ? sides : [other]);
  }

  // Into the group of a node, or into a new one with a name.
  move(positions, node, name = null) {
    return this.moveEach(new Map(positions.map((i) => [i, node])), name);
  }

  // Each text of the map into the group of its node; without a node, into one new group.
  moveEach(goals, name = null) {
    const all = [...this.groups, { keeps: null, name, color: null, leaves: [], moved: [] }];
    const coming = all.map(() => []);
    for (const [i, node] of goals) coming.at(node === null ? -1 : this.at(node)).push(i);
    const moved = (group, at) => ascending([...group.moved.filter((i) => !goals.has(i)), ...coming[at]]);
    return new Grouping(this.tree, all.map((group, at) => ({ ...group, moved: moved(group, at) })), this);
  }

  rename(node, name) {
    return this.#with((group) => [group === this.groups[this.at(node)] ? { ...group, name } : group]);
  }

  #with(change) {
    return new Grouping(this.tree, this.groups.flatMap(change), this);
  }

  // The node of the tree that has the same texts, or a further one.
  #node({ leaves, moved, color }, left) {
    const { tree } = this;
    const same = sameNode(tree, leaves, moved, left);
    if (same !== null) return same;
    const key = `${color} ${packNumbers(leaves)} ${packNumbers(moved)} ${packNumbers(left)}`;
    if (!tree.ofKey.has(key)) tree.ofKey.set(key, addNode(tree, { leaves, moved, left }, color));
    return tree.ofKey.get(key);
  }

  // Every group has a unique name and color, taken from its node in the tree if it has one.
  #name() {
    const { tree } = this;
    const taken = new Set(this.groups.map(({ name }) => name));
    const colors = new Set();
    const settled = new Set();
    this.groups.forEach((group, i) => {
      const same = sameNode(tree, group.leaves, group.moved, this.left[i]);
      if (same === null) return;
      colors.add(group.color = tree.colors[same]);
      settled.add(group);
    });
    for (const group of this.groups) {
      const largest = maximal(tree, group.leaves).sort((a, b) => tree.bySize(a, b))[0];
      if (group.name === null) {
        group.name = unique(largest === undefined ? "new group" : tree.nodes.name[largest], taken);
        taken.add(group.name);
      }
      const wanted = [group.color, largest === undefined ? null : tree.colors[largest]];
      const own = wanted.find((one) => one !== null && !colors.has(one));
      if (!settled.has(group)) group.color = own ?? tree.freeColor(colors);
      colors.add(group.color);
    }
  }

  // A group with the texts of a group of the result is that group; new ones are numbered by size.
  #number() {
    const { base } = this.tree;
    const same = (group, i) => {
      if (group.moved.length || this.left[i].length) return -1;
      return base.nodes.findIndex((node) => {
        const [start, end] = this.tree.spans[node];
        return group.leaves.length === end - start && group.leaves[0] === start && group.leaves.at(-1) === end - 1;
      });
    };
    this.groups.forEach((group, i) => {
      const at = same(group, i);
      if (at < 0) return;
      for (const other of this.groups) if (other.keeps === base.labels[at]) other.keeps = null;
      group.keeps = base.labels[at];
    });
    const kept = this.all.filter((_, i) => this.groups[i].keeps !== null);
    const keeps = (node) => this.groups[this.at(node)].keeps;
    kept.sort((a, b) => keeps(a) - keeps(b));
    const fresh = this.all.filter((_, i) => this.groups[i].keeps === null).sort((a, b) => this.tree.bySize(a, b));
    this.labels = new Map([
      ...kept.map((node) => [node, keeps(node)]),
      ...fresh.map((node, i) => [node, base.next + i]),
    ]);
    this.nodes = [...kept, ...fresh];
  }

  write() {
    return JSON.stringify(
      this.groups.map(({ keeps, name, color, leaves }, at) => [
        keeps,
        name,
        this.tree.palette.indexOf(color),
        packNumbers(leaves),
        packNumbers(this.movedHere[at]),
      ]),
    );
  }

  // Null if anything in it is invalid.
  static read(tree, written) {
    try {
      const groups = JSON.parse(written).map(([keeps, name, color, leaves, moved]) => ({
        keeps,
        name: name.trim().slice(0, NAME),
        color: tree.palette[color] ?? null,
        leaves: unpackNumbers(leaves, tree.k),
        moved: unpackNumbers(moved, tree.leaves.length),
      }));
      const once = (values) => new Set(values).size === values.length;
      const every = (key) => groups.flatMap((group) => group[key]);
      const kept = every("keeps").filter((label) => label !== null);
      const valid = groups.length > 0 && once(every("name")) && !every("name").includes("") && once(kept) &&
        kept.every((label) => tree.base.labels.includes(label)) && once(every("leaves")) &&
        every("leaves").length === tree.k && once(every("moved")) &&
        groups.every(({ leaves, moved }) => leaves.length + moved.length > 0);
      return valid ? new Grouping(tree, groups) : null;
    } catch {
      return null;
    }
  }
}

function ascending(numbers) {
  return [...numbers].sort((a, b) => a - b);
}

export function range(start, end) {
  return Array.from({ length: end - start }, (_, i) => start + i);
}

function homes(tree, groups) {
  const home = new Int32Array(tree.k).fill(-1);
  groups.forEach(({ leaves }, i) => leaves.forEach((leaf) => home[leaf] = i));
  return home;
}

// A text in the group of its finest cluster was not moved. A finest cluster without texts goes where most of them went.
function tidy(tree, given) {
  const home = homes(tree, given);
  const taken = new Map(); // how many texts of a finest cluster each group took
  given.forEach(({ moved }, i) => {
    for (const leaf of moved.map((position) => tree.leaves[position])) {
      if (home[leaf] === i) continue;
      if (!taken.has(leaf)) taken.set(leaf, new Map());
      taken.get(leaf).set(i, (taken.get(leaf).get(i) ?? 0) + 1);
    }
  });
  for (const [leaf, groups] of taken) {
    const gone = [...groups.values()].reduce((sum, texts) => sum + texts, 0);
    if (gone === tree.distinct[leaf]) home[leaf] = [...groups].sort((a, b) => b[1] - a[1])[0][0];
  }
  const all = range(0, tree.k);
  return given.map((group, i) => ({
    ...group,
    leaves: all.filter((leaf) => home[leaf] === i),
    moved: group.moved.filter((position) => home[tree.leaves[position]] !== i),
  })).filter(({ leaves, moved }) => leaves.length || moved.length);
}

function sameNode(tree, leaves, moved, left) {
  if (!leaves.length || moved.length || left.length) return null;
  const above = lowestAbove(tree, leaves);
  return tree.spans[above][1] - tree.spans[above][0] === leaves.length ? above : null;
}

function lowestAbove(tree, leaves) {
  const [first, last] = [leaves[0], leaves.at(-1)];
  let node = first;
  while (tree.spans[node][0] > first || tree.spans[node][1] <= last) node = tree.parent[node];
  return node;
}

// The largest nodes of the tree that are covered by a set of finest clusters.
function maximal(tree, leaves) {
  const inside = new Set(leaves);
  const nodes = [];
  for (let i = 0; i < leaves.length;) {
    let node = leaves[i];
    for (let up = tree.parent[node]; up >= 0; up = tree.parent[up]) {
      const [start, end] = tree.spans[up];
      if (start < leaves[i] || !range(start, end).every((leaf) => inside.has(leaf))) break;
      node = up;
    }
    nodes.push(node);
    i += tree.spans[node][1] - tree.spans[node][0];
  }
  return nodes;
}

// A further node, described by its parts.
function addNode(tree, { leaves, moved, left }, color) {
  const { nodes, counts } = tree;
  const node = nodes.size.length;
  const parts = maximal(tree, leaves);
  const away = new Set(left);
  const held = [...leaves.flatMap((leaf) => range(...tree.ranges[leaf])).filter((i) => !away.has(i)), ...moved];
  const positions = moved.length ? ascending(held) : held;
  const sum = (some) => some.reduce((total, i) => total + counts[i], 0);
  const byShare = [...parts].sort((a, b) => tree.bySize(a, b));
  tree.made.set(node, { leaves, parts, moved, left, pieces: runs(positions) });
  nodes.size.push(parts.reduce((total, part) => total + nodes.size[part], 0) + sum(moved) - sum(left));
  nodes.first.push(Math.min(...parts.map((part) => nodes.first[part]), Infinity));
  nodes.cohesion.push(null);
  nodes.mixed.push(parts.length > 0 && parts.every((part) => nodes.mixed[part]));
  const single = moved.length > positions.length / 2;
  const ofParts = (key) => single ? [] : inTurn(byShare.map((part) => nodes[key][part]));
  nodes.keywords.push(ofParts("keywords").slice(0, 10));
  nodes.name.push("");
  nodes.typical.push(ofParts("typical").filter((i) => !away.has(i)).slice(0, 5));
  nodes.middle.push([tree.x, tree.y].map((axis) => median(positions, axis)));
  tree.colors.push(color);
  return node;
}

function median(positions, axis) {
  const step = Math.max(1, Math.floor(positions.length / 1000)); // a thousand are enough to place a name
  const values = positions.filter((_, i) => i % step === 0).map((i) => axis[i]).sort((a, b) => a - b);
  return values.length ? values[values.length >> 1] : 0;
}

// The first of each list, then the second of each, without duplicates.
function inTurn(lists) {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return [...new Set(range(0, longest).flatMap((i) => lists.filter((list) => i < list.length).map((list) => list[i])))];
}

export function unique(name, taken) {
  let free = name;
  for (let n = 2; taken.has(free); n++) free = `${name} ${n}`;
  return free;
}

export function runs(numbers) {
  const found = [];
  for (const one of numbers) {
    if (found.length && found.at(-1)[1] === one) found.at(-1)[1]++;
    else found.push([one, one + 1]);
  }
  return found;
}

// Numbers in ascending order as the gaps between runs and their lengths, in base 36.
export function packNumbers(numbers) {
  let last = 0;
  return runs(numbers).map(([start, end]) => {
    const gap = start - last;
    last = end;
    return end - start === 1 ? gap.toString(36) : `${gap.toString(36)}-${(end - start).toString(36)}`;
  }).join(".");
}

export function unpackNumbers(packed, limit) {
  const numbers = [];
  let last = 0;
  for (const run of packed ? packed.split(".") : []) {
    const [gap, length] = `${run}-1`.split("-").map((part) => parseInt(part, 36));
    const [start, end] = [last + gap, last + gap + length];
    if (!(gap >= 0 && length > 0 && end <= limit)) throw new RangeError(run);
    for (let i = start; i < end; i++) numbers.push(i);
    last = end;
  }
  return numbers;
}
