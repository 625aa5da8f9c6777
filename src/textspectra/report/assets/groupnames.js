// The names of the groups on the map.
import { element, escaped, make, makeShape, number, shorten } from "./data.js";
import { placeLabel, placeOver, Room } from "./labels.js";

const LIMIT = 34; // characters of a name
const LEGEND = { column: 270, line: 20, edge: 12 }; // pixels

export class GroupNames {
  constructor({ tree, state, counts, x, y }, map) {
    Object.assign(this, { tree, state, counts, x, y, map, labels: [] });
  }

  // Write the names, the largest group first, as long as there is room. A group that is larger than most is named over
  // its points if there is no room beside them. `at` turns places into pixels.
  place(at) {
    const { dense, plot, size } = this.map;
    const room = new Room(plot.clientWidth, plot.clientHeight, this.#written());
    const members = this.#members(at);
    room.fill([...members.values()].flat(), size / 2);
    const nodes = this.#byImportance();
    const usual = nodes.reduce((sum, node) => sum + this.counts.nodes[node], 0) / nodes.length;
    const placed = nodes.map((node) => {
      const group = this.#group(node, members, at);
      const isLarge = dense || (group.points.length && this.counts.nodes[node] >= usual);
      return (dense ? null : placeLabel(room, group)) ?? (isLarge ? placeOver(room, group) : null);
    });
    this.labels = placed.filter(Boolean).map((one) => this.#label(one));
    element("labels").replaceChildren(
      makeShape("svg", { class: "lines" }, ...this.labels.map(({ line }) => line).filter(Boolean)),
      ...this.labels.map(({ span }) => span),
    );
  }

  // The boxes of other writing on the map.
  #written() {
    const around = this.map.plot.getBoundingClientRect();
    return [document.querySelector(".zoom"), element("map-note")].map((one) => {
      const { left, top, right, bottom } = one.getBoundingClientRect();
      return [left - around.left, top - around.top, right - around.left, bottom - around.top];
    });
  }

  // The points of each group on the screen, with their numbers.
  #members(at) {
    const members = new Map();
    for (const i of this.map.shown) {
      if (!this.counts.texts[i]) continue;
      const node = this.map.owners[i];
      if (!members.has(node)) members.set(node, []);
      members.get(node).push([...at(this.x[i], this.y[i]), i]);
    }
    return members;
  }

  // If the middle of a group is out of sight, its name is at the nearest visible point.
  #group(node, members, at) {
    const { clientWidth: width, clientHeight: height } = this.map.plot;
    const isSeen = ([x, y]) => x >= 0 && x <= width && y >= 0 && y <= height;
    const seen = (members.get(node) ?? []).filter(isSeen);
    const nearestTo = ([x, y]) => seen.sort((a, b) => Math.hypot(a[0] - x, a[1] - y) - Math.hypot(b[0] - x, b[1] - y));
    let middle = this.tree.nodes.middle[node];
    const [nearest] = nearestTo(at(...middle));
    if (nearest && !isSeen(at(...middle))) middle = [this.x[nearest[2]], this.y[nearest[2]]];
    const [x, y] = at(...middle);
    return { node, name: shorten(this.state.nameOf(node), LIMIT), middle, x, y, points: nearestTo([x, y]) };
  }

  #byImportance() {
    const size = this.counts.nodes;
    const { k, selected } = this.state;
    const left = this.tree.cut(k).filter((node) => size[node] > 0);
    return left.sort((a, b) => (b === selected) - (a === selected) || size[b] - size[a]);
  }

  #label({ node, name, middle, x, y, left, top, line }) {
    const { selected } = this.state;
    const look = selected === null ? "" : node === selected ? "chosen" : "behind";
    const span = make("span", { dir: "auto", class: look }, name);
    span.style.setProperty("--color", this.tree.colors[node]);
    const [[x1, y1], [x2, y2]] = line ?? [[0, 0], [0, 0]];
    const drawn = line && makeShape("line", { x1, y1, x2, y2, stroke: this.tree.colors[node] });
    const label = { node, span, line: drawn, middle, from: [x, y], left, top };
    this.#move(label, [x, y]);
    return label;
  }

  #move({ span, line, from, left, top }, [x, y]) {
    const [right, down] = [x - from[0], y - from[1]];
    span.style.translate = `calc(${left + right}px - 50%) calc(${top + down}px - 50%)`;
    if (line) line.style.translate = `${right}px ${down}px`;
  }

  // Let the names follow the map while it moves.
  move(at) {
    for (const label of this.labels) this.#move(label, at(...label.middle));
  }

  fadeOthers(node) {
    for (const { node: own, span, line } of this.labels) {
      for (const one of [span, line]) one?.classList.toggle("other", node !== null && node !== own);
    }
  }

  // The names with their lines, and below the map a legend of the groups in sight, as Plotly draws them in a picture.
  drawn(ink) {
    const { clientWidth: width, clientHeight: height } = this.map.plot;
    const paper = { xref: "paper", yref: "paper" };
    const text = (words, x, y, look) => {
      const place = { ...paper, x: x / width, y: 1 - y / height, yanchor: "middle", showarrow: false };
      return { ...place, text: escaped(words), font: { size: 13, color: ink }, ...look };
    };
    const line = (node, thick, [x0, y0, x1, y1]) => {
      const ends = { x0: x0 / width, y0: 1 - y0 / height, x1: x1 / width, y1: 1 - y1 / height };
      return { type: "line", ...paper, ...ends, line: { color: this.tree.colors[node], width: thick } };
    };
    const names = this.labels.map(({ span, left, top }) => {
      const { color, backgroundColor: bgcolor, textShadow: shadow } = getComputedStyle(span);
      return text(span.textContent, left, top, {
        bgcolor,
        xanchor: "center",
        font: { size: 12, weight: 650, shadow, color },
      });
    });
    const lines = this.labels.flatMap(({ node, span, line: drawn, left, top }) => {
      const [half, below] = [span.offsetWidth / 2, top + span.offsetHeight / 2];
      const ends = drawn && ["x1", "y1", "x2", "y2"].map((name) => Number(drawn.getAttribute(name)));
      return [line(node, 2, [left - half, below, left + half, below]), ...(drawn ? [line(node, 1, ends)] : [])];
    });
    const { entries, below } = this.#legend(width, height);
    const words = ({ node, texts }) => `${shorten(this.state.nameOf(node), LIMIT)} · ${number.format(texts)}`;
    return {
      annotations: [...names, ...entries.map((one) => text(words(one), one.x + 16, one.y, { xanchor: "left" }))],
      shapes: [...lines, ...entries.map(({ node, x, y }) => line(node, 10, [x, y, x + 10, y]))],
      below,
    };
  }

  // Where the groups in sight are below the map, in columns, and the height of that.
  #legend(width, height) {
    const groups = this.map.inSight();
    const columns = Math.max(1, Math.floor(width / LEGEND.column));
    const rows = Math.ceil(groups.length / columns);
    const entries = groups.map(([node, texts], i) => ({
      ...{ node, texts, x: LEGEND.edge + Math.floor(i / rows) * width / columns },
      y: height + LEGEND.edge + (i % rows + 0.5) * LEGEND.line,
    }));
    return { entries, below: rows ? rows * LEGEND.line + 2 * LEGEND.edge : 0 };
  }
}
