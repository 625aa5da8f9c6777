// A line of the list for each group: color, name, size, share and cohesion. Its details open below it.
import { count, element, make, number, percent, quoted, shorten, whenPrinting } from "./data.js";

const TYPICAL = 2; // texts in the details
const KEYWORDS = 7;
const KEYWORDS_ON_PAPER = 4;

export class Lines {
  constructor(report, groups) {
    const { meta, tree, state, counts, measures, trends, texts, editing } = report;
    Object.assign(this, { meta, tree, state, counts, measures, trends, texts, editing, groups });
    this.all = false; // whether all lines are open, except some
    this.exceptions = new Set();
    this.items = new Map();
    element("open-all").addEventListener("click", () => this.#openAll());
    whenPrinting((isPrinting) => {
      this.printing = isPrinting; // on paper, all lines have their keywords, and no theme is folded
      for (const [node, item] of this.items) {
        item.querySelector(".line-details")?.remove();
        this.#fill(node, item);
      }
      if (groups.folded.size) groups.show();
    });
  }

  isOpen(node) {
    return this.printing || this.all !== this.exceptions.has(node);
  }

  open(node) {
    if (!this.isOpen(node)) this.#toggle(node);
  }

  #toggle(node) {
    if (!this.exceptions.delete(node)) this.exceptions.add(node);
    this.#fill(node, this.item(node));
  }

  #openAll() {
    this.all = !this.all;
    this.exceptions.clear();
    for (const [node, item] of this.items) this.#fill(node, item);
    this.show();
  }

  show() {
    element("open-all").hidden = !element("list").querySelector(".card");
    element("open-all").textContent = this.all ? "Close all" : "Open all";
  }

  clear() {
    this.items.clear();
  }

  item(node) {
    if (!this.items.has(node)) this.items.set(node, this.#newItem(node));
    return this.items.get(node);
  }

  #newItem(node) {
    const found = this.groups.found?.get(node) ?? null;
    const name = this.state.nameOf(node);
    const toggle = make("button", {
      type: "button",
      class: "toggle",
      "aria-label": `Details of ${shorten(name, 60)}`,
      onclick: () => this.#toggle(node),
    });
    const item = make("li", { class: found && !found.rows ? "without-hits" : "" });
    item.append(this.editing.tick(node), toggle, this.#card(node, name, found));
    if (found?.rows) item.append(this.#hits(node, found));
    this.#fill(node, item);
    return item;
  }

  // The line itself; a click on it opens the whole group.
  #card(node, name, found) {
    const size = this.counts.nodes[node];
    const figures = make("span", { class: "figures" }, make("b", {}, number.format(size)));
    figures.append(make("span", { class: "share" }, percent(size / Math.max(1, this.counts.total))));
    return make(
      "button",
      { type: "button", class: "card", "data-node": node, onclick: () => this.groups.open(node) },
      this.groups.swatch(node),
      make("span", { class: "name", dir: "auto", title: name }, name),
      this.#mixed(node),
      this.trends.arrow(node),
      found ? make("span", { class: "hits" }, `${number.format(found.rows)} found`) : "",
      figures,
      this.bar(node),
    );
  }

  // The details are made when they are opened.
  #fill(node, item) {
    const open = this.isOpen(node);
    item.querySelector(".toggle").setAttribute("aria-expanded", String(open));
    const details = item.querySelector(".line-details");
    if (!open) details?.remove();
    else if (!details) item.querySelector(".card").after(this.#details(node));
  }

  #details(node) {
    const button = (words, act) => make("button", { type: "button", onclick: act }, words);
    const rename = () => {
      this.groups.open(node);
      element("group-view").querySelector(".rename input").focus();
    };
    const keywords = this.groups.keywords(node).slice(0, this.printing ? KEYWORDS_ON_PAPER : KEYWORDS);
    return make(
      "div",
      { class: "line-details" },
      this.trends.line(node),
      make("p", { class: "keywords", dir: "auto" }, keywords.join(" · ")),
      ...this.groups.typical(node).slice(0, TYPICAL).map((i) => this.#example(i)),
      make(
        "p",
        { class: "edit-actions", role: "group", "aria-label": `Actions on ${shorten(this.state.nameOf(node), 60)}` },
        button(`Show ${count(this.counts.nodes[node], "text")}`, () => this.groups.open(node)),
        button("Rename", rename),
        ...(this.editing.canSplit(node) ? [button("Split in two", () => this.editing.split(node))] : []),
      ),
    );
  }

  // A text with the number of its rows, if that is known and above 1.
  #example(i) {
    const [text, n] = [quoted(shorten(this.texts[i], 110)), this.counts.texts[i]];
    if (n > 1 && !this.counts.sampled) text.dataset.times = `${number.format(n)} × `;
    return text;
  }

  #hits(node, { texts, best }) {
    const more = texts - best.length;
    const rest = () =>
      make("button", { type: "button", class: "link", onclick: () => this.groups.open(node) }, ` ${more} more`);
    return make("div", { class: "hit-texts" }, this.groups.textRows.list(node, best), more > 0 ? rest() : "");
  }

  // The mark of a group without a common theme.
  #mixed(node) {
    const title = "The texts of this group have no common theme";
    return this.tree.nodes.mixed[node] ? make("span", { class: "mixed", title }, "mixed") : "";
  }

  // A bar for the cohesion; it is full at twice the Cohesion Ratio of the whole clustering.
  bar(node) {
    const value = this.measures.cohesion(node);
    if (value === null) return make("span", { class: "bar" });
    const ratio = this.meta.profile.curves.cohesion[this.state.k - 1] ?? 1;
    const fill = make("span", { class: value < this.meta.about.loose ? "fill loose" : "fill" });
    fill.style.width = `${Math.max(2, Math.min(100, 50 * value / Math.max(ratio, 1)))}%`;
    const title = `cohesion ${value.toFixed(2)}: two texts of this group are ${
      value.toFixed(2)
    } times as similar as any two texts`;
    return make(
      "span",
      { class: "bar", title },
      make("span", { class: "what" }, "cohesion"),
      make("span", { class: "rail" }, fill),
      make("span", { class: "value" }, value.toFixed(2)),
    );
  }
}

// Pointing at a card of the list makes its group stand out on the map, and pointing at the map marks the card.
export function followPointer(state) {
  const list = element("list");
  const nodeOf = (target) => Number(target.closest("[data-node]")?.dataset.node ?? NaN);
  const point = ({ target }) => Number.isNaN(nodeOf(target)) || state.hover(nodeOf(target));
  // A finger does not hover: it opens the group.
  list.addEventListener("pointerover", (event) => event.pointerType === "mouse" && point(event));
  list.addEventListener("focusin", (event) => event.target.matches(":focus-visible") && point(event));
  for (const event of ["pointerleave", "focusout", "click"]) list.addEventListener(event, () => state.hover(null));
  state.onHover((node) => {
    list.querySelector(".pointed")?.classList.remove("pointed");
    list.querySelector(`[data-node="${node}"]`)?.classList.add("pointed");
  });
}
