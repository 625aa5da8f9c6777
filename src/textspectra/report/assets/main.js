// Starts the page: first the map, then everything else.
import { count, element, loadLibrary, number, unpackArray, unpackJson } from "./data.js";
import { Tree } from "./tree.js";
import { State } from "./state.js";
import { Rows } from "./rows.js";
import { Counts } from "./counts.js";
import { Trends } from "./trends.js";
import { TextMap } from "./map.js";
import { Answer } from "./answer.js";
import { Slider } from "./slider.js";
import { followPointer } from "./hover.js";
import { Groups } from "./groups.js";
import { Why } from "./why.js";
import { Charts } from "./charts.js";
import { TakeAway } from "./takeaway.js";
import { FilterBar } from "./filterbar.js";
import { OverTime } from "./overtime.js";
import { Segments } from "./segments.js";
import { Changed } from "./changed.js";

const SEARCH_AFTER = 120; // milliseconds without a key press after which the search starts

function coordinates(packed) {
  const all = Float32Array.from(packed, (value) => value / 32767.5 - 1);
  return { x: all.subarray(0, all.length / 2), y: all.subarray(all.length / 2) };
}

class Search {
  constructor(report, map) {
    Object.assign(this, report, { map });
    this.input = element("search");
    this.input.value = this.state.query;
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.state.set({ query: this.input.value }), SEARCH_AFTER);
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.input.value = "";
      this.state.set({ query: "" });
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.matches("input")) return;
      event.preventDefault();
      this.input.focus();
    });
    this.state.listen((changed) => (changed.query || (changed.filter && this.state.query)) && this.run());
    if (this.state.query) this.run();
  }

  run() {
    const query = this.state.query.trim().toLowerCase();
    if (this.input !== document.activeElement) this.input.value = this.state.query;
    this.lower ??= this.texts.map((text) => text.toLowerCase());
    let [hits, rows] = [0, 0];
    const matches = query ? new Uint8Array(this.x.length) : null;
    for (let i = 0; matches && i < matches.length; i++) {
      if (!this.counts.texts[i] || !this.lower[i].includes(query)) continue;
      matches[i] = 1;
      hits++;
      rows += this.counts.texts[i];
    }
    const different = rows > hits ? `, ${number.format(hits)} different` : "";
    element("found").textContent = matches ? `${count(rows, "text")} found${different}` : "";
    this.groups.highlight(matches);
    this.map.highlight(matches);
  }
}

// The counts of the nodes over time and by segments.
async function unpackTallies({ time, segments }) {
  const each = (name, Kind) => Promise.all(segments.map((_, i) => unpackArray(`${name}${i}`, Kind)));
  return {
    periods: time && await unpackArray("periods", Uint32Array),
    segments: await each("segment", Uint32Array),
    marks: await each("marks", Uint8Array),
  };
}

async function unpackRows(meta) {
  const kinds = new Set(meta.details.columns.map(({ kind }) => kind));
  const { filters } = meta.details;
  return new Rows(meta, await unpackArray("rows", Uint32Array), {
    days: filters && meta.tally.time && await unpackArray("days", Int32Array),
    codes: filters && meta.tally.segments.length && await unpackArray("codes", Uint8Array),
    cells: kinds.has("shown") && await unpackJson("cells"),
  });
}

async function start() {
  const library = loadLibrary();
  const [meta, packed, all] = await Promise.all([
    unpackJson("meta"),
    unpackArray("points", Uint16Array),
    unpackArray("counts", Uint32Array),
  ]);
  const tree = new Tree(meta);
  const state = new State(tree, meta);
  const counts = new Counts(meta, tree, all);
  state.listen((changed) => changed.filter && counts.follow(state.filter));
  const report = { meta, tree, state, counts, ...coordinates(packed) };
  new Answer(report);
  new Changed(report);
  new Slider(meta, tree, state);
  const map = new TextMap(report, await library);
  await map.draw();
  performance.mark("map");
  await new Promise((resolve) => setTimeout(resolve));
  report.likeness = await unpackArray("likeness", Uint8Array);
  report.similarities = await unpackArray("similarity", Uint16Array);
  report.tallies = await unpackTallies(meta.tally);
  report.trends = new Trends(meta, tree, report.tallies.periods);
  counts.rows = await unpackRows(meta);
  new FilterBar(report);
  if (state.filter.isActive) state.tell({ filter: true });
  const groups = new Groups(report);
  report.groups = groups;
  report.texts = map.texts = await unpackJson("texts");
  groups.addTexts(report.texts);
  followPointer(state);
  new Search(report, map);
  report.rawShades = await unpackArray("raw", Uint8Array);
  report.rectifiedShades = await unpackArray("rectified", Uint8Array);
  new Why(report);
  const overTime = new OverTime(report);
  const charts = new Charts(report, globalThis.Plotly, { "over-time": () => overTime.figure() });
  overTime.redraw = () => charts.redraw(["over-time"]);
  new Segments(report);
  const takeAway = new TakeAway(report, map);
  performance.mark("ready");
  document.documentElement.dataset.ready = "yes";
  // For tests, and for use in the console.
  globalThis.textspectra = { meta, tree, state, counts, map, groups, takeAway, overTime };
}

start().catch((error) => {
  element("headline").textContent = "This report cannot be shown";
  element("range").textContent =
    `${error.message}. The report needs a current version of Firefox, Chrome, Edge or Safari.`;
  throw error;
});
