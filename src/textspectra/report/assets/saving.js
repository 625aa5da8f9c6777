// The Save button: the groups and names go into the model, if the page comes from `textspectra open`.
import { element, inflate, make } from "./data.js";
import { markSaved, writtenEdits } from "./unsaved.js";

const AGAIN_AFTER = 1000; // milliseconds until a lost connection is tried again
const TRIES = 3;

const ENDED =
  "textspectra has stopped, so this page can no longer save. Run textspectra open again, or keep your edits with Download JSON.";

export class Saving {
  constructor({ state, takeAway, misfits }) {
    this.version = document.querySelector("meta[name=model-version]")?.content;
    if (!this.version) return; // opened as a file
    Object.assign(this, { state, takeAway, misfits, saved: `${state.tree.base.k} `, isBusy: false, hasEnded: false });
    this.button = make("button", { type: "button", id: "save", title: "Save (Ctrl+S)", onclick: () => this.save() });
    this.notice = make("p", { id: "saved", class: "edited", role: "status" });
    document.querySelector(".edit-bar").append(this.button);
    element("edited").before(this.notice);
    element("keep").hidden = true;
    element("keeping-text").textContent =
      "“Save”, above the groups, puts your groups and names into the model, its table and its report. Unchanged groups keep their numbers.";
    element("keeping-command").parentElement.hidden = true;
    state.isSaved = () => this.hasSaved && this.#shown() === this.saved;
    state.listen((changed) => (changed.k || changed.names) && this.#show());
    document.addEventListener("keydown", (event) => this.#onKey(event));
    this.#show();
    this.#stay();
    globalThis.addEventListener("pagehide", () => this.connection.abort());
    globalThis.addEventListener("pageshow", (event) => event.persisted && this.#stay());
  }

  // The groups and names on the screen, as one string.
  #shown() {
    return `${this.state.k} ${writtenEdits(this.state)}`;
  }

  #onKey(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "s") return;
    event.preventDefault();
    document.activeElement?.blur(); // a name that is being typed counts
    this.save();
  }

  #show(words = "") {
    const isNew = this.#shown() !== this.saved;
    this.button.textContent = this.isBusy ? "Saving …" : "Save";
    this.button.disabled = this.isBusy || this.hasEnded || !isNew;
    this.notice.textContent = this.hasEnded ? ENDED : words;
  }

  async save() {
    if (this.button.disabled) return;
    const shown = this.#shown();
    const nodes = new Map(this.state.tree.cut(this.state.k).map((node) => [this.state.nameOf(node), node]));
    this.isBusy = true;
    this.#show();
    let words = "";
    try {
      const answer = await this.#send(shown);
      words = answer.words;
      if (answer.misfits) await this.#compare(answer, nodes);
    } finally {
      this.isBusy = false;
      this.#show(words);
    }
  }

  // Returns the answer, with what to tell the reader.
  async #send(shown) {
    let response;
    try {
      const headers = { "Content-Type": "application/json", "Model-Version": this.version };
      response = await fetch("save", { method: "POST", headers, body: this.takeAway.json([]) });
    } catch {
      return { words: "Not saved: there is no connection to textspectra." };
    }
    const { message, notes, version, labels, misfits } = await response.json();
    if (!response.ok) return { words: message };
    Object.assign(this, { version, saved: shown, hasSaved: true });
    // A group that was saved before keeps its number.
    this.takeAway.saved = new Map(labels.map(([label, name]) => [name, label]));
    if (this.#shown() === shown) markSaved(this.state); // otherwise it was edited meanwhile
    this.state.write();
    return { words: `Saved: ${[message, ...notes].join("; ")}.`, labels, misfits };
  }

  async #compare({ labels, misfits }, nodes) {
    const table = new Uint32Array(await inflate(misfits).arrayBuffer());
    this.misfits.take(table, labels.map(([, name]) => nodes.get(name)), "when you saved");
  }

  // An open request tells the program that the page is open, and the page that the program runs.
  async #stay() {
    for (let tries = 0; tries < TRIES; tries++) {
      this.connection = new AbortController();
      try {
        const response = await fetch("alive", { method: "POST", signal: this.connection.signal });
        if (response.ok) tries = -1;
        const reader = response.body.getReader();
        while (!(await reader.read()).done);
      } catch {
        if (this.connection.signal.aborted) return;
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER));
    }
    this.hasEnded = true;
    this.#show();
  }
}
