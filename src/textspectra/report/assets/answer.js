// The answer at the top of the page. It is about the groups that are shown, whatever the slider and the edits made them.
import { count, element, make, number } from "./data.js";

export class Answer {
  constructor({ meta, state }) {
    Object.assign(this, { meta, state, measures: null });
    const { about, details } = meta;
    element("notes").replaceChildren(...notes(about, details).map((note) => make("li", {}, note)));
    const { command, model_reason, ...recipe } = about.recipe;
    const model = model_reason ? `${about.model}, ${model_reason}` : about.model;
    const facts = { model, algorithm: { kmeans: "K-Means", hac: "Ward (HAC)" }[about.algorithm], ...recipe };
    element("facts").replaceChildren(
      ...Object.entries(facts).map(([name, value]) =>
        make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))
      ),
    );
    element("command").textContent = command ?? "not recorded";
    element("colophon").textContent =
      `Made by textspectra ${about.version}. This page needs no network and sends nothing.`;
    state.listen((changed) => changed.k && this.show());
    this.show();
  }

  show() {
    const { about, answers } = this.meta;
    const { k, edits } = this.state;
    const grouped = about.grouped === about.texts
      ? number.format(about.texts)
      : `${number.format(about.grouped)} of ${number.format(about.texts)}`;
    const texts = `${grouped} ${about.texts === 1 ? "text" : "texts"}`;
    const groups = count(k, "group");
    element("headline").replaceChildren(make("b", {}, groups), ` in ${texts}`);
    document.title = `${groups} in ${texts} · textspectra`;
    element("range").textContent = answers.range[k - 1] ?? "";
    element("worth").textContent = edits ? this.#edited() : answers.worth[k - 1];
  }

  #edited() {
    const ratio = this.measures?.ratio(this.state.edits.nodes) ?? null;
    const known = ratio === null
      ? "The Cohesion Ratio is not known"
      : `Cohesion Ratio ${ratio.toFixed(2)}: two texts of one group are ${
        ratio.toFixed(1)
      } times as alike as any two texts. The silhouette is not known`;
    return `The groups were edited by hand. ${known} until the edits are applied to the model.`;
  }

  // They are unpacked after the map is drawn.
  addMeasures(measures) {
    this.measures = measures;
    this.show();
  }
}

function notes({ notes: given, blank, unknown, shown, distinct, cut_at }, details) {
  return [
    ...given,
    blank && `${count(blank, "blank text")} without a group`,
    unknown && `${count(unknown, "text")} without a group, because the model knows none of their words`,
    shown < distinct &&
    `The map and the lists show a random sample of ${number.format(shown)} of ${
      number.format(distinct)
    } different texts; the sizes of groups count all texts.`,
    cut_at !== null && `Texts are shown up to ${number.format(cut_at)} characters.`,
    details.cut_at !== null && `Values of the shown columns are cut to ${number.format(details.cut_at)} characters.`,
  ].filter(Boolean);
}
