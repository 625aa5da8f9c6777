// The number of groups: slider, buttons and suggestions, and a question before another number drops edits.
import { count, element, make } from "./data.js";

const SHARE = 1000; // positions of the slider
const APART = 30; // minimum pixels between two numbers below it

export class Slider {
  constructor(meta, tree, state) {
    this.meta = meta;
    this.tree = tree;
    this.state = state;
    const [slider, k] = [element("slider"), element("k")];
    k.min = tree.lowest;
    k.max = tree.k;
    slider.addEventListener("input", () => state.set({ k: this.#kAt(slider.value / SHARE) }));
    slider.addEventListener("keydown", (event) => this.#onKey(event));
    k.addEventListener("change", () => {
      if (Number(k.value)) state.set({ k: Number(k.value) });
      this.show();
    });
    element("dropping").addEventListener("close", () => this.show()); // a number that was not taken
    element("fewer").addEventListener("click", () => state.set({ k: state.k - 1 }));
    element("more").addEventListener("click", () => state.set({ k: state.k + 1 }));
    slider.disabled = k.disabled = tree.k === tree.lowest;
    this.#suggest();
    new ResizeObserver(() => this.#ticks()).observe(element("ticks"));
    state.listen((changed) => changed.k && this.show());
    this.show();
  }

  // The scale is logarithmic: one more group matters most if there are few.
  #shareOf(k) {
    const { lowest, k: highest } = this.tree;
    return highest === lowest ? 0 : Math.log(k / lowest) / Math.log(highest / lowest);
  }

  #kAt(share) {
    const { lowest, k: highest } = this.tree;
    return Math.round(lowest * (highest / lowest) ** share);
  }

  #onKey(event) {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (!step) return;
    event.preventDefault();
    this.state.set({ k: this.state.k + step });
  }

  #at(k) {
    return `calc(var(--thumb) / 2 + (100% - var(--thumb)) * ${this.#shareOf(k)})`;
  }

  // The suggested numbers and the number of the result, as marks on the slider and as buttons.
  #suggest() {
    const { evidence, base } = this.meta;
    const suggestions = (evidence?.suggestions ?? []).filter(({ k }) => k >= this.tree.lowest && k <= this.tree.k);
    const isSuggested = suggestions.some(({ k }) => k === base.k);
    for (const { name, k } of isSuggested ? suggestions : [...suggestions, { name: "given", k: base.k }]) {
      const mark = make("span", { title: `${name}: ${k}` });
      mark.style.left = this.#at(k);
      element("marks").append(mark);
      const choose = () => this.state.set({ k });
      element("suggestions").append(
        make("button", { type: "button", "data-k": k, onclick: choose }, `${name} `, make("b", {}, String(k))),
      );
    }
  }

  // The ends, then round numbers, as far as there is room between them.
  #ticks() {
    const { lowest, k: highest } = this.tree;
    const width = element("ticks").clientWidth;
    const kept = [];
    for (const k of [highest, lowest, 10, 100, 1000, 20, 50, 5, 200, 500]) {
      const at = this.#shareOf(k) * width;
      if (k < lowest || k > highest || kept.some((other) => Math.abs(other.at - at) < APART)) continue;
      const tick = make("span", {}, String(k));
      tick.style.left = this.#at(k);
      kept.push({ at, tick });
    }
    element("ticks").replaceChildren(...kept.map(({ tick }) => tick));
  }

  show() {
    const { k } = this.state;
    const slider = element("slider");
    slider.value = SHARE * this.#shareOf(k);
    slider.setAttribute("aria-valuetext", count(k, "group"));
    element("k").value = k;
    element("fewer").disabled = k <= this.tree.lowest;
    element("more").disabled = k >= this.tree.k;
    for (const button of element("suggestions").children) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.k) === k && !this.state.edits));
    }
  }
}

// Asks before another number of groups drops the edits.
export class Dropping {
  constructor(state) {
    this.dialog = element("dropping");
    this.drop = null; // what happens if the reader agrees
    // A frame of a notebook allows no forms, which would close the dialog on their own.
    for (const button of this.dialog.querySelectorAll("button")) {
      button.addEventListener("click", () => this.dialog.close(button.value));
    }
    this.dialog.addEventListener("close", () => this.dialog.returnValue === "drop" && this.drop());
    state.askFirst = (drop) => this.#ask(drop);
  }

  // A slider that is being dragged asks again and again; the first question counts.
  #ask(drop) {
    if (this.dialog.open) return;
    this.drop = drop;
    this.dialog.returnValue = "keep"; // also with the Escape key
    this.dialog.showModal();
    // After the mouse was pressed on the slider, the browser moves the focus out of the dialog.
    setTimeout(() => this.dialog.matches(":focus-within") || this.dialog.querySelector("button").focus());
  }
}
