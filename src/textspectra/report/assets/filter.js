// The rows that the reader wants to see: a range of periods, and a value of each segment. A filter is immutable.
import { shorten } from "./data.js";

export class Filter {
  // Periods and values are given by their numbers; null means any.
  constructor(from, to, values) {
    Object.assign(this, { from, to, values });
  }

  static none({ segments }) {
    return new Filter(null, null, segments.map(() => null));
  }

  get isActive() {
    return this.from !== null || this.to !== null || this.values.some((value) => value !== null);
  }

  equals(other) {
    return JSON.stringify(this) === JSON.stringify(other);
  }

  // If one end passes the other, the other moves with it.
  startingAt(from) {
    return new Filter(from, from !== null && this.to !== null && this.to < from ? from : this.to, this.values);
  }

  endingAt(to) {
    return new Filter(to !== null && this.from !== null && this.from > to ? to : this.from, to, this.values);
  }

  withValue(segment, value) {
    return new Filter(this.from, this.to, this.values.with(segment, value));
  }

  // "channel web, from Feb 2026"
  words({ time, segments }) {
    const values = this.values.flatMap((value, i) =>
      value === null ? [] : [`${shorten(segments[i].name, 40)} ${shorten(segments[i].values[value], 40)}`]
    );
    const ends = ["from", "to"].filter((end) => this[end] !== null).map((end) => `${end} ${time.names[this[end]]}`);
    return [...values, ends.join(" ")].filter(Boolean).join(", ");
  }

  // The conditions by name, for the downloads.
  conditions({ time, segments }) {
    const values = this.values.flatMap((value, i) =>
      value === null ? [] : [[segments[i].name, segments[i].values[value]]]
    );
    return {
      ...(this.from === null ? {} : { from: time.days[this.from] }),
      ...(this.to === null ? {} : { to: time.days[this.to] }),
      ...(values.length ? { by: values } : {}),
    };
  }

  write(parts, fields) {
    const { by, ...days } = this.conditions(fields);
    for (const [name, day] of Object.entries(days)) parts.set(name, day);
    if (by) parts.set("by", JSON.stringify(by));
  }

  // Invalid values are ignored.
  static read(parts, fields) {
    const known = (list, one) => {
      const at = list?.indexOf(one) ?? -1;
      return at < 0 ? null : at;
    };
    const none = Filter.none(fields);
    const [from, to] = ["from", "to"].map((name) => known(fields.time?.days, parts.get(name)));
    let filter = none.startingAt(from);
    if (to !== null && (from === null || from <= to)) filter = filter.endingAt(to);
    try {
      for (const [name, value] of JSON.parse(parts.get("by") ?? "[]")) {
        const segment = fields.segments.findIndex((one) => one.name === name);
        if (segment >= 0) filter = filter.withValue(segment, known(fields.segments[segment].values, value));
      }
    } catch {
      return none;
    }
    return filter;
  }
}
