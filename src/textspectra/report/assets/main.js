// Starts the page: first the map, then everything else.
import { element, loadLibrary, unpackArray, unpackJson } from "./data.js";
import { Tree } from "./tree.js";
import { State } from "./state.js";
import { askBeforeLeaving } from "./unsaved.js";
import { Kept } from "./kept.js";
import { Rows } from "./rows.js";
import { Counts, Tallied } from "./counts.js";
import { Trends } from "./trends.js";
import { TextMap } from "./map.js";
import { Dropping, Slider } from "./slider.js";
import { followPointer } from "./lines.js";
import { Why } from "./why.js";
import { Groups } from "./groups.js";
import { Alike } from "./themes.js";
import { Charts } from "./charts.js";
import { TakeAway } from "./takeaway.js";
import { FilterBar } from "./filterbar.js";
import { OverTime } from "./overtime.js";
import { Segments } from "./segments.js";
import { Changed } from "./changed.js";
import { Answer } from "./answer.js";
import { Measures } from "./measures.js";
import { TextRows } from "./textrows.js";
import { Words } from "./words.js";
import { Search } from "./search.js";
import { Editing } from "./editing.js";
import { Misfits } from "./misfits.js";
import { Outcome } from "./outcome.js";
import { Picked } from "./picked.js";
import { Compare } from "./compare.js";
import { Lasso } from "./lasso.js";
import { Saving } from "./saving.js";

function coordinates(packed) {
  const all = Float32Array.from(packed, (value) => value / 32767.5 - 1);
  return { x: all.subarray(0, all.length / 2), y: all.subarray(all.length / 2) };
}

async function unpackMeasures(report) {
  report.likeness = await unpackArray("likeness", Uint8Array);
  report.similarities = await unpackArray("similarity", Uint16Array);
  report.measures = new Measures(report, {
    vectors: await unpackArray("vectors", Int8Array),
    means: await unpackArray("means", Float32Array),
    between: await unpackArray("between", Uint16Array),
  });
}

// The list of groups, and the actions on it.
async function work(report, map) {
  report.words = new Words(report.texts, report.x.length, report.meta.stop_words);
  report.textRows = new TextRows(report);
  report.editing = new Editing(report);
  report.groups = new Groups(report);
  new Alike(report);
  new Search(report, map);
  report.takeAway = new TakeAway(report, map);
  new Picked(report, map);
  new Compare(report);
  report.misfits = new Misfits(report, await unpackArray("misfits", Uint32Array));
  new Outcome(report);
  report.lasso = new Lasso(report, map);
  new Saving(report);
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
  const places = coordinates(packed);
  const tree = new Tree(meta, { counts: all, ...places });
  const state = new State(tree, meta);
  const isServed = document.querySelector("meta[name=model-version]"); // then edits are saved, and need no other place
  if (!isServed) new Kept(state, meta.about);
  new Dropping(state);
  askBeforeLeaving(state);
  const counts = new Counts(meta, tree, all);
  state.listen((changed) => (changed.filter || changed.k) && counts.follow(state.filter));
  const report = { meta, tree, state, counts, ...places };
  const answer = new Answer(report);
  new Changed(report);
  new Slider(meta, tree, state);
  const map = new TextMap(report, await library);
  await map.draw();
  performance.mark("map");
  await new Promise((resolve) => setTimeout(resolve));
  await unpackMeasures(report);
  answer.addMeasures(report.measures);
  report.tallies = await unpackTallies(meta.tally);
  counts.rows = await unpackRows(meta);
  report.tallied = new Tallied(report);
  report.trends = new Trends(report);
  new FilterBar(report);
  if (state.filter.isActive) state.tell({ filter: true });
  report.texts = map.texts = await unpackJson("texts");
  await work(report, map);
  followPointer(state);
  report.rawShades = await unpackArray("raw", Uint8Array);
  report.rectifiedShades = await unpackArray("rectified", Uint8Array);
  new Why(report);
  const overTime = new OverTime(report);
  const charts = new Charts(report, globalThis.Plotly, { "over-time": (width) => overTime.figure(width) });
  overTime.redraw = () => charts.redraw(["over-time"]);
  new Segments(report);
  performance.mark("ready");
  document.documentElement.dataset.ready = "yes";
  // For tests, and for use in the console.
  const { groups, takeAway, measures, editing, lasso, misfits } = report;
  const parts = { groups, takeAway, overTime, measures, editing, lasso, misfits };
  globalThis.textspectra = { meta, tree, state, counts, map, ...parts };
}

start().catch((error) => {
  element("headline").textContent = "This report cannot be shown";
  element("range").textContent =
    `${error.message}. The report needs a current version of Firefox, Chrome, Edge or Safari.`;
  throw error;
});
