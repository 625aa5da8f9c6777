// What an edit, undo or redo resulted in: a short notice, and the groups that changed in view and open.
import { count, element, shorten } from "./data.js";

const STAYS = 10_000; // milliseconds that a notice is shown
const RESULTS_NAMED = 3; // groups in a notice
const BEGINNING = { done: "Result of ", undone: "Undone: ", redone: "Redone: " };

export class Outcome {
  constructor({ tree, state, groups }) {
    Object.assign(this, { tree, state, groups });
    state.listen((changed) => changed.step && this.#follow(changed.step));
  }

  #follow(step) {
    if (step.how === "done" && step.what === "renaming a group") return; // the name is where it was typed
    const results = step.isSlide ? [] : this.#results(step);
    this.#say(step, results);
    if (!results.length || this.state.work) return;
    const isMove = step.how === "done" && step.texts; // the whole group shows the texts that came
    if (this.state.selected === null && !isMove) this.#showLines(results);
    else this.#showGroup(results);
  }

  // The groups that have the moved texts now; otherwise those that did not exist before, or had another name.
  #results({ texts, names }) {
    if (texts) {
      const owners = this.tree.ownersAt(this.state.k);
      return [...new Set(texts.map((i) => owners[i]))];
    }
    return this.tree.largestFirst(this.state.k).filter((node) => names.get(node) !== this.state.nameOf(node));
  }

  #say({ how, what, names }, results) {
    const named = results.slice(0, RESULTS_NAMED).map((node) => shorten(this.state.nameOf(node), 40)).join(", ");
    const more = results.length > RESULTS_NAMED ? ` and ${results.length - RESULTS_NAMED} more` : "";
    const [now, before] = [this.state.k, names.size];
    const groups = now === before ? "" : ` ${count(now, "group")} instead of ${before}.`;
    element("outcome").textContent = `${BEGINNING[how]}${what}${named && `: ${named}${more}`}.${groups}`;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => element("outcome").textContent = "", STAYS);
  }

  #showLines(results) {
    const lines = this.groups.reveal(results);
    if (!lines.length) return; // the filter leaves none of their texts
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    for (const line of lines) line.classList.add("resulting");
    lines[0].scrollIntoView({ block: "nearest", behavior: calm ? "instant" : "smooth" });
    if (isLost(document.activeElement)) lines[0].querySelector(".card").focus({ preventScroll: true });
    this.state.hover(null); // the map shows all groups, not only the one with the focus
  }

  #showGroup(results) {
    if (!results.includes(this.state.selected)) this.state.set({ selected: results[0] });
    element("panel").scrollTop = 0;
    if (isLost(document.activeElement)) element("group-view").focus({ preventScroll: true });
  }
}

// Whether the element that had the focus is gone, or can no longer be used.
function isLost(active) {
  return !active || active === document.body || active === element("panel") || active.disabled ||
    !active.checkVisibility();
}
