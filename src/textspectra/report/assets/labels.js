// Finds room for the names of groups: beside their points, or over them, and never on another name.

const CELL = 4; // pixels: the grid for the search for room
const HEIGHT = 18;
const FONT = "650 12px system-ui, sans-serif";
const SIDES = 24; // directions of the search
const CORE = 0.6; // a name may be beside this share of its points, those nearest to the middle
const FARTHEST = 0.085; // between these points and the name, as a share of the width of the map
const GAP = 12; // pixels between a name and its group; beyond that, a line joins them
const AREA = 11_000; // square pixels of the map for each name, if some are written over points or a density
const ASIDE = 2 * HEIGHT; // farthest from the middle of its group for such a name

const pen = document.createElement("canvas").getContext("2d");

// The number of points per cell, summed from the corner, so that any box is counted in four steps.
export class Room {
  // `taken` are boxes of other writing.
  constructor(width, height, taken) {
    [this.across, this.down] = [Math.ceil(width / CELL) + 1, Math.ceil(height / CELL) + 1];
    Object.assign(this, { width, height, taken, sums: new Uint32Array(this.across * this.down) });
  }

  fill(points, radius) {
    const { across, down, sums } = this;
    const inside = (value, most) => Math.min(most - 1, Math.max(1, value));
    for (const [x, y] of points) {
      if (x < -radius || y < -radius || x > this.width + radius || y > this.height + radius) continue;
      const [left, right] = [x - radius, x + radius].map((value) => inside(Math.floor(value / CELL) + 1, across));
      const [top, bottom] = [y - radius, y + radius].map((value) => inside(Math.floor(value / CELL) + 1, down));
      for (let row = top; row <= bottom; row++) sums.fill(1, row * across + left, row * across + right + 1);
    }
    for (let row = 1; row < down; row++) {
      for (let at = row * across + 1, run = 0; at < (row + 1) * across; at++) {
        run += sums[at];
        sums[at] = run + sums[at - across];
      }
    }
  }

  #hasPoints([left, top, right, bottom]) {
    const [x0, x1] = [Math.floor(left / CELL), Math.ceil(right / CELL)];
    const [y0, y1] = [Math.floor(top / CELL), Math.ceil(bottom / CELL)].map((row) => row * this.across);
    return this.sums[y1 + x1] - this.sums[y0 + x1] - this.sums[y1 + x0] + this.sums[y0 + x0] > 0;
  }

  // Inside the map, and not on other writing.
  isClear(box) {
    const [left, top, right, bottom] = box;
    if (left < 0 || top < 0 || right > this.width || bottom > this.height) return false;
    return !this.taken.some((other) => overlap(box, other));
  }

  isFree(box) {
    return this.isClear(box) && !this.#hasPoints(box);
  }
}

// `group` has a name, its middle (x, y) and its points, those nearest to the middle first. The name goes where there is
// room, as near to the middle as possible; a line joins it to the points if they are not beside it.
export function placeLabel(room, group) {
  const half = halfWidth(group.name);
  const core = group.points.slice(0, Math.ceil(CORE * group.points.length));
  if (!core.length) return null;
  const farthest = FARTHEST * room.width;
  const reach = Math.hypot(core.at(-1)[0] - group.x, core.at(-1)[1] - group.y) + farthest;
  for (let away = 0; away < reach; away += CELL) {
    for (let side = 0; side < SIDES; side++) {
      const angle = 2 * Math.PI * side / SIDES;
      const x = group.x + Math.cos(angle) * (away + half);
      const y = group.y + Math.sin(angle) * (away + HEIGHT / 2);
      const box = [x - half, y - HEIGHT / 2, x + half, y + HEIGHT / 2];
      if (!room.isFree(box)) continue;
      const { line, length } = lineTo(box, core);
      if (length > farthest) continue;
      room.taken.push(box);
      return { ...group, left: x, top: y, line: length > GAP ? line : null };
    }
  }
  return null;
}

// Over the points or the density: names are at the middle of their groups, and fewer.
export function placeOver(room, group) {
  const half = halfWidth(group.name);
  if (room.taken.length >= room.width * room.height / AREA) return null;
  for (let away = 0; away <= ASIDE; away += CELL) {
    for (let side = 0; side < (away ? SIDES : 1); side++) {
      const angle = 2 * Math.PI * side / SIDES;
      const [left, top] = [group.x + away * Math.cos(angle), group.y + away * Math.sin(angle)];
      const box = [left - half, top - HEIGHT / 2, left + half, top + HEIGHT / 2];
      if (!room.isClear(box)) continue;
      room.taken.push(box);
      return { ...group, left, top, line: null };
    }
  }
  return null;
}

function halfWidth(name) {
  pen.font = FONT;
  return pen.measureText(name).width / 2 + 5;
}

// From the nearest side of a box to the nearest point.
function lineTo([left, top, right, bottom], points) {
  let [line, length] = [null, Infinity];
  for (const [x, y] of points) {
    const start = [Math.min(right, Math.max(left, x)), Math.min(bottom, Math.max(top, y))];
    const away = Math.hypot(x - start[0], y - start[1]);
    if (away < length) [line, length] = [[start, [x, y]], away];
  }
  return { line, length };
}

function overlap(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}
