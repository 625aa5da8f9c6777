// The charts of "Why this number of groups", and the similarity matrices. Each is drawn when it is scrolled into view.
import { element, shorten, whenPrinting } from "./data.js";
import { jumpOf } from "./why.js";

const CURVES = {
  cohesion: { name: "Cohesion Ratio", axis: "y2", dash: "solid" },
  silhouette: { name: "silhouette", axis: "y", dash: "solid" },
  ari: { name: "ARI", axis: "y", dash: "dash" },
  homogeneity: { name: "homogeneity", axis: "y", dash: "dot" },
  completeness: { name: "completeness", axis: "y", dash: "dashdot" },
  fowlkes_mallows: { name: "Fowlkes-Mallows", axis: "y", dash: "longdash" },
};
const RIGHT = { overlaying: "y", side: "right", showgrid: false, tickmode: "auto" };
const PAPER = { width: 660, height: 250 }; // pixels of a chart there
const ROW_OF_NAMES = 16; // pixels
const LETTER = 6.4; // pixels
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

export class Charts {
  // `others` are functions that make further charts, by the id of their element.
  constructor(report, Plotly, others) {
    Object.assign(this, report);
    this.Plotly = Plotly;
    this.drawn = new Set();
    this.makers = {
      agreement: () => this.#agreement(),
      halves: () => this.#halves(),
      spectrum: () => this.#spectrum(),
      replicates: () => this.#replicates(),
      profile: () => this.#profile(),
      raw: () => this.#matrix("raw"),
      rectified: () => this.#matrix("rectified"),
      ...others,
    };
    const watcher = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) this.draw(target.id);
    }, { rootMargin: "400px" });
    for (const id of Object.keys(this.makers)) watcher.observe(element(id));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw(this.drawn));
    whenPrinting((isPrinting) => this.#drawAll(isPrinting));
    this.state.listen((changed) => changed.k && this.redraw(["agreement", "profile", "raw", "rectified"]));
  }

  #drawAll(onPaper) {
    document.documentElement.classList.toggle("paper", onPaper);
    this.paper = onPaper ? PAPER : null;
    this.drawn.clear();
    for (const id of Object.keys(this.makers)) this.draw(id);
  }

  redraw(ids) {
    for (const id of [...ids]) {
      if (!this.drawn.has(id)) continue;
      this.drawn.delete(id);
      clearTimeout(this[id]);
      this[id] = setTimeout(() => this.draw(id), 200); // once the slider has stopped
    }
  }

  draw(id) {
    const figure = element(id);
    if (this.drawn.has(id) || figure.closest("[hidden], details:not([open])")) return;
    this.drawn.add(id);
    const width = this.paper?.width ?? figure.clientWidth;
    const { data, layout, marks = [] } = this.makers[id](width);
    const { shapes, annotations, above } = marked(marks, layout.xaxis, width - 90);
    const style = getComputedStyle(document.body);
    const [ink, line] = ["--ink", "--line"].map((name) => style.getPropertyValue(name).trim());
    const axis = { color: ink, gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true };
    const whole = {
      ...this.paper,
      margin: { l: 8, r: 8, t: 8 + above, b: 8 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: style.fontFamily, size: this.paper ? 10 : 12, color: ink },
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom", font: { size: 11 } },
      hovermode: "x unified",
      hoverlabel: { bgcolor: style.getPropertyValue("--paper").trim(), bordercolor: line, font: { color: ink } },
      dragmode: false,
      annotations,
      ...layout,
      shapes: [...(layout.shapes ?? []), ...shapes],
      xaxis: { ...axis, ...layout.xaxis },
      yaxis: { ...axis, ...layout.yaxis },
    };
    if (layout.yaxis2) whole.yaxis2 = { ...axis, ...layout.yaxis2 };
    this.Plotly.react(figure, data, whole, { displayModeBar: false, responsive: true });
    if (id === "raw" || id === "rectified") this.#readPairs(figure);
  }

  #shown() {
    return { at: this.state.k, name: this.state.edits ? "shown (edited, not on the curve)" : "shown", solid: true };
  }

  #agreement() {
    const { agreement, suggestions } = this.meta.evidence;
    const score = {
      x: agreement.k,
      y: agreement.score,
      name: "score",
      mode: "lines",
      line: line(COLORS[0], "solid", 2.4),
    };
    return {
      data: [{ ...score, fill: "tozeroy", fillcolor: `${COLORS[0]}18` }],
      layout: {
        showlegend: false,
        xaxis: logarithmic("number of groups", 2, agreement.k.at(-1)),
        yaxis: { title: { text: "agreement score" }, range: [Math.min(0, ...agreement.score), 1], dtick: 0.2 },
      },
      marks: [...suggestions.map(({ name, k }) => ({ at: k, name })), this.#shown()],
    };
  }

  #halves() {
    const { agreement, interval } = this.meta.evidence;
    const curve = (y, name, style) => ({ x: agreement.k, y, name, mode: "lines", line: style });
    return {
      data: [
        curve(agreement.halves, "two halves of the texts", line(COLORS[1])),
        curve(agreement.score, "score", line(COLORS[0], "solid", 2.4)),
      ],
      layout: {
        xaxis: logarithmic("number of groups", 2, agreement.k.at(-1)),
        yaxis: {
          title: { text: "adjusted mutual information" },
          range: [Math.min(0, ...agreement.score), 1],
          dtick: 0.2,
        },
        shapes: [band(...interval.map((k) => Math.min(agreement.k.at(-1), Math.max(2, k))))],
      },
    };
  }

  #spectrum() {
    const { spectrum } = this.meta.evidence;
    const { eigenvalues, deltas, threshold, window } = spectrum;
    const jump = jumpOf(spectrum);
    const index = (length, first) => Array.from({ length }, (_, i) => first + i);
    const end = Math.min(eigenvalues.length, Math.max(30, 4 * jump));
    const right = { yaxis: "y2", mode: "lines" };
    return {
      data: [
        { x: index(eigenvalues.length, 1), y: eigenvalues, name: "eigenvalue λ", mode: "lines", line: line(COLORS[0]) },
        {
          ...right,
          x: index(deltas.length, window + 1),
          y: deltas,
          name: "normalized difference δ",
          line: line(COLORS[1], "dot"),
        },
        {
          ...right,
          x: [1, eigenvalues.length],
          y: [threshold, threshold],
          name: "threshold of δ",
          line: line(COLORS[1], "dash"),
          hoverinfo: "skip",
        },
      ],
      layout: {
        xaxis: { title: { text: "eigenvalue index" }, range: [0, end] },
        yaxis: { title: { text: "eigenvalue λ" }, rangemode: "tozero" },
        yaxis2: { ...RIGHT, title: { text: "normalized difference δ" }, rangemode: "tozero" },
        shapes: [band(Math.max(0, jump - window + 1), jump)],
      },
      marks: [{ at: jump, name: "k" }],
    };
  }

  #replicates() {
    const { replicates, k, interval } = this.meta.evidence.spectrum;
    const whole = (values) => ({ dtick: Math.max(1, Math.ceil((Math.max(...values) - Math.min(0, ...values)) / 8)) });
    const spread = replicates.k.map((value) => value - replicates.k[0]);
    return {
      data: [{ type: "bar", x: replicates.k, y: replicates.count, marker: { color: COLORS[0] }, name: "samples" }],
      layout: {
        showlegend: false,
        xaxis: { title: { text: "estimated number of groups" }, ...whole(spread) },
        yaxis: { title: { text: "number of samples" }, ...whole(replicates.count) },
        shapes: [band(interval[0] - 0.5, interval[1] + 0.5)],
        bargap: 0.15,
      },
      marks: [{ at: k, name: "estimate" }],
    };
  }

  #profile() {
    const { curves, classes } = this.meta.profile;
    const x = Array.from({ length: this.tree.k }, (_, i) => i + 1);
    const data = Object.entries(curves).map(([key, y], i) => {
      const { name, axis, dash } = CURVES[key];
      return { x, y, name, yaxis: axis, mode: "lines", line: line(COLORS[i], dash) };
    });
    return {
      data,
      layout: {
        xaxis: logarithmic("number of groups", this.tree.lowest, this.tree.k),
        yaxis: { title: { text: classes ? "silhouette and agreement with the ground truth" : "silhouette" } },
        yaxis2: { ...RIGHT, title: { text: "Cohesion Ratio" } },
      },
      marks: [
        ...(classes ? [{ at: classes, name: "ground truth" }] : []),
        this.#shown(),
      ],
    };
  }

  #matrix(which) {
    const { positions, low, high, z } = this.meta.matrix;
    const side = positions.length;
    const shades = this[`${which}Shades`];
    const rows = Array.from({ length: side }, (_, i) => shades.subarray(i * side, (i + 1) * side));
    const owners = this.tree.ownersAt(this.state.k);
    const edges = [];
    for (let i = 1; i < side; i++) if (owners[positions[i]] !== owners[positions[i - 1]]) edges.push(i - 0.5);
    const lines = edges.length > 60 ? [] : edges.flatMap((at) => [
      { type: "line", x0: at, x1: at, y0: -0.5, y1: side - 0.5, line: { width: 0.5, color: "#ffffff3a" } },
      { type: "line", y0: at, y1: at, x0: -0.5, x1: side - 0.5, line: { width: 0.5, color: "#ffffff3a" } },
    ]);
    const ends = which === "raw" ? [low.toFixed(2), high.toFixed(2)] : ["0", `${z} σ`];
    const bare = { showgrid: false, zeroline: false, showticklabels: false, ticks: "" };
    return {
      data: [{
        type: "heatmap",
        z: rows,
        zmin: 0,
        zmax: 255,
        colorscale: "Viridis",
        hoverinfo: "none",
        colorbar: { thickness: 10, tickvals: [0, 255], ticktext: ends, outlinewidth: 0 },
      }],
      layout: {
        hovermode: "closest",
        xaxis: { ...bare, constrain: "domain" },
        yaxis: { ...bare, autorange: "reversed", scaleanchor: "x", constrain: "domain" },
        shapes: lines,
      },
    };
  }

  #readPairs(figure) {
    if (figure.dataset.reads) return;
    figure.dataset.reads = "yes";
    figure.on("plotly_hover", ({ points }) => {
      const { positions } = this.meta.matrix;
      const owners = this.tree.ownersAt(this.state.k);
      const pair = [points[0].y, points[0].x].map((at) => {
        const i = positions[at];
        return `“${shorten(this.texts?.[i] ?? "…", 120)}” (${this.state.nameOf(owners[i])})`;
      });
      element("pair").textContent = pair.join("  and  ");
    });
  }
}

function line(color, dash = "solid", width = 1.8) {
  return { color, dash, width };
}

// A logarithmic axis with round numbers: 1, 2 and 5 of each decade.
function logarithmic(title, low, high) {
  const round = [0, 1, 2, 3, 4].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
  const tickvals = round.filter((value) => value >= low && value <= high);
  return {
    title: { text: `${title} (logarithmic scale)` },
    type: "log",
    range: [Math.log10(low), Math.log10(Math.max(high, low + 1))],
    tickvals,
    ticktext: tickvals.map(String),
  };
}

// Vertical lines with their names above the curves, in as many rows as they need.
function marked(marks, { type = "linear", range }, width) {
  const place = (value) => type === "log" ? Math.log10(value) : value;
  const names = new Map();
  for (const { at, name, solid } of marks) {
    const known = names.get(at);
    names.set(at, { name: known ? `${known.name} and ${name}` : name, solid: solid || known?.solid });
  }
  const ends = [];
  const [shapes, annotations] = [[], []];
  for (const [at, { name, solid }] of [...names].sort(([a], [b]) => a - b)) {
    if (range && (place(at) < range[0] - 1e-9 || place(at) > range[1] + 1e-9)) continue;
    const text = `${name}: ${at}`;
    const left = range ? width * (place(at) - range[0]) / (range[1] - range[0]) : 0;
    const row = [...ends, -Infinity].findIndex((end) => end < left);
    ends[row] = left + LETTER * text.length;
    const stroke = { color: solid ? COLORS[1] : "#888", width: solid ? 2 : 1.2, dash: solid ? "solid" : "dash" };
    shapes.push({ type: "line", x0: at, x1: at, y0: 0, y1: 1, yref: "paper", line: stroke });
    const where = { x: place(at), y: 1, yref: "paper", yanchor: "bottom", yshift: ROW_OF_NAMES * row };
    const toRight = range && left > 0.8 * width;
    const anchor = { xanchor: toRight ? "right" : "left", xshift: toRight ? 3 : -3 };
    annotations.push({ ...where, ...anchor, text, showarrow: false, font: { size: 11 } });
  }
  return { shapes, annotations, above: ROW_OF_NAMES * ends.length };
}

function band(x0, x1) {
  const side = { yref: "paper", y0: 0, y1: 1 };
  return { type: "rect", x0, x1, ...side, fillcolor: "#8882", line: { width: 0 }, layer: "below" };
}
