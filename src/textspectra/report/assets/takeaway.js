// Downloads: the labels, the map, and a link to this view.
import { count, element } from "./data.js";
import { runs } from "./grouping.js";
import { csv } from "./safecells.js";

const FORMAT = "textspectra-state-4";

export class TakeAway {
  constructor(report, map) {
    Object.assign(this, report);
    this.map = map;
    const about = this.meta.about;
    const part = about.shown < about.distinct
      ? ` They contain only the ${
        count(about.shown, "different text")
      } of this report; textspectra apply labels all texts.`
      : "";
    element("takeaway-text").textContent = `The files contain the groups, names and filter that you set here.${part}`;
    const actions = {
      csv: () => this.#save("clusters.csv", "text/csv", this.csv()),
      json: () => this.#save("clusters.json", "application/json", this.json()),
      png: () => this.#picture("png"),
      svg: () => this.#picture("svg"),
      link: () => this.#copyLink(),
    };
    for (const [id, act] of Object.entries(actions)) element(id).addEventListener("click", act);
  }

  // The rows of the data that pass the filter, with their labels, as in `to_frame`. For groups made by hand, the
  // similarities are only approximate, so they are left out.
  rows(only = null) {
    const { tree, state } = this;
    const label = tree.labelsAt(state.k);
    const saved = state.isSaved() ? this.saved : null; // the labels in the model, by name
    const owners = tree.ownersAt(state.k);
    const { rows, passing } = this.counts;
    const { numbers, positions, columns } = rows;
    const group = (position) => {
      if (position >= owners.length) return { cluster: null, cluster_name: null, similarity: null };
      const node = owners[position];
      const exact = this.measures.isExact(node);
      const similarity = exact ? Number(this.measures.similarity(node, position).toFixed(4)) : null;
      const name = state.nameOf(node);
      const cluster = saved ? saved.get(name) : label.get(node);
      return { cluster, cluster_name: name, similarity };
    };
    const isIn = (r) => (!passing || passing[r]) && (!only || only.has(positions[r]));
    const left = Array.from(numbers.keys()).filter(isIn);
    return left.map((r) => ({
      row: numbers[r],
      text: this.texts[positions[r]],
      ...group(positions[r]),
      ...Object.fromEntries(columns.map((column) => [column.name, rows.value(column, r)])),
    }));
  }

  csv(only = null) {
    const names = ["row", "text", "cluster", "cluster_name", "similarity"];
    names.push(...this.counts.rows.columns.map(({ name }) => name));
    // People count rows from 1.
    const rows = this.rows(only).map((row) => names.map((name) => name === "row" ? row.row + 1 : row[name]));
    return csv([names, ...rows], element("safe").checked);
  }

  // Texts with their rows in the data.
  saveTexts(positions) {
    this.#save("texts.csv", "text/csv", this.csv(new Set(positions)));
  }

  // `rows` may be left out: `apply` does not need them.
  json(rows = this.rows()) {
    const { tree, state } = this;
    const label = tree.labelsAt(state.k);
    const clusters = tree.cut(state.k).map((node) => ({
      cluster: label.get(node),
      name: state.nameOf(node),
      size: tree.nodes.size[node],
      ...(this.counts.isFiltered ? { filtered_size: this.counts.nodes[node] } : {}),
      keywords: this.groups.keywords(node),
      cohesion: this.measures.cohesion(node),
      ...(state.edits ? this.#made(node) : {}),
    }));
    const { fingerprint, grouping, version } = this.meta.about;
    const selected = state.selected === null ? null : label.get(state.selected);
    const view = { selected, search: state.query, filter: state.filter.conditions(state.fields) };
    const of = { format: FORMAT, version, fingerprint, grouping, edited: state.edits !== null };
    return JSON.stringify({ ...of, k: state.k, clusters, ...view, rows });
  }

  // A group made by hand: its finest clusters in the tree, as ranges, and a row of the data for each text moved into it.
  #made(node) {
    const { leaves, moved } = this.state.edits.groups[this.state.edits.at(node)];
    const { rows } = this.counts;
    return { parts: runs(leaves), moved: moved.map((position) => rows.numbers[rows.of(position)[0]]) };
  }

  #save(name, type, content) {
    // Without a byte order mark, Excel takes UTF-8 for another encoding and breaks accents.
    const mark = type === "text/csv" ? "\ufeff" : "";
    this.#download(name, URL.createObjectURL(new Blob([mark, content], { type })));
  }

  async #picture(format) {
    this.#download(`map.${format}`, await this.map.picture(format));
  }

  #download(name, address) {
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    element("done").textContent = `Saved as ${name}.`;
  }

  async #copyLink() {
    this.state.write();
    try {
      await navigator.clipboard.writeText(location.href);
      element("done").textContent = "Copied.";
    } catch {
      element("done").textContent = "The link to this view is in the address bar.";
    }
  }
}
