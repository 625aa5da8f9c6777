// Asks before another number of groups drops the edits.
import { element } from "./data.js";

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
