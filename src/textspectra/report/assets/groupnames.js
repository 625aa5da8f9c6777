// The names of the groups on the map.
import { element, escaped, make, makeShape, shorten } from "./data.js";
import { placeLabel, placeOver, Room } from "./labels.js";

const LIMIT = 34; // characters of a name

export class GroupNames {
  constructor({ tree, state, counts, x, y }, map) {
    Object.assign(this, { tree, state, counts, x, y, map, labels: [] });
  }

  // Write the names, the largest group first, as long as there is room. `at` turns places into pixels.
  place(at) {
    const { dense, plot, size } = this.map;
    const room = new Room(plot.clientWidth, plot.clientHeight, this.#written());
    const members = this.#members(at);
    room.fill([...members.values()].flat(), size / 2);
    const placed = this.#byImportance().map((node) => {
      return (dense ? placeOver : placeLabel)(room, this.#group(node, members, at));
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

  // The names and their lines, as Plotly annotations for a picture.
  drawn(ink) {
    const { clientWidth: width, clientHeight: height } = this.map.plot;
    const place = (x, y) => ({ x: x / width, y: 1 - y / height, xref: "paper", yref: "paper" });
    const annotations = this.labels.map(({ span, left, top }) => ({
      ...place(left, top),
      ...{ xanchor: "center", yanchor: "middle", showarrow: false },
      text: escaped(span.textContent),
      font: { size: 13, color: ink },
    }));
    const shapes = this.labels.filter(({ line }) => line).map(({ node, line }) => {
      const [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map((name) => Number(line.getAttribute(name)));
      const [start, end] = [place(x1, y1), place(x2, y2)];
      const stroke = { color: this.tree.colors[node], width: 1 };
      return { type: "line", ...start, x0: start.x, y0: start.y, x1: end.x, y1: end.y, line: stroke };
    });
    return { annotations, shapes };
  }
}
