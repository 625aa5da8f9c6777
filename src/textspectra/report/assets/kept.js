// Keeps the edits in this browser, and shows them when the report is opened again.
import { element, make } from "./data.js";
import { hasUnsaved, markSaved, whenSaved, writtenEdits } from "./unsaved.js";

const moment = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

// A page that is closed and opened again should look the same, so the edits are back at once, and one button removes
// them. If they were only offered, a reader who overlooks the offer would edit again, and lose one of the two versions.
// A link is opened to be seen, so it comes first.
export class Kept {
  constructor(state, { fingerprint, grouping }) {
    Object.assign(this, { state, key: `textspectra ${fingerprint} ${grouping}`, written: writtenEdits(state) });
    this.#begin(this.#read(), new URLSearchParams(location.hash.slice(1)).has("k"));
    state.listen((changed) => (changed.k || changed.names) && this.#follow(changed.link));
    whenSaved(() => this.#read()?.edits === this.written && this.#write());
  }

  #begin(found, isLink) {
    const { state } = this;
    if (found && !isLink && state.restore(`showing your edits from ${found.day}`, found.edits)) {
      this.written = writtenEdits(state);
      const fresh = () => state.restore("starting fresh");
      this.#say(`Your edits from ${found.day}, as this browser kept them.`, "Start fresh", fresh);
    } else if (found && isLink && found.edits !== this.written) {
      const own = () => state.restore("showing your own edits", found.edits);
      this.#say(`This link does not show your edits from ${found.day}.`, "Restore your edits", own);
      this.isOffer = true; // also after the next edit, which is kept instead of them
    }
    // Edits that came with a link are not lost with the page.
    const isOwn = found?.edits === this.written;
    if (isOwn ? found.saved : isLink) markSaved(state);
  }

  // Anything may be there: other pages on this computer can share the storage.
  #read() {
    try {
      const { at, edits, saved } = JSON.parse(localStorage.getItem(this.key));
      return typeof edits === "string" && edits ? { day: moment.format(at), edits, saved: saved === true } : null;
    } catch {
      return null;
    }
  }

  #follow(isLink) {
    const written = writtenEdits(this.state);
    if (written === this.written) return;
    this.written = written;
    if (isLink) return this.#begin(this.#read(), true);
    if (!this.isOffer) element("kept").hidden = true;
    this.#write();
  }

  #write() {
    const entry = { at: Date.now(), edits: this.written, saved: !hasUnsaved(this.state) };
    try {
      if (this.written) localStorage.setItem(this.key, JSON.stringify(entry));
      else localStorage.removeItem(this.key);
    } catch {
      // No storage in this browser, in private windows, in frames of notebooks; or it is full.
      if (this.written) this.#say("This browser cannot keep your edits. Download them before you close the page.");
    }
  }

  #say(words, label, act) {
    const close = () => {
      element("kept").hidden = true;
      this.isOffer = false;
      act();
    };
    const button = label ? [" ", make("button", { type: "button", class: "link", onclick: close }, label)] : [];
    element("kept").replaceChildren(words, ...button);
    element("kept").hidden = false;
  }
}
