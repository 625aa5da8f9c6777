// The map: the texts as points, or as a density if there are many; colored by group, with the names of the groups.
import { count, element } from "./data.js";
import { Density } from "./density.js";
import { GroupNames } from "./groupnames.js";
import { Tooltip } from "./tooltip.js";

// Texts in sight above which a density is drawn instead of points. Without WebGL, points are shapes, which are slow.
const KINDS = { webgl: { type: "scattergl", most: 12_000 }, shapes: { type: "scatter", most: 4000 } };
const PADDING = { x: 0.035, y: 0.06 }; // around the points, as a share of the map
const ZOOM = { step: 0.6, least: 0.004, most: 2 }; // limits of the visible share of the map
const CLICK = 4; // pixels that a pointer may move in a click
const FADED = 0.15; // weight in the density of a text that does not match the search

export class TextMap {
  constructor(report, Plotly) {
    Object.assign(this, report);
    this.Plotly = Plotly;
    this.plot = element("plot");
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.kind = KINDS[document.createElement("canvas").getContext("webgl") ? "webgl" : "shapes"];
    this.density = new Density(element("density"));
    this.tooltip = new Tooltip(report);
    this.all = Int32Array.from(this.x.keys());
    this.shown = new Int32Array(0); // the texts that are points now
    this.matches = null;
    this.painting = null;
    this.hovered = null;
    this.names = new GroupNames(report, this);
  }

  async draw() {
    this.owners = this.tree.ownersAt(this.state.k);
    const trace = { type: this.kind.type, mode: "markers", x: [], y: [], hoverinfo: "none" };
    const config = { scrollZoom: true, displayModeBar: false, responsive: false, doubleClick: false };
    const whole = this.#whole();
    this.#choose(whole);
    await this.Plotly.newPlot(this.plot, [{ ...trace, ...this.#points() }], this.#layout(whole), config);
    this.#drawDensity();
    this.#listen();
    this.#note();
    this.label();
  }

  #note() {
    const texts = count(this.counts.texts.filter(Boolean).length, "different text");
    element("map-note").textContent = `${texts}. Close points are similar texts; large distances mean little.`;
  }

  #layout(ranges) {
    const axis = (range) => ({ visible: false, range, autorange: false });
    return {
      margin: { l: 0, r: 0, t: 0, b: 0 },
      width: this.plot.clientWidth,
      height: this.plot.clientHeight,
      xaxis: axis(ranges.x),
      yaxis: axis(ranges.y),
      dragmode: "pan",
      hovermode: "closest",
      hoverdistance: 12,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
    };
  }

  // The map is stretched to fill its box: its distances mean little anyway.
  #whole() {
    const side = (corner, padding) => [-1, 1].map((sign) => sign * (corner + padding * Math.max(2 * corner, 0.1)));
    const [x, y] = this.meta.corner;
    return { x: side(x, PADDING.x), y: side(y, PADDING.y) };
  }

  ranges() {
    const { xaxis, yaxis } = this.plot.layout;
    return { x: xaxis.range, y: yaxis.range };
  }

  #show({ x, y }) {
    return this.Plotly.relayout(this.plot, { "xaxis.range": x, "yaxis.range": y });
  }

  zoom(factor) {
    const [now, whole] = [this.ranges(), this.#whole()];
    const share = (now.x[1] - now.x[0]) / (whole.x[1] - whole.x[0]);
    const within = Math.min(ZOOM.most, Math.max(ZOOM.least, factor * share)) / share;
    const side = ([low, high]) => [-1, 1].map((sign) => (low + high) / 2 + sign * within * (high - low) / 2);
    return this.#show({ x: side(now.x), y: side(now.y) });
  }

  #move(right, up) {
    const { x, y } = this.ranges();
    const side = ([low, high], steps) => [low, high].map((value) => value + steps * (high - low) / 6);
    return this.#show({ x: side(x, right), y: side(y, up) });
  }

  showAll() {
    return this.#show(this.#whole());
  }

  #listen() {
    const plot = this.plot;
    plot.on("plotly_hover", ({ points, event }) => this.#hover(this.shown[points[0].pointNumber], event));
    plot.on("plotly_unhover", () => this.#unhover());
    plot.on("plotly_click", ({ points }) => this.#select(this.shown[points[0].pointNumber]));
    plot.on("plotly_relayouting", (event) => this.#follow(event));
    plot.on("plotly_relayout", () => this.#settle());
    plot.addEventListener("keydown", (event) => this.#onKey(event));
    plot.addEventListener("pointermove", (event) => this.#overDensity(event));
    plot.addEventListener("pointerleave", () => this.#unhover());
    plot.addEventListener("pointerdown", (event) => this.#press(event));
    element("zoom-in").addEventListener("click", () => this.zoom(ZOOM.step));
    element("zoom-out").addEventListener("click", () => this.zoom(1 / ZOOM.step));
    element("zoom-all").addEventListener("click", () => this.showAll());
    this.dark.addEventListener("change", () => this.paint());
    new ResizeObserver(() => this.#resize()).observe(plot);
    this.state.onHover(() => this.#spot());
    this.state.listen((changed) => {
      if (changed.filter) this.#note();
      if (changed.k || changed.selected || changed.filter) this.paint();
      if (changed.k || changed.names || changed.selected || changed.filter) this.label();
    });
  }

  #onKey(event) {
    const act = {
      ArrowLeft: () => this.#move(-1, 0),
      ArrowRight: () => this.#move(1, 0),
      ArrowUp: () => this.#move(0, 1),
      ArrowDown: () => this.#move(0, -1),
      "+": () => this.zoom(ZOOM.step),
      "=": () => this.zoom(ZOOM.step),
      "-": () => this.zoom(1 / ZOOM.step),
      0: () => this.showAll(),
      Escape: () => this.state.set({ selected: null }),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  }

  async #resize() {
    const { clientWidth: width, clientHeight: height } = this.plot;
    if (!width || (width === this.plot.layout.width && height === this.plot.layout.height)) return;
    await this.Plotly.relayout(this.plot, { width, height });
  }

  // While the map moves, only cheap elements follow.
  #follow(event) {
    this.#unhover();
    const now = this.ranges();
    const side = (
      axis,
    ) => [event[`${axis}axis.range[0]`] ?? now[axis][0], event[`${axis}axis.range[1]`] ?? now[axis][1]];
    const range = { x: side("x"), y: side("y") };
    this.#drawDensity(range);
    this.names.move(this.#onScreen(range));
  }

  #settle() {
    this.#choose(this.ranges());
    this.label();
    this.paint();
  }

  #select(i) {
    this.state.set({ selected: this.owners[i] });
  }

  // Plotly reports only clicks on points, and hides others: a click is a press that ends where it began.
  #press({ clientX, clientY }) {
    const i = this.dense ? this.hovered : null;
    if (i === null) return;
    const release = (event) => {
      if (Math.hypot(event.clientX - clientX, event.clientY - clientY) < CLICK) this.#select(i);
    };
    globalThis.addEventListener("pointerup", release, { once: true });
  }

  #overDensity(event) {
    if (!this.dense || event.buttons) return;
    const box = this.plot.getBoundingClientRect();
    const i = this.density.pointAt(event.clientX - box.left, event.clientY - box.top);
    if (i === null) this.#unhover();
    else this.#hover(i, event);
  }

  #hover(i, event) {
    this.hovered = i;
    const node = this.owners[i];
    this.state.hover(node);
    this.tooltip.show(i, this.texts?.[i] ?? "…", node, event); // the texts are unpacked after the map is drawn
  }

  #unhover() {
    this.hovered = null;
    this.tooltip.hide();
    this.state.hover(null);
  }

  // Decide what a window shows: all its texts as points, with a margin, or a density.
  #choose({ x, y }) {
    const reach = ([low, high]) => [low - (high - low) / 2, high + (high - low) / 2];
    const [wideX, wideY] = [reach(x), reach(y)];
    const inside = (value, [low, high]) => value >= low && value <= high;
    let seen = 0;
    const near = this.all.length <= this.kind.most ? this.all : this.all.filter((i) => {
      if (!this.counts.texts[i]) return false;
      if (inside(this.x[i], x) && inside(this.y[i], y)) seen++;
      return inside(this.x[i], wideX) && inside(this.y[i], wideY);
    });
    this.dense = seen > this.kind.most;
    this.shown = this.dense ? new Int32Array(0) : near;
  }

  // The data for Plotly. A text without rows that pass the filter is not on the map.
  #points() {
    const n = this.shown.length;
    const left = this.counts.texts;
    const [x, y] = [this.x, this.y].map((all) => Float32Array.from(this.shown, (i) => left[i] ? all[i] : NaN));
    this.size = n < 500 ? 8 : n < 2000 ? 6.5 : n < 8000 ? 5 : 4;
    return { x, y, marker: { size: this.size, color: this.#colors(), opacity: 0.85, line: { width: 0 } } };
  }

  #colors() {
    const faded = this.dark.matches ? "#8884" : "#9995";
    return Array.from(this.shown, (i) => this.#isLit(i) ? this.tree.colors[this.owners[i]] : faded);
  }

  #isLit(i) {
    const { selected } = this.state;
    return (selected === null || selected === this.owners[i]) && (!this.matches || this.matches[i]);
  }

  #drawDensity(range = this.ranges()) {
    element("density").hidden = !this.dense;
    if (!this.dense) return;
    const { clientWidth: width, clientHeight: height } = this.plot;
    const weights = Float32Array.from(this.all, (i) => this.counts.texts[i] ? this.#isLit(i) ? 1 : FADED : 0);
    const rgb = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
    const colors = Object.fromEntries(this.tree.cut(this.state.k).map((node) => [node, rgb(this.tree.colors[node])]));
    const { x, y, owners } = this;
    this.density.draw({ x, y, range, width, height, weights, owners, colors });
  }

  // Coloring is slow, so the rest of the page comes first. Of the requests that arrive meanwhile, only the last one
  // runs.
  paint() {
    this.stale = true;
    this.painting ??= nextFrame().then(() => this.#repaint()).finally(() => this.painting = null);
    return this.painting;
  }

  async #repaint() {
    while (this.stale) {
      this.stale = false;
      this.owners = this.tree.ownersAt(this.state.k);
      this.#choose(this.ranges());
      this.#drawDensity();
      if (!this.plot.data[0].x.length && !this.shown.length) continue;
      const { x, y, marker } = this.#points();
      const places = { x: [x], y: [y], "marker.size": marker.size };
      await this.Plotly.restyle(this.plot, { ...places, "marker.color": [marker.color] });
    }
    this.#spot();
  }

  highlight(matches) {
    this.matches = matches;
    return this.paint();
  }

  // The group under the pointer stands out: its points are drawn again above all others, which fade.
  #spot() {
    const { hovered: pointed, k } = this.state;
    const hovered = this.tree.cut(k).includes(pointed) ? pointed : null; // the slider may have merged or split it
    const canvas = element("spot");
    canvas.parentElement.classList.toggle("hovering", hovered !== null);
    this.names.fadeOthers(hovered);
    const { clientWidth: width, clientHeight: height } = this.plot;
    const scale = globalThis.devicePixelRatio;
    Object.assign(canvas, { width: width * scale, height: height * scale });
    if (hovered === null) return;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.fillStyle = this.tree.colors[hovered];
    const radius = this.dense ? 1 : this.size / 2;
    const at = this.#onScreen();
    for (let i = 0; i < this.owners.length; i++) {
      if (this.owners[i] !== hovered || !this.counts.texts[i]) continue;
      pen.beginPath();
      pen.arc(...at(this.x[i], this.y[i]), radius, 0, 7);
      pen.fill();
    }
  }

  #onScreen({ x, y } = this.ranges()) {
    const { clientWidth: width, clientHeight: height } = this.plot;
    const [toX, toY] = [width / (x[1] - x[0]), height / (y[1] - y[0])];
    return (px, py) => [(px - x[0]) * toX, (y[1] - py) * toY];
  }

  label() {
    const { clientWidth: width, clientHeight: height } = this.plot;
    // For printing, the style sheet scales the map from this size to the paper.
    Object.entries({ width, height }).forEach(([side, length]) => {
      this.plot.parentElement.style.setProperty(`--${side}`, length);
    });
    this.owners = this.tree.ownersAt(this.state.k);
    this.names.place(this.#onScreen());
  }

  // The groups with texts in the window that pass the filter and are not faded, with their number, the largest first.
  inSight() {
    const { x, y } = this.ranges();
    const isIn = (value, [low, high]) => value >= low && value <= high;
    const sums = new Map();
    for (const i of this.all) {
      const texts = this.counts.texts[i];
      if (!texts || !this.#isLit(i) || !isIn(this.x[i], x) || !isIn(this.y[i], y)) continue;
      sums.set(this.owners[i], (sums.get(this.owners[i]) ?? 0) + texts);
    }
    return [...sums].sort((a, b) => b[1] - a[1]);
  }

  // The map as it is on the screen, as a picture with the names of the groups and a legend.
  picture(format) {
    const { clientWidth: width, clientHeight: height } = this.plot;
    const [paper, ink] = ["--paper", "--ink"].map((name) =>
      getComputedStyle(document.body).getPropertyValue(name).trim()
    );
    const { x, y } = this.ranges();
    const images = this.dense
      ? [{
        source: element("density").toDataURL(),
        ...{ xref: "x", yref: "y", x: x[0], y: y[1], sizex: x[1] - x[0], sizey: y[1] - y[0], sizing: "stretch" },
        layer: "below",
      }]
      : [];
    const { below, ...drawn } = this.names.drawn(ink);
    const margin = { l: 0, r: 0, t: 0, b: below };
    const layout = { ...this.plot.layout, ...drawn, images, margin, paper_bgcolor: paper, plot_bgcolor: paper };
    const scale = format === "png" ? 2 : 1;
    return this.Plotly.toImage({ data: this.plot.data, layout }, { format, width, height: height + below, scale });
  }
}

function nextFrame() {
  return new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)));
}
