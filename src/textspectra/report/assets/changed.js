// Changes since last time: new groups first, then growing, shrinking and vanished ones.
import { count, element, make, number, quoted, shorten } from "./data.js";
import { modelCommand } from "./takeaway.js";

const FIRST_CHANGES = 6; // groups of each kind shown at first
const TITLES = { new: "New", growing: "Growing", shrinking: "Shrinking", gone: "Gone" };

export class Changed {
  constructor({ meta, tree, state }) {
    Object.assign(this, { changes: meta.changes, tree, state });
    element("changed").hidden = !this.changes;
    if (!this.changes) return;
    element("compared").textContent = meta.compared ? `${meta.compared}, by share of the texts.` : "";
    element("keeping-text").textContent =
      "This page shows only the texts of the new file. To edit the groups of the model, create the page of all its texts and apply what you download there.";
    element("keeping-command").textContent = modelCommand("report", meta.about);
    this.most = Math.max(...this.changes.map(({ shares }) => Math.max(...shares)), Number.EPSILON);
    state.listen((changed) => changed.names && this.show());
    this.show();
  }

  show() {
    const of = (status) => this.changes.filter((one) => one.status === status);
    const parts = Object.keys(TITLES).filter((status) => of(status).length).flatMap((status) => this.#part(status, of));
    const steady = of("steady").length;
    const other = parts.length ? "the other " : "";
    const groups = steady === 1 && parts.length ? "the other group" : `${other}${count(steady, "group")}`;
    const rest = steady ? [make("p", { class: "muted" }, `No significant change in ${groups}.`)] : [];
    const nothing = parts.length ? [] : [make("p", {}, "No group appeared, grew, shrank or disappeared.")];
    element("changes").replaceChildren(...nothing, ...parts, ...rest);
  }

  #part(status, of) {
    const rows = of(status).map((one) => make("li", {}, this.#row(one)));
    const list = (some) => make("ul", { class: `changes ${status}` }, ...some);
    const more = rows.length - FIRST_CHANGES;
    return [
      make("h3", {}, `${TITLES[status]} `, make("span", { class: "muted" }, number.format(rows.length))),
      list(rows.slice(0, FIRST_CHANGES)),
      ...(more > 0
        ? [make("details", {}, make("summary", {}, `${number.format(more)} more`), list(rows.slice(FIRST_CHANGES)))]
        : []),
    ];
  }

  #row({ node, name, figures, shares, text }) {
    const shown = node === null ? name : this.state.nameOf(node);
    const bars = shares.map((share, i) => {
      const bar = make("span", { class: i ? "fill" : "fill before" });
      bar.style.width = `${100 * share / this.most}%`;
      return bar;
    });
    const parts = [
      make("span", { class: "name", dir: "auto" }, shorten(shown, 80)),
      make("span", { class: "figures" }, figures),
      make("span", { class: "bars", "aria-hidden": "true" }, ...bars),
    ];
    if (text) parts.push(quoted(text));
    if (node === null) return make("div", { class: "change" }, ...parts);
    return make("button", { type: "button", class: "change", onclick: () => this.#open(node) }, ...parts);
  }

  #open(node) {
    const isShown = this.tree.cut(this.state.k).includes(node);
    this.state.set(isShown ? { selected: node } : { k: this.tree.base.k, selected: node });
    element("panel").focus({ preventScroll: true });
    element("panel").scrollIntoView({ block: "nearest" });
  }
}
