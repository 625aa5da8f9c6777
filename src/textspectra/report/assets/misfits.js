// Texts that are nearer to the center of another group than to that of their own, and moving them there. The package
// compares them, by exact cosines: when the page is made and, unless it shows a sample or there is no report beside the
// model, at each save.
import { count, element, make, number, shorten, sortedBy } from "./data.js";

const MISFITS_SHOWN = 50; // at first, and with each "more"

export class Misfits {
  constructor(report, table) {
    Object.assign(this, report, { checked: new Set(), shown: MISFITS_SHOWN });
    this.take(table, this.tree.base.nodes, "when this page was made");
    element("misfits").addEventListener("click", () => {
      this.shown = MISFITS_SHOWN;
      this.state.set({ work: { kind: "misfits" } });
      element("panel").scrollTop = 0;
      element("work-view").focus({ preventScroll: true }); // the button is hidden now
    });
    this.state.listen((changed) => (changed.work || changed.k || changed.names || changed.filter) && this.show());
  }

  // A table of the package has four numbers for each text: the gap to its row in the data, the places of its group and of
  // the nearer one among nodes, and how much nearer it is. Of a sample, the table may have other texts than this page.
  take(table, nodes, when) {
    if (this.counts.sampled && this.all) return;
    const n = table.length / 4;
    const { numbers, positions } = this.counts.rows;
    const all = [];
    for (let entry = 0, row = 0, at = 0; entry < n; entry++) {
      row += table[entry];
      while (numbers[at] < row) at++;
      const [own, nearer, margin] = [1, 2, 3].map((column) => table[column * n + entry]);
      if (numbers[at] === row) {
        all.push({ i: positions[at], own: nodes[own], node: nodes[nearer], margin: margin / 1e4 });
      }
    }
    Object.assign(this, { all: sortedBy(all, ({ margin }) => -margin), nodes, then: this.tree.owners(nodes), when });
    this.show();
  }

  // The group of now for each compared one that has the same texts, except those that were moved by hand.
  #continued(owners, byHand) {
    const [now, before] = [new Map(), new Map()];
    const put = (map, one, other) => map.set(one, map.has(one) && map.get(one) !== other ? null : other);
    for (let i = 0; i < owners.length; i++) {
      if (byHand.has(i)) continue;
      put(now, this.then[i], owners[i]);
      put(before, owners[i], this.then[i]);
    }
    return new Map([...now].filter(([one, other]) => other !== null && before.get(other) === one));
  }

  show() {
    if (this.state.work?.kind !== "misfits") return;
    this.checked.clear();
    const found = this.find();
    this.#draw(found, this.#note(found));
  }

  // Texts with their nearer groups, the clearest first. A text that was moved by hand stays.
  find() {
    const { state, tree, counts } = this;
    const byHand = state.edits?.movedByHand ?? new Set();
    const owners = tree.ownersAt(state.k);
    const now = this.#continued(owners, byHand);
    const groups = new Set(now.values());
    this.compared = { groups, texts: counts.texts.reduce((n, rows, i) => n + (rows > 0 && groups.has(owners[i])), 0) };
    return this.all.flatMap(({ i, own, node, margin }) => {
      const isListed = counts.texts[i] && !byHand.has(i) && owners[i] === now.get(own) && now.has(node);
      return isListed ? [{ i, own: owners[i], node: now.get(node), margin }] : [];
    });
  }

  #note(found) {
    const { groups, texts } = this.compared;
    const n = found.length;
    const which = n ? `${number.format(n)} of ${count(texts, "different text")}` : "No text";
    const said = `${which} ${n > 1 ? "are" : "is"} nearer to the center of another group${
      this.nodes.some((node) => this.tree.nodes.mixed[node]) ? " that is not mixed" : ""
    }: the cosine ${n ? "is" : "would be"} higher by 0.01 or more. Texts that you moved are not listed.`;
    const all = this.tree.cut(this.state.k);
    if (all.every((node) => this.nodes.includes(node))) return said;
    const without = groups.size < all.length ? `, without ${count(all.length - groups.size, "newer group")}` : "";
    return `${said} Groups are compared as they were ${this.when}${without}.`;
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

  #row({ i, own, node, margin }) {
    const text = shorten(this.texts[i], 60);
    const box = make("input", { type: "checkbox", "aria-label": `Select ${text}`, "data-text": i });
    box.checked = this.checked.has(i);
    box.addEventListener("change", () => {
      if (!this.checked.delete(i)) this.checked.add(i);
      this.#showChecked();
    });
    const group = (one) => [this.groups.swatch(one), ` ${shorten(this.state.nameOf(one), 40)}`];
    const way = make("span", { class: "of-group", dir: "auto" }, ...group(own), " → ", ...group(node));
    way.append(` (${margin.toFixed(2)} nearer)`);
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
