// Texts that are nearer to the center of another group than to that of their own, and moving them there.
import { count, element, make, number, shorten, sortedBy } from "./data.js";

const MISFITS_SHOWN = 50; // at first, and with each "more"
const SLICE = 12; // milliseconds of work, after which the page can react
const BLOCK = 256; // texts between two looks at the clock

export class Misfits {
  constructor(report) {
    Object.assign(this, report, { run: 0, checked: new Set(), shown: MISFITS_SHOWN });
    element("misfits").addEventListener("click", () => {
      this.shown = MISFITS_SHOWN;
      this.state.set({ work: { kind: "misfits" } });
      element("panel").scrollTop = 0;
      element("work-view").focus({ preventScroll: true }); // the button is hidden now
    });
    this.state.listen((changed) => (changed.work || changed.k || changed.names || changed.filter) && this.show());
  }

  async show() {
    const run = ++this.run; // a search for an earlier state ends
    if (this.state.work?.kind !== "misfits") return;
    this.checked.clear();
    if (!element("work-view").querySelector(".misfits")) this.#draw([], "Comparing each text with all groups …");
    const found = await this.find(() => run === this.run);
    if (found) this.#draw(found, this.#note(found));
  }

  // Texts with their nearer groups, the clearest first; null if it was called off. A text that was moved by hand stays.
  async find(isWanted = () => true) {
    const owners = this.tree.ownersAt(this.state.k);
    const nearest = this.measures.nearestAmong(this.tree.cut(this.state.k));
    const byHand = this.state.edits?.movedByHand ?? new Set();
    const found = [];
    let since = performance.now();
    for (let i = 0; i < owners.length; i++) {
      if (i % BLOCK === 0 && performance.now() - since > SLICE) {
        await new Promise((next) => setTimeout(next));
        if (!isWanted()) return null;
        since = performance.now();
      }
      if (!this.counts.texts[i] || byHand.has(i)) continue;
      const { node, value } = nearest(i, owners[i]);
      const margin = value - this.measures.similarity(owners[i], i);
      if (margin > 0) found.push({ i, own: owners[i], node, value, margin });
    }
    return sortedBy(found, ({ margin }) => -margin);
  }

  #note(found) {
    const all = this.counts.texts.reduce((texts, rows) => texts + (rows > 0), 0);
    if (!found.length) {
      return "No text is nearer to the center of another group. Texts that you moved are not compared.";
    }
    return `${number.format(found.length)} of ${count(all, "different text")} ${
      found.length === 1 ? "is" : "are"
    } nearer to the center of another group, by estimated similarities; the clearest first. Texts that you moved are not listed.`;
  }

  #draw(found, note) {
    const close = () => {
      this.state.set({ work: null });
      element("misfits").focus();
    };
    const listed = found.slice(0, this.shown);
    this.button = make("button", { type: "button", onclick: () => this.#move(listed) });
    this.every = make("input", { type: "checkbox", onchange: () => this.#checkAll(listed) });
    const more = () => {
      this.shown += MISFITS_SHOWN;
      const first = listed.length;
      this.#draw(found, note);
      element("work-view").querySelectorAll(".misfits input")[first].focus();
    };
    const rest = Math.min(MISFITS_SHOWN, found.length - listed.length);
    const choose = make("label", { class: "safe" }, this.every, `All ${number.format(listed.length)} listed`);
    element("work-view").replaceChildren(
      make("button", { type: "button", class: "back", onclick: close }, "← all groups"),
      make("h2", { class: "work-title" }, "Texts that fit badly"),
      make("p", { class: "muted", role: "status" }, note),
      ...(listed.length ? [make("p", { class: "edit-actions" }, choose, this.button)] : []),
      make("ul", { class: "texts misfits" }, ...listed.map((one) => this.#row(one))),
      rest > 0 ? make("button", { type: "button", class: "back", onclick: more }, `${rest} more`) : "",
    );
    this.#showChecked();
  }

  #row({ i, own, node, value }) {
    const text = shorten(this.texts[i], 60);
    const box = make("input", { type: "checkbox", "aria-label": `Select ${text}`, "data-text": i });
    box.checked = this.checked.has(i);
    box.addEventListener("change", () => {
      if (!this.checked.delete(i)) this.checked.add(i);
      this.#showChecked();
    });
    const group = (one) => [this.groups.swatch(one), ` ${shorten(this.state.nameOf(one), 40)}`];
    const way = make("span", { class: "of-group", dir: "auto" }, ...group(own), " → ", ...group(node));
    way.append(` (≈ ${value.toFixed(2)})`);
    return make("li", {}, make("label", { class: "tick" }, box), this.textRows.row(own, i, [way]));
  }

  #checkAll(listed) {
    for (const { i } of listed) this.every.checked ? this.checked.add(i) : this.checked.delete(i);
    this.#showChecked();
  }

  #showChecked() {
    const n = this.checked.size;
    const boxes = [...element("work-view").querySelectorAll(".misfits input")];
    for (const box of boxes) box.checked = this.checked.has(Number(box.dataset.text));
    this.every.checked = n > 0 && n === boxes.length;
    this.every.indeterminate = n > 0 && n < boxes.length;
    this.button.disabled = n === 0;
    this.button.textContent = n === 0
      ? "Move to the nearer group"
      : `Move ${count(n, "text")} to ${n === 1 ? "the nearer group" : "the nearer groups"}`;
  }

  #move(listed) {
    const goals = new Map(listed.filter(({ i }) => this.checked.has(i)).map(({ i, node }) => [i, node]));
    const moved = this.state.grouping().moveEach(goals);
    this.state.edit(`moving ${count(goals.size, "text")}`, moved, [...goals.keys()]);
    element("work-view").focus({ preventScroll: true }); // the button is disabled now
  }
}
