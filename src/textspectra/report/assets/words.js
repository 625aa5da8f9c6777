// The words of the texts, for keywords of groups made by hand and for the differences between two groups.
import { range } from "./grouping.js";

const WORD = /(?<![\p{L}\p{N}])\p{L}[\p{L}\p{M}\p{N}'’-]+/gu;
const LETTERS = 2000; // characters of a text that are read
const MOST = 10;
const ENOUGH = 5000; // texts

export class Words {
  constructor(texts, n, stopWords) {
    Object.assign(this, { texts, n, stopWords: new Set(stopWords), found: [], ids: new Map(), list: [] });
  }

  // The numbers of the distinct words of a text, which is read on first use.
  #of(i) {
    return this.found[i] ??= this.#read(this.texts[i]);
  }

  #read(text) {
    const words = new Set(text.slice(0, LETTERS).toLowerCase().match(WORD) ?? []);
    return [...words].filter((word) => !this.stopWords.has(word) && !this.stopWords.has(word.split(/['’]/)[0]))
      .map((word) => {
        if (!this.ids.has(word)) this.ids.set(word, this.list.push(word) - 1);
        return this.ids.get(word);
      });
  }

  // The number of texts with each word; a sample if there are many.
  #count(positions) {
    const step = Math.ceil(positions.length / ENOUGH);
    const [counts, texts] = [new Map(), Math.ceil(positions.length / step)];
    for (let at = 0; at < positions.length; at += step) {
      for (const word of this.#of(positions[at])) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    return { counts, texts, share: (word) => ((counts.get(word) ?? 0) + 0.5) / (texts + 1) };
  }

  // Words are ranked by the difference and the ratio of their frequencies.
  #more(one, other) {
    const ranked = [];
    one.counts.forEach((texts, word) => {
      const [here, there] = [one.share(word), other.share(word)];
      if (texts > 1 || one.texts < 4) ranked.push([(here - there) * Math.log(here / there), here > there, word]);
    });
    const best = ranked.filter(([, more]) => more).sort((a, b) => b[0] - a[0]).slice(0, MOST);
    return best.map(([, , word]) => ({
      word: this.list[word],
      shares: [one, other].map(({ counts, texts }) => (counts.get(word) ?? 0) / Math.max(1, texts)),
    }));
  }

  keywords(pieces) {
    const positions = pieces.flatMap(([start, end]) => range(start, end));
    return this.#more(this.#count(positions), this.#count(range(0, this.n))).map(({ word }) => word);
  }

  // The words that are more frequent in some texts than in others, and the other way around.
  differing(positions, others) {
    const [one, other] = [positions, others].map((some) => this.#count(some));
    return [this.#more(one, other), this.#more(other, one)];
  }
}
