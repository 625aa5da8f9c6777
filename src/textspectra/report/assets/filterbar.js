// The filter controls: a list for each segment, the first and the last period, and a button to clear all.
import { count, element, make, number, shorten } from "./data.js";
import { Filter } from "./filter.js";

export class FilterBar {
  constructor({ meta, state, counts, tallies }) {
    Object.assign(this, { meta, state, counts, fields: state.fields });
    const { time, segments } = this.fields;
    this.selects = segments.map(({ name, values }, i) => {
      const texts = tallies.segments[i].subarray(-values.length); // the last node has all texts
      const options = values.map((value, code) => `${shorten(value, 40)} (${number.format(texts[code])})`);
      return this.#select(name, "all", options, (code) => state.set({ filter: state.filter.withValue(i, code) }));
    });
    if (time) {
      this.from = this.#select("from", "the beginning", time.names, (period) => {
        state.set({ filter: state.filter.startingAt(period) });
      });
      this.to = this.#select("to", "the end", time.names, (period) => {
        state.set({ filter: state.filter.endingAt(period) });
      });
    }
    const clear = () => state.set({ filter: Filter.none(this.fields) });
    this.clear = make("button", { type: "button", id: "clear-filter", onclick: clear }, "Clear filters");
    const parts = [...this.selects, this.from, this.to].filter(Boolean).map((one) => one.label);
    element("filters").replaceChildren(...parts, this.clear, make("output", { id: "filtered", class: "muted" }));
    element("filters").hidden = !parts.length;
    state.listen((changed) => (changed.filter || changed.k) && this.show());
    this.show();
  }

  #select(name, everything, options, choose) {
    const select = make(
      "select",
      { onchange: () => choose(select.value === "" ? null : Number(select.value)) },
      make("option", { value: "" }, everything),
      ...options.map((option, i) => make("option", { value: i }, option)),
    );
    select.label = make("label", {}, make("span", { dir: "auto" }, shorten(name, 40)), select);
    return select;
  }

  show() {
    const { filter, k } = this.state;
    const set = (select, value) => select && (select.value = value ?? "");
    this.selects.forEach((select, i) => set(select, filter.values[i]));
    set(this.from, filter.from);
    set(this.to, filter.to);
    this.clear.hidden = !filter.isActive;
    const { total, sampled } = this.counts;
    const groups = this.counts.largestFirst(k).length;
    const all = number.format(this.meta.about.grouped);
    element("filtered").textContent = filter.isActive
      ? `${sampled ? "about " : ""}${number.format(total)} of ${all} texts, in ${count(groups, "group")}`
      : "";
  }
}
