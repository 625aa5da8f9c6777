// A search query: words that must all occur, "exact phrases", and after a minus, what must not occur.
import { make } from "./data.js";

const TERM = /-?"[^"]*"?|\S+/gu;
const BEFORE = 40; // characters before the first match in a long text

export class Query {
  constructor(written) {
    const terms = [...written.matchAll(TERM)].map(([term]) => ({
      not: /^-./.test(term),
      words: term.replace(/^-(?=.)/, "").replaceAll('"', "").toLowerCase(),
    })).filter(({ words }) => words.trim());
    this.wanted = terms.filter(({ not }) => not === false).map(({ words }) => words);
    this.unwanted = terms.filter(({ not }) => not).map(({ words }) => words);
    const letters = this.wanted.map((words) => words.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
    this.pattern = letters.length ? new RegExp(letters.join("|"), "giu") : null;
  }

  get isEmpty() {
    return !this.wanted.length && !this.unwanted.length;
  }

  matches(lower) {
    for (const words of this.wanted) if (!lower.includes(words)) return false;
    for (const words of this.unwanted) if (lower.includes(words)) return false;
    return true;
  }

  // The text as children of an element, with the matches marked; a long text begins shortly before the first one.
  marked(text, limit = Infinity) {
    const first = this.pattern ? text.search(this.pattern) : -1;
    const start = first > limit - BEFORE ? first - BEFORE : 0;
    const part = text.slice(start, start + Math.min(limit, text.length));
    const children = start ? ["…"] : [];
    let last = 0;
    for (const { 0: match, index } of this.pattern ? part.matchAll(this.pattern) : []) {
      children.push(part.slice(last, index), make("mark", {}, match));
      last = index + match.length;
    }
    children.push(part.slice(last), start + part.length < text.length ? "…" : "");
    return children;
  }
}
