// The charts of "Why this number of groups", and the similarity matrices. Each is drawn when it is scrolled into view.
import { count, element, number, shorten } from "./data.js";

const CURVES = {
  cohesion: { name: "Cohesion Ratio", axis: "y2", dash: "solid" },
  silhouette: { name: "silhouette", axis: "y", dash: "solid" },
  ari: { name: "ARI", axis: "y", dash: "dash" },
  homogeneity: { name: "homogeneity", axis: "y", dash: "dot" },
  completeness: { name: "completeness", axis: "y", dash: "dashdot" },
  fowlkes_mallows: { name: "Fowlkes-Mallows", axis: "y", dash: "longdash" },
};
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

export class Charts {
  // `others` are makers of further charts, by the id of their place in the page.
  constructor(report, Plotly, others) {
    Object.assign(this, report);
    this.Plotly = Plotly;
    this.drawn = new Set();
    this.makers = {
      agreement: () => this.#agreement(),
      spectrum: () => this.#spectrum(),
      replicates: () => this.#replicates(),
      profile: () => this.#profile(),
      raw: () => this.#matrix("raw"),
      rectified: () => this.#matrix("rectified"),
      ...others,
    };
    this.#describe();
    const watcher = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting) this.draw(target.id);
    }, { rootMargin: "400px" });
    for (const id of Object.keys(this.makers)) watcher.observe(element(id));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw(this.drawn));
    globalThis.addEventListener("beforeprint", () => Object.keys(this.makers).forEach((id) => this.draw(id)));
    this.state.listen((changed) => changed.k && this.redraw(["profile", "raw", "rectified"]));
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
    if (this.drawn.has(id) || figure.closest("[hidden]")) return;
    this.drawn.add(id);
    figure.style.setProperty("--width", figure.clientWidth); // for printing, as in the map
    const { data, layout } = this.makers[id]();
    const style = getComputedStyle(document.body);
    const [ink, line] = ["--ink", "--line"].map((name) => style.getPropertyValue(name).trim());
    const axis = { color: ink, gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true };
    const whole = {
      margin: { l: 8, r: 8, t: 8, b: 8 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: style.fontFamily, size: 12, color: ink },
      legend: { orientation: "h", y: -0.22, font: { size: 11 } },
      hovermode: "x unified",
      hoverlabel: { bgcolor: style.getPropertyValue("--paper").trim(), bordercolor: line, font: { color: ink } },
      dragmode: false,
      ...layout,
      xaxis: { ...axis, ...layout.xaxis },
      yaxis: { ...axis, ...layout.yaxis },
    };
    if (layout.yaxis2) whole.yaxis2 = { ...axis, ...layout.yaxis2 };
    this.Plotly.react(figure, data, whole, { displayModeBar: false, responsive: true });
    if (id === "raw" || id === "rectified") this.#readPairs(figure);
  }

  #describe() {
    const { evidence, profile } = this.meta;
    for (const id of ["spectrum", "replicates"]) element(id).closest("figure").hidden = !evidence;
    element("agreement").closest("figure").hidden = !evidence?.agreement;
    if (evidence) {
      const { spectrum } = evidence;
      element("agreement-text").textContent =
        "The texts are split into two random halves. Each half is grouped separately, and the two groupings are compared. The score is how well they agree, corrected for the agreement of data without groups. The higher the score of a number of groups, the larger its weight. The estimate is the number up to which four fifths of the weight lie.";
      const other = evidence.agreement
        ? "Another method, shown for comparison. It has no part in the number of groups above. "
        : "";
      const jump = spectrum.fallback < 1
        ? `The last normalized difference above the threshold follows eigenvalue ${this.#jump()}, so this sample suggests ${this.#jump()} groups.`
        : "No normalized difference is above the threshold, so the number of groups is a default, not a finding.";
      element("spectrum-text").textContent = `${other}Eigenvalues of the normalized Laplacian of ${
        number.format(spectrum.sample)
      } texts, and the normalized difference of each from those before it. ${jump}`;
      const [low, high] = spectrum.interval;
      const samples = spectrum.replicates.count.reduce((a, b) => a + b, 0);
      element("replicates-text").textContent = `${other}The estimates from the spectra of ${
        count(samples, "random sample")
      }. 95 % of them are between ${low} and ${high}; the estimate is ${spectrum.k}.`;
    }
    const truth = profile.classes
      ? ` The other curves compare the groups with the ${profile.classes} classes of the ground truth.`
      : "";
    element("profile-text").textContent =
      `At every cut of the merge tree. The Cohesion Ratio usually grows with the number of groups, for any data. The silhouette is computed on ${
        number.format(profile.silhouette_rows)
      } texts.${truth}`;
    element("matrix-text").textContent = `${
      count(this.meta.matrix.positions.length, "text")
    }, drawn at random and sorted by group; lines separate the groups. A bright block on the diagonal is a group of similar texts; a bright block off the diagonal is a pair of similar groups. Z-scoring and rectifying removes what all texts have in common.`;
  }

  #agreement() {
    const { agreement, suggestions, interval } = this.meta.evidence;
    const line = (color, dash = "solid") => ({ color, dash, width: dash === "solid" ? 2.2 : 1.4 });
    const curve = (y, name, style) => ({ x: agreement.k, y, name, mode: "lines", line: style });
    return {
      data: [
        curve(agreement.score, "score", line(COLORS[0])),
        curve(agreement.halves, "two halves of the texts", line(COLORS[1], "dash")),
        curve(agreement.null, "two halves of data without groups", line(COLORS[1], "dot")),
      ],
      layout: {
        xaxis: { title: { text: "number of groups" }, type: "log" },
        yaxis: { title: { text: "agreement" }, range: [Math.min(0, ...agreement.score), 1] },
        shapes: [
          band(...interval),
          ...suggestions.map(({ k }) => mark(k)),
        ],
        // On a logarithmic axis, Plotly takes the logarithm of the position of an annotation.
        annotations: suggestions.map(({ name, k }) => ({ ...note(k, `${name}: ${k}`), x: Math.log10(k) })),
      },
    };
  }

  // The index of the eigenvalue before the last difference above the threshold.
  #jump() {
    const { deltas, threshold, window, k } = this.meta.evidence.spectrum;
    const last = deltas.findLastIndex((delta) => delta > threshold);
    return last < 0 ? k : last + window;
  }

  #spectrum() {
    const { eigenvalues, deltas, threshold, window } = this.meta.evidence.spectrum;
    const jump = this.#jump();
    const index = (length, first) => Array.from({ length }, (_, i) => first + i);
    const line = (color, dash = "solid") => ({ color, dash, width: 1.6 });
    const end = Math.min(eigenvalues.length, Math.max(30, 4 * jump));
    return {
      data: [
        { x: index(eigenvalues.length, 1), y: eigenvalues, name: "eigenvalue λ", mode: "lines", line: line(COLORS[0]) },
        {
          x: index(deltas.length, window + 1),
          y: deltas,
          yaxis: "y2",
          name: "difference δ",
          mode: "lines",
          line: line(COLORS[1], "dot"),
        },
        {
          x: [1, eigenvalues.length],
          y: [threshold, threshold],
          yaxis: "y2",
          name: "threshold",
          mode: "lines",
          line: line(COLORS[1], "dash"),
          hoverinfo: "skip",
        },
      ],
      layout: {
        xaxis: { title: { text: "index of the eigenvalue" }, range: [0, end] },
        yaxis: { title: { text: "eigenvalue" }, rangemode: "tozero" },
        yaxis2: {
          title: { text: "normalized difference" },
          overlaying: "y",
          side: "right",
          showgrid: false,
          rangemode: "tozero",
        },
        shapes: [
          band(Math.max(0, jump - window + 1), jump),
          mark(jump),
        ],
        annotations: [note(jump, `k = ${jump}`)],
      },
    };
  }

  #replicates() {
    const { replicates, k, interval } = this.meta.evidence.spectrum;
    return {
      data: [{ type: "bar", x: replicates.k, y: replicates.count, marker: { color: COLORS[0] }, name: "samples" }],
      layout: {
        xaxis: { title: { text: "estimated number of groups" } },
        yaxis: { title: { text: "samples" } },
        shapes: [
          band(interval[0] - 0.5, interval[1] + 0.5),
          mark(k),
        ],
        annotations: [note(k, `k = ${k}`)],
        bargap: 0.15,
      },
    };
  }

  #profile() {
    const { curves, classes } = this.meta.profile;
    const { k } = this.state;
    const x = Array.from({ length: this.tree.k }, (_, i) => i + 1);
    const data = Object.entries(curves).map(([key, y], i) => {
      const { name, axis, dash } = CURVES[key];
      return { x, y, name, yaxis: axis, mode: "lines", line: { color: COLORS[i], dash, width: 2 } };
    });
    const estimate = this.meta.evidence?.k ?? this.meta.base.k;
    return {
      data,
      layout: {
        xaxis: {
          title: { text: "number of groups" },
          type: "log",
          range: [Math.log10(this.tree.lowest), Math.log10(this.tree.k)],
        },
        yaxis: { title: { text: "silhouette and agreement" } },
        yaxis2: { title: { text: "Cohesion Ratio" }, overlaying: "y", side: "right", showgrid: false },
        shapes: [mark(estimate), mark(k, "solid"), ...(classes ? [mark(classes, "longdash")] : [])],
        annotations: [
          note(Math.log10(k), `shown: ${k}${this.state.edits ? ", edited (not on the curves)" : ""}`),
          ...(estimate === k ? [] : [note(Math.log10(estimate), `estimated: ${estimate}`, 0.9)]),
          ...(classes ? [note(Math.log10(classes), `ground truth: ${classes}`, 0.8)] : []),
        ],
      },
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
      { type: "line", x0: at, x1: at, y0: -0.5, y1: side - 0.5, line: { width: 0.5, color: "#fffa" } },
      { type: "line", y0: at, y1: at, x0: -0.5, x1: side - 0.5, line: { width: 0.5, color: "#fffa" } },
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

function mark(k, dash = "dash") {
  return { type: "line", x0: k, x1: k, y0: 0, y1: 1, yref: "paper", line: { color: "#888", width: 1.5, dash } };
}

function band(x0, x1) {
  return {
    type: "rect",
    x0,
    x1,
    y0: 0,
    y1: 1,
    yref: "paper",
    fillcolor: "#8882",
    line: { width: 0 },
    layer: "below",
  };
}

function note(x, text, y = 1) {
  return {
    x,
    y,
    yref: "paper",
    text,
    showarrow: false,
    xanchor: "left",
    xshift: 4,
    yanchor: "top",
    font: { size: 11 },
  };
}
