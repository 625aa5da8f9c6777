// Brings the page to life: first the map, then everything that can wait for it.
import { count, element, loadLibrary, make, number, unpackArray, unpackJson } from "./data.js";
import { Tree } from "./tree.js";
import { State } from "./state.js";
import { TextMap } from "./map.js";
import { Slider } from "./slider.js";
import { Groups } from "./groups.js";
import { Charts } from "./charts.js";
import { TakeAway } from "./takeaway.js";

const SEARCH_AFTER = 120; // milliseconds of rest after which a search starts

function answer({ about, base, profile, evidence }) {
  const grouped = about.grouped === about.texts
    ? number.format(about.texts)
    : `${number.format(about.grouped)} of ${number.format(about.texts)}`;
  const texts = `${grouped} ${about.texts === 1 ? "text" : "texts"}`;
  element("headline").replaceChildren(make("b", {}, count(base.k, "group")), ` in ${texts}`);
  document.title = `${count(base.k, "group")} in ${texts} · textspectra`;
  element("range").textContent = evidence
    ? plausible(evidence, base.k)
    : "The number of groups is the one that was asked for.";
  element("worth").textContent = worth(profile.curves.cohesion[base.k - 1], about.standard_error, base.k);
  element("notes").replaceChildren(...notes(about).map((note) => make("li", {}, note)));
  const { command, ...recipe } = about.recipe;
  const facts = { model: about.model, algorithm: { kmeans: "K-Means", hac: "Ward (HAC)" }[about.algorithm], ...recipe };
  element("facts").replaceChildren(
    ...Object.entries(facts).map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))
    ),
  );
  element("command").textContent = command ?? "not recorded";
  element("colophon").textContent =
    `Made by textspectra ${about.version}. This page works without a network and sends nothing.`;
}

function plausible({ interval: [low, high], method, confidence, spectrum: { fallback, rows, sample } }, k) {
  if (method === "reproducible") {
    if (k === 1) return "There is no structure here: the texts lie like one cloud, with no groups to tell apart.";
    const trust = confidence < 0.25 ? "hardly agree" : confidence < 0.55 ? "agree in part" : "agree well";
    return `Plausible range ${low} to ${high} (95 %). Two halves of the texts ${trust} on these groups: score ${
      confidence.toFixed(2)
    } of 1.`;
  }
  if (fallback > 0.5 && k > 1) {
    return "The spectrum shows no clear number of groups; the number is a default, not a finding.";
  }
  const source = sample === rows
    ? `all ${number.format(rows)} texts`
    : `random samples of ${number.format(sample)} texts`;
  return `Plausible range ${low} to ${high}: 95 % of what the spectra of ${source} suggest.`;
}

function worth(ratio, error, k) {
  if (ratio === null) return "No two of the texts are alike, so there is no Cohesion Ratio.";
  if (k === 1) return "With one group there is nothing to compare: its Cohesion Ratio is 1.";
  const value = `Cohesion Ratio ${ratio.toFixed(2)}${error > 0.005 ? ` ± ${(2 * error).toFixed(2)}` : ""}`;
  if (ratio < 1.1) {
    return `${value}: texts of one group are hardly more alike than any two texts here; do not lean on these groups.`;
  }
  const strength = ratio < 1.5
    ? "The groups are loose"
    : ratio < 2.5
    ? "The groups hold together"
    : "The groups hold together well";
  return `${value}: two texts of one group are ${
    ratio.toFixed(1)
  } times as alike as any two texts of this data. ${strength}.`;
}

function notes({ blank, unknown, shown, distinct, cut_at }) {
  return [
    blank && `${count(blank, "blank text")} without a group`,
    unknown && `${count(unknown, "text")} without a word that the model knows: no group either`,
    shown < distinct &&
    `The map and the lists show a random sample of ${number.format(shown)} of ${
      number.format(distinct)
    } different texts; sizes count all.`,
    cut_at !== null && `Texts are cut after ${number.format(cut_at)} characters here.`,
  ].filter(Boolean);
}

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
    this.state.listen((changed) => changed.query && this.run());
    if (this.state.query) this.run();
  }

  run() {
    const query = this.state.query.trim().toLowerCase();
    if (this.input !== document.activeElement) this.input.value = this.state.query;
    this.lower ??= this.texts.map((text) => text.toLowerCase());
    let [hits, rows] = [0, 0];
    const matches = query ? new Uint8Array(this.x.length) : null;
    for (let i = 0; matches && i < matches.length; i++) {
      if (!this.lower[i].includes(query)) continue;
      matches[i] = 1;
      hits++;
      rows += this.counts[i];
    }
    const different = rows > hits ? `, ${number.format(hits)} different` : "";
    element("found").textContent = matches ? `${count(rows, "text")} found${different}` : "";
    this.groups.highlight(matches);
    this.map.highlight(matches);
  }
}

async function start() {
  const library = loadLibrary();
  const [meta, packed, counts] = await Promise.all([
    unpackJson("meta"),
    unpackArray("points", Uint16Array),
    unpackArray("counts", Uint32Array),
  ]);
  answer(meta);
  const tree = new Tree(meta);
  const state = new State(tree);
  const report = { meta, tree, state, counts, ...coordinates(packed) };
  new Slider(meta, tree, state);
  element("map-note").textContent = `${
    count(report.x.length, "different text")
  }. Near points are alike; far distances mean little.`;
  const map = new TextMap(report, await library);
  await map.draw();
  performance.mark("map");
  await new Promise((resolve) => setTimeout(resolve));
  report.likeness = await unpackArray("likeness", Uint8Array);
  report.similarities = await unpackArray("similarity", Uint16Array);
  const groups = new Groups(report);
  report.groups = groups;
  report.texts = map.texts = await unpackJson("texts");
  groups.addTexts(report.texts);
  new Search(report, map);
  report.rawShades = await unpackArray("raw", Uint8Array);
  report.rectifiedShades = await unpackArray("rectified", Uint8Array);
  new Charts(report, globalThis.Plotly);
  report.rowTable = await unpackArray("rows", Uint32Array);
  const takeAway = new TakeAway(report, map);
  performance.mark("ready");
  document.documentElement.dataset.ready = "yes";
  // For tests and for whoever opens the console.
  globalThis.textspectra = { meta, tree, state, map, groups, takeAway };
}

start().catch((error) => {
  element("headline").textContent = "This report cannot be shown";
  element("range").textContent =
    `${error.message}. A current version of Firefox, Chrome, Edge or Safari is needed, with WebGL.`;
  throw error;
});
