// The search: matching texts on the map and in the list.
import { count, element, make, number } from "./data.js";
import { Query } from "./query.js";

const SEARCH_AFTER = 120; // milliseconds without a key press after which the search starts

export class Search {
  constructor(report, map) {
    Object.assign(this, report, { map });
    this.input = element("search");
    this.input.value = this.state.query;
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.state.set({ query: this.input.value, work: null }), SEARCH_AFTER);
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.input.value = "";
      this.state.set({ query: "" });
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.matches("input, select")) return;
      event.preventDefault();
      this.input.focus();
    });
    this.state.listen((changed) => (changed.query || (changed.filter && this.state.query)) && this.run());
    if (this.state.query) this.run();
  }

  run() {
    const query = new Query(this.state.query);
    if (this.input !== document.activeElement) this.input.value = this.state.query;
    this.lower ??= this.texts.map((text) => text.toLowerCase());
    const { texts } = this.counts;
    let [hits, rows] = [0, 0];
    const matches = query.isEmpty ? null : new Uint8Array(this.x.length);
    for (let i = 0; matches && i < matches.length; i++) {
      if (!texts[i] || !query.matches(this.lower[i])) continue;
      matches[i] = 1;
      hits++;
      rows += texts[i];
    }
    this.#tell(matches, hits, rows);
    this.groups.highlight(matches, matches ? query : null);
    this.map.highlight(matches);
  }

  #tell(matches, hits, rows) {
    const different = rows > hits ? `, ${number.format(hits)} different` : "";
    const pick = () => {
      const positions = Array.from(matches.keys()).filter((i) => matches[i]);
      this.state.set({ work: { kind: "picked", title: `Texts matching ${this.state.query.trim()}`, positions } });
    };
    element("found").replaceChildren(
      ...(matches ? [`${count(rows, "text")} found${different} `] : []),
      ...(hits ? [make("button", { type: "button", class: "link", onclick: pick }, "select them")] : []),
    );
  }
}
