// The map: one point per text, coloured by group, with the names of the groups.
import { count, element, escaped, make, shorten } from "./data.js";

const EDGE = 1.06; // the points lie between -1 and 1
const FAR = { least: 0.004, most: 4 }; // limits of the zoom
const LABEL = { height: 19, letter: 6.6, limit: 34 };

export class TextMap {
  constructor(report, Plotly) {
    Object.assign(this, report);
    this.Plotly = Plotly;
    this.plot = element("plot");
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.matches = null;
    this.painting = null;
    this.hovered = null;
  }

  async draw() {
    const n = this.x.length;
    const size = n < 2000 ? 8 : n < 20000 ? 5 : n < 60000 ? 4 : 3;
    const marker = { size, color: this.#colors(), opacity: n < 20000 ? 0.85 : 0.7, line: { width: 0 } };
    const trace = { type: "scattergl", mode: "markers", x: this.x, y: this.y, marker, hoverinfo: "none" };
    const config = { scrollZoom: true, displayModeBar: false, responsive: false, doubleClick: false };
    await this.Plotly.newPlot(this.plot, [trace], this.#layout(this.#whole()), config);
    this.#listen();
    this.label();
    this.#note();
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

  #whole() {
    return this.#around(0, 0, EDGE);
  }

  // A window around (x, y), with the given half-length of its shorter side and equal scales on both axes.
  #around(x, y, reach) {
    const { clientWidth: width, clientHeight: height } = this.plot;
    const [across, down] = [reach * Math.max(1, width / height), reach * Math.max(1, height / width)];
    return { x: [x - across, x + across], y: [y - down, y + down] };
  }

  #ranges() {
    const { xaxis, yaxis } = this.plot.layout;
    return { x: xaxis.range, y: yaxis.range };
  }

  #show({ x, y }) {
    return this.Plotly.relayout(this.plot, { "xaxis.range": x, "yaxis.range": y });
  }

  zoom(factor) {
    const { x, y } = this.#ranges();
    const reach = factor * Math.min(x[1] - x[0], y[1] - y[0]) / 2;
    const within = Math.min(FAR.most, Math.max(FAR.least, reach));
    return this.#show(this.#around((x[0] + x[1]) / 2, (y[0] + y[1]) / 2, within));
  }

  #move(right, up) {
    const { x, y } = this.#ranges();
    const step = Math.min(x[1] - x[0], y[1] - y[0]) / 6;
    return this.#show({ x: x.map((v) => v + right * step), y: y.map((v) => v + up * step) });
  }

  all() {
    return this.#show(this.#whole());
  }

  #listen() {
    const plot = this.plot;
    plot.on("plotly_hover", (event) => this.#hover(event));
    plot.on("plotly_unhover", () => this.#unhover());
    plot.on("plotly_click", ({ points }) => this.state.set({ selected: this.owners[points[0].pointNumber] }));
    plot.on("plotly_relayouting", (event) => this.label(event));
    plot.on("plotly_relayout", () => this.label());
    plot.addEventListener("keydown", (event) => this.#onKey(event));
    element("zoom-in").addEventListener("click", () => this.zoom(0.6));
    element("zoom-out").addEventListener("click", () => this.zoom(1 / 0.6));
    element("zoom-all").addEventListener("click", () => this.all());
    this.dark.addEventListener("change", () => this.paint());
    new ResizeObserver(() => this.#resize()).observe(plot);
    this.state.listen((changed) => {
      if (changed.filter) this.#note();
      if (changed.filter) this.moved = true;
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
      "+": () => this.zoom(0.6),
      "=": () => this.zoom(0.6),
      "-": () => this.zoom(1 / 0.6),
      0: () => this.all(),
      Escape: () => this.state.set({ selected: null }),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  }

  async #resize() {
    const { clientWidth: width, clientHeight: height } = this.plot;
    if (!width || (width === this.plot.layout.width && height === this.plot.layout.height)) return;
    const { x, y } = this.#ranges();
    const reach = Math.min(x[1] - x[0], y[1] - y[0]) / 2;
    const ranges = this.#around((x[0] + x[1]) / 2, (y[0] + y[1]) / 2, reach);
    await this.Plotly.relayout(this.plot, { width, height, "xaxis.range": ranges.x, "yaxis.range": ranges.y });
  }

  #hover({ points, event }) {
    const i = points[0].pointNumber;
    this.hovered = i;
    const node = this.owners[i];
    const tooltip = element("tooltip");
    const n = this.counts.texts[i];
    const times = n > 1 ? ` · ${count(n, "time")}` : "";
    const name = make("p", { class: "tip-name", dir: "auto" }, this.state.nameOf(node));
    name.style.setProperty("--color", this.tree.colors[node]);
    const text = this.texts ? shorten(this.texts[i], 280) : "…";
    tooltip.replaceChildren(make("p", { class: "text", dir: "auto" }, text), ...this.#cells(i), name);
    if (times) name.append(times);
    tooltip.hidden = false;
    const box = this.plot.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const left = Math.max(8, Math.min(x + 14, box.width - tooltip.offsetWidth - 8));
    const below = y + 18 + tooltip.offsetHeight < box.height;
    tooltip.style.translate = `${left}px ${below ? y + 18 : Math.max(8, y - tooltip.offsetHeight - 12)}px`;
  }

  // The shown columns of the first row with this text.
  #cells(i) {
    const { rows } = this.counts;
    if (!rows?.shown.length) return [];
    const [row] = this.counts.rowsOf(i);
    const cells = rows.shown.map((column) => `${shorten(column.title, 40)} ${shorten(rows.value(column, row), 80)}`);
    return [make("p", { class: "cells", dir: "auto" }, cells.join(" · "))];
  }

  #unhover() {
    this.hovered = null;
    element("tooltip").hidden = true;
  }

  #colors() {
    const { k, selected } = this.state;
    this.owners = this.tree.ownersAt(k);
    const faded = this.dark.matches ? "#8884" : "#9995";
    const colors = new Array(this.x.length);
    for (const node of this.tree.cut(k)) {
      const color = selected === null || selected === node ? this.tree.colors[node] : faded;
      for (const piece of this.tree.pieces(node)) colors.fill(color, ...piece);
    }
    if (this.matches) this.matches.forEach((hit, i) => hit || (colors[i] = faded));
    return colors;
  }

  // Colouring is slow, so the rest of the page comes first. Of the requests that come in during one, only the last is
  // carried out.
  paint() {
    this.stale = true;
    this.painting ??= nextFrame().then(() => this.#repaint()).finally(() => this.painting = null);
    return this.painting;
  }

  async #repaint() {
    while (this.stale) {
      this.stale = false;
      const change = { "marker.color": [this.#colors()] };
      if (this.moved) Object.assign(change, this.#places());
      this.moved = false;
      await this.Plotly.restyle(this.plot, change);
    }
  }

  // A text without rows that pass the filter has no place on the map.
  #places() {
    const left = this.counts.texts;
    const [x, y] = [this.x, this.y].map((all) => all.map((value, i) => left[i] ? value : NaN));
    return { x: [x], y: [y] };
  }

  highlight(matches) {
    this.matches = matches;
    return this.paint();
  }

  // Place the names of the groups, the largest group first; a name that would cover another is left out.
  label(event = {}) {
    const { clientWidth: width, clientHeight: height } = this.plot;
    // For printing, the style sheet scales the map from this size to that of the paper.
    Object.entries({ width, height }).forEach(([side, length]) => {
      this.plot.parentElement.style.setProperty(`--${side}`, length);
    });
    const now = this.#ranges();
    const side = (
      axis,
    ) => [event[`${axis}axis.range[0]`] ?? now[axis][0], event[`${axis}axis.range[1]`] ?? now[axis][1]];
    const [x, y] = [side("x"), side("y")];
    const placed = [];
    const labels = [];
    for (const node of this.#byImportance()) {
      const [mx, my] = this.tree.nodes.middle[node];
      const [left, top] = [(mx - x[0]) / (x[1] - x[0]) * width, (y[1] - my) / (y[1] - y[0]) * height];
      const name = shorten(this.state.nameOf(node), LABEL.limit);
      const half = name.length * LABEL.letter / 2 + 6;
      const box = [left - half, top - LABEL.height / 2, left + half, top + LABEL.height / 2];
      const outside = box[0] < 0 || box[1] < 0 || box[2] > width || box[3] > height;
      if (outside || placed.some((other) => overlap(box, other))) continue;
      placed.push(box);
      const label = make("span", { dir: "auto", class: node === this.state.selected ? "chosen" : "" }, name);
      label.style.translate = `calc(${left}px - 50%) calc(${top}px - 50%)`;
      label.style.setProperty("--color", this.tree.colors[node]);
      labels.push(label);
    }
    element("labels").replaceChildren(...labels);
    this.labelled = placed.length;
  }

  #byImportance() {
    const size = this.counts.nodes;
    const { k, selected } = this.state;
    const left = this.tree.cut(k).filter((node) => size[node] > 0);
    return left.sort((a, b) => (b === selected) - (a === selected) || size[b] - size[a]);
  }

  // The map as a picture, with the names of the groups.
  picture(format) {
    const { clientWidth: width, clientHeight: height } = this.plot;
    const paper = getComputedStyle(document.body).getPropertyValue("--paper").trim();
    const ink = getComputedStyle(document.body).getPropertyValue("--ink").trim();
    const { x, y } = this.#ranges();
    const inside = (v, [low, high]) => v >= low && v <= high;
    const shown = [...element("labels").children].map((label) => label.textContent);
    const nodes = this.tree.cut(this.state.k).filter((node) =>
      shown.includes(shorten(this.state.nameOf(node), LABEL.limit))
    );
    const annotations = nodes.filter((node) => {
      const [mx, my] = this.tree.nodes.middle[node];
      return inside(mx, x) && inside(my, y);
    }).map((node) => ({
      x: this.tree.nodes.middle[node][0],
      y: this.tree.nodes.middle[node][1],
      text: escaped(shorten(this.state.nameOf(node), LABEL.limit)),
      showarrow: false,
      font: { size: 13, color: ink },
      bgcolor: paper,
      opacity: 0.85,
    }));
    const layout = { ...this.plot.layout, annotations, paper_bgcolor: paper, plot_bgcolor: paper };
    const scale = format === "png" ? 2 : 1;
    return this.Plotly.toImage({ data: this.plot.data, layout }, { format, width, height, scale });
  }
}

function nextFrame() {
  return new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)));
}

function overlap(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}
