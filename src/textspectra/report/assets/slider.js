// The number of groups: slider, buttons, suggestions, and the metrics at this number.
import { count, element, make } from "./data.js";

const SHARE = 1000; // positions of the slider

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
      state.set({ k: Number(k.value) || state.k });
      this.show();
    });
    element("fewer").addEventListener("click", () => state.set({ k: state.k - 1 }));
    element("more").addEventListener("click", () => state.set({ k: state.k + 1 }));
    if (tree.k === tree.lowest) [slider, k, element("fewer"), element("more")].forEach((one) => one.disabled = true);
    this.#marks();
    state.listen((changed) => changed.k && this.show());
    this.show();
  }

  // The scale is logarithmic: one group more matters most where there are few.
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

  #marks() {
    const clamp = (k) => Math.min(this.tree.k, Math.max(this.tree.lowest, k));
    const at = (k) => `calc(var(--thumb) / 2 + (100% - var(--thumb)) * ${this.#shareOf(clamp(k))})`;
    const evidence = this.meta.evidence;
    if (evidence) {
      const [low, high] = evidence.interval;
      Object.assign(element("interval").style, { left: at(low), right: `calc(100% - ${at(high)})` });
      element("interval").title = `95 % interval of the estimate: ${low} to ${high}`;
    }
    element("interval").hidden = !evidence;
    element("estimate").style.left = at(evidence?.k ?? this.meta.base.k);
    element("estimate").title = evidence ? `estimated: ${evidence.k}` : `given: ${this.meta.base.k}`;
    const ticks = [2, 5, 10, 20, 50, 100, 200, 500, 1000].filter((k) => k >= this.tree.lowest && k < 0.9 * this.tree.k);
    for (const k of [...ticks, this.tree.k]) {
      const tick = make("span", {}, String(k));
      tick.style.left = at(k);
      element("ticks").append(tick);
    }
    const suggestions = evidence?.suggestions ?? [{ name: "given", k: this.meta.base.k }];
    for (const { name, k } of suggestions) {
      const choose = () => this.state.set({ k });
      element("suggestions").append(
        make("button", { type: "button", "data-k": clamp(k), onclick: choose }, `${name} `, make("b", {}, String(k))),
      );
    }
  }

  show() {
    const { k } = this.state;
    const slider = element("slider");
    slider.value = SHARE * this.#shareOf(k);
    slider.setAttribute("aria-valuetext", count(k, "group"));
    element("k").value = k;
    for (const button of element("suggestions").children) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.k) === k && !this.state.edits));
    }
    element("metrics").replaceChildren(...this.#metrics(k));
  }

  // They are unpacked after the map is drawn.
  addMeasures(measures) {
    this.measures = measures;
    this.show();
  }

  #metrics(k) {
    if (this.state.edits) return this.#edited();
    const { cohesion, silhouette, ari } = this.meta.profile.curves;
    const values = [["Cohesion Ratio", cohesion], ["silhouette", silhouette], [
      "agreement with the ground truth (ARI)",
      ari,
    ]];
    const known = values.filter(([, curve]) => curve && curve[k - 1] !== null);
    return known.flatMap((
      [name, curve],
    ) => [make("span", {}, `${name} `, make("b", {}, curve[k - 1].toFixed(2))), " "]);
  }

  // What is known only of cuts of the tree is not said of groups that were edited.
  #edited() {
    const ratio = this.measures?.ratio(this.state.edits.nodes) ?? null;
    const words = ratio === null ? "not known" : ratio.toFixed(2);
    return [make("span", {}, "edited by hand"), " ", make("span", {}, "Cohesion Ratio ", make("b", {}, words)), " "];
  }
}
