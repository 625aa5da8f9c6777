// A selection on the map: the reader draws a line around texts.
import { count, element, makeShape } from "./data.js";

const CLOSE = 3; // pixels between two points of the line

export class Lasso {
  constructor({ state, counts, x, y }, map) {
    Object.assign(this, { state, counts, x, y, map, line: [] });
    this.sheet = element("lasso");
    this.button = element("lasso-button");
    this.button.addEventListener("click", () => this.turn(this.sheet.hasAttribute("hidden")));
    this.sheet.addEventListener("pointerdown", (event) => this.#begin(event));
    this.sheet.addEventListener("pointermove", (event) => this.#draw(event));
    this.sheet.addEventListener("pointerup", () => this.#end());
    this.sheet.addEventListener("pointercancel", () => this.turn(false));
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.turn(false));
  }

  turn(on) {
    this.line = [];
    this.sheet.replaceChildren();
    this.sheet.toggleAttribute("hidden", !on);
    this.button.setAttribute("aria-pressed", String(on));
  }

  #begin(event) {
    event.preventDefault();
    this.sheet.setPointerCapture(event.pointerId);
    this.line = [this.#at(event)];
    this.shape = makeShape("polygon", {});
    this.sheet.replaceChildren(this.shape);
  }

  #at(event) {
    const box = this.sheet.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #draw(event) {
    if (!this.line.length) return;
    const [x, y] = this.#at(event);
    const [lastX, lastY] = this.line.at(-1);
    if (Math.hypot(x - lastX, y - lastY) < CLOSE) return;
    this.line.push([x, y]);
    this.shape.setAttribute("points", this.line.map((point) => point.join(",")).join(" "));
  }

  #end() {
    const line = this.line;
    this.turn(false);
    if (line.length < 3) return;
    const positions = this.inside(line);
    const title = positions.length ? "Selected on the map" : "No texts inside the line";
    this.state.set({ work: { kind: "picked", title, positions } });
    element("map-said").textContent = `${count(positions.length, "different text")} selected`;
  }

  // The texts inside a polygon, which is given in pixels of the map.
  inside(line) {
    const { xaxis, yaxis } = this.map.plot.layout;
    const { clientWidth: width, clientHeight: height } = this.map.plot;
    const toX = (pixel) => xaxis.range[0] + pixel / width * (xaxis.range[1] - xaxis.range[0]);
    const toY = (pixel) => yaxis.range[1] - pixel / height * (yaxis.range[1] - yaxis.range[0]);
    const corners = line.map(([x, y]) => [toX(x), toY(y)]);
    const [xs, ys] = [0, 1].map((axis) => corners.map((corner) => corner[axis]));
    const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const found = [];
    for (let i = 0; i < this.x.length; i++) {
      const [x, y] = [this.x[i], this.y[i]];
      if (!this.counts.texts[i] || x < left || x > right || y < low || y > high) continue;
      if (isInside(corners, x, y)) found.push(i);
    }
    return found;
  }
}

// A point is inside if a line from it crosses the border an odd number of times.
function isInside(corners, x, y) {
  let inside = false;
  for (let i = 0, j = corners.length - 1; i < corners.length; j = i++) {
    const [[ax, ay], [bx, by]] = [corners[i], corners[j]];
    if ((ay > y) !== (by > y) && x < ax + (y - ay) / (by - ay) * (bx - ax)) inside = !inside;
  }
  return inside;
}
