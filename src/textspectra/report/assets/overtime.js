// The panel of groups over time: the shares of the chosen groups with their intervals.
import { element, escaped, make, percent, shorten } from "./data.js";
import { FEWEST_TEXTS } from "./trends.js";

const STRONGEST = 5;
const LARGEST = 3;
const LETTER_OF_TICK = 7; // pixels

export class OverTime {
  constructor({ meta, tree, state, counts, trends }) {
    Object.assign(this, { tree, state, counts, trends, time: meta.tally.time, chosen: null, redraw: () => {} });
    element("time").hidden = !trends.hasPeriods;
    if (element("time").hidden) return;
    element("time-add").addEventListener("change", (event) => {
      this.#choose([...this.nodes(), Number(event.target.value)]);
    });
    element("time-reset").addEventListener("click", () => this.#choose(null));
    state.listen((changed) => (changed.k || changed.selected || changed.names || changed.filter) && this.show());
    this.show();
  }

  #choose(nodes) {
    this.chosen = nodes;
    this.show();
  }

  // The groups that the reader chose; otherwise the open one, or the most significant changes, or the largest.
  nodes() {
    const { k, selected } = this.state;
    if (this.chosen) return [...new Set(this.chosen.map((node) => this.tree.standIn(node, k)))];
    if (selected !== null) return [selected];
    const cut = this.counts.largestFirst(k);
    const changing = this.trends.strongest(cut).slice(0, STRONGEST);
    return changing.length ? changing : cut.slice(0, LARGEST);
  }

  show() {
    const { isFiltered } = this.counts;
    const texts = isFiltered ? "the filtered texts" : "all texts";
    const nodes = this.nodes();
    const others = this.tree.cut(this.state.k).filter((node) => !nodes.includes(node));
    element("time-groups").replaceChildren(...nodes.map((node) => this.#chip(node, nodes)));
    element("time-add").replaceChildren(
      make("option", { value: "", disabled: true, selected: true }, "add a group …"),
      ...others.map((node) => make("option", { value: node }, shorten(this.state.nameOf(node), 60))),
    );
    element("time-add").hidden = others.length === 0;
    element("time-reset").hidden = this.chosen === null;
    const volume = isFiltered ? [] : this.time.volume; // about all texts
    element("time-volume").replaceChildren(...volume.map((line) => make("li", {}, line)));
    const unknown = nodes.filter((node) => !this.trends.tallied.has(node)).length;
    element("time-text").textContent = [
      `Share of ${texts} per ${this.time.every}, with its 95% confidence interval; the bars show ${texts}. `,
      this.trends.drawn.size < this.trends.filled.length
        ? `A ${this.time.every} with fewer than ${FEWEST_TEXTS} texts has no share. `
        : "",
      this.#about(),
      unknown ? " Parts of groups were not counted over time, so they have no line." : "",
    ].join("");
    this.redraw();
  }

  #about() {
    const isChosen = this.chosen || this.state.selected !== null;
    if (this.counts.isFiltered) {
      return `Changes are not tested while there is a filter.${isChosen ? "" : " These are the largest groups."}`;
    }
    if (isChosen) return "";
    const n = this.trends.strongest(this.tree.cut(this.state.k)).length;
    const which = !n
      ? "No group changes significantly; these are the largest."
      : n > STRONGEST
      ? `These are the ${STRONGEST} most significant of ${n} changes.`
      : "These are the groups that change significantly.";
    return `${which} ${this.time.tested}`;
  }

  #chip(node, nodes) {
    const name = this.state.nameOf(node);
    const swatch = make("span", { class: "swatch" });
    swatch.style.setProperty("--color", this.tree.colors[node]);
    const remove = () => this.#choose(nodes.filter((other) => other !== node));
    const attributes = { type: "button", "aria-label": `Remove ${name} from the chart`, onclick: remove };
    return make(
      "button",
      attributes,
      swatch,
      make("span", { dir: "auto" }, shorten(name, 60)),
      make("span", { class: "on-screen" }, " ×"),
    );
  }

  // The data for Plotly: for each group a line, and its interval as an area between two invisible lines.
  figure(width = element("over-time").clientWidth) {
    const nodes = this.nodes().filter((node) => this.trends.tallied.has(node));
    const x = this.time.names;
    element("over-time").setAttribute(
      "aria-label",
      nodes.map((node) => `${this.state.nameOf(node)}: ${this.trends.words(node)}`).join(". "),
    );
    const volume = {
      type: "bar",
      x,
      y: Array.from(this.trends.totals),
      yaxis: "y2",
      marker: { color: "#8886" },
      hovertemplate: "%{y:,} texts in total<extra></extra>",
    };
    const lines = nodes.flatMap((node) => {
      const shares = this.trends.shares(node);
      const [color, of] = [
        this.tree.colors[node],
        (key) => shares.map((one, period) => this.trends.drawn.has(period) ? one[key] : null),
      ];
      const bound = { x, mode: "lines", line: { width: 0 }, hoverinfo: "skip" };
      return [
        { ...bound, y: of("low") },
        { ...bound, y: of("high"), fill: "tonexty", fillcolor: `${color}26` },
        {
          x,
          y: of("share"),
          mode: "lines+markers",
          name: escaped(shorten(this.state.nameOf(node), 40)),
          line: { color, width: 2.2 },
          marker: { color, size: 6 },
          customdata: shares.map((one) =>
            one ? `${percent(one.low)} to ${percent(one.high)}, ${one.texts} of ${one.total} texts` : ""
          ),
          hovertemplate: "%{y:.1%} (%{customdata})",
        },
      ];
    });
    return {
      data: [...lines, volume],
      layout: {
        showlegend: false, // the buttons above the chart name the groups
        xaxis: {
          type: "category",
          nticks: Math.max(2, Math.floor(width / (LETTER_OF_TICK * (x[0].length + 2)))),
          tickangle: 0,
          showgrid: false,
          range: [(this.trends.filled[0] ?? 0) - 0.5, (this.trends.filled.at(-1) ?? x.length - 1) + 0.5],
        },
        yaxis: { tickformat: ".1~%", rangemode: "tozero", title: { text: "share of texts" }, domain: [0.3, 1] },
        yaxis2: { rangemode: "tozero", title: { text: "texts" }, domain: [0, 0.2], nticks: 3, anchor: "x" },
      },
    };
  }
}
