// Downloads: the labels, the map, and a link to this view.
import { count, element } from "./data.js";

const FORMAT = "textspectra-state-3";

export class TakeAway {
  constructor(report, map) {
    Object.assign(this, report);
    this.map = map;
    const about = this.meta.about;
    const part = about.shown < about.distinct
      ? ` The files have only the ${
        count(about.shown, "different text")
      } of this report; textspectra apply labels all texts.`
      : "";
    element("takeaway-text").textContent =
      `The files have the number of groups, the names and the filter that you set here. To use them in the model, download the JSON file and run: textspectra apply FILE.json MODEL.${part}`;
    const actions = {
      csv: () => this.#save("clusters.csv", "text/csv", this.csv()),
      json: () => this.#save("clusters.json", "application/json", this.json()),
      png: () => this.#picture("png"),
      svg: () => this.#picture("svg"),
      link: () => this.#copyLink(),
    };
    for (const [id, act] of Object.entries(actions)) element(id).addEventListener("click", act);
  }

  // The rows of the data that pass the filter, with their labels, as in `to_frame`.
  rows() {
    const { tree, state } = this;
    const label = tree.labelsAt(state.k);
    const owners = tree.ownersAt(state.k);
    const { rows, passing } = this.counts;
    const { numbers, positions, columns } = rows;
    const group = (position) => {
      if (position >= owners.length) return { cluster: null, cluster_name: null, similarity: null };
      const node = owners[position];
      const similarity = Number(this.groups.similarity(node, position).toFixed(4));
      return { cluster: label.get(node), cluster_name: state.nameOf(node), similarity };
    };
    const left = Array.from(numbers.keys()).filter((r) => !passing || passing[r]);
    return left.map((r) => ({
      row: numbers[r],
      text: this.texts[positions[r]],
      ...group(positions[r]),
      ...Object.fromEntries(columns.map((column) => [column.name, rows.value(column, r)])),
    }));
  }

  csv() {
    const cell = (value) => {
      const text = value === null ? "" : String(value);
      return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const rows = this.rows();
    const names = ["row", "text", "cluster", "cluster_name", "similarity"];
    names.push(...this.counts.rows.columns.map(({ name }) => name));
    return [names, ...rows.map((row) => names.map((name) => row[name]))].map((row) => row.map(cell).join(",")).join(
      "\n",
    ) + "\n";
  }

  json() {
    const { tree, state } = this;
    const label = tree.labelsAt(state.k);
    const clusters = tree.cut(state.k).map((node) => ({
      cluster: label.get(node),
      name: state.nameOf(node),
      size: tree.nodes.size[node],
      ...(this.counts.isFiltered ? { filtered_size: this.counts.nodes[node] } : {}),
      keywords: tree.nodes.keywords[node],
      cohesion: tree.nodes.cohesion[node],
    }));
    const { fingerprint, version } = this.meta.about;
    const selected = state.selected === null ? null : label.get(state.selected);
    const view = { selected, search: state.query, filter: state.filter.conditions(state.fields) };
    return JSON.stringify({ format: FORMAT, version, fingerprint, k: state.k, clusters, ...view, rows: this.rows() });
  }

  #save(name, type, content) {
    this.#download(name, URL.createObjectURL(new Blob([content], { type })));
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
