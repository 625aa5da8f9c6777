// Downloads: the labels, the map, and a link to this view.
import { count, element } from "./data.js";
import { runs } from "./grouping.js";
import { markSaved } from "./unsaved.js";
import { excelDay, fitsSheet, workbook } from "./workbook.js";

const FORMAT = "textspectra-state-4";
const LEADING = /^[\s\p{Cc}\p{Cf}\p{Z}"'“”„‘’«»`]*/u; // characters that a spreadsheet may skip before a formula
const SIGNS = /^[=+\-@＝＋－＠]/u;

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
    if (!this.meta.changes) element("keeping-command").textContent = modelCommand("apply", about);
    const actions = {
      xlsx: () => this.#saveWorkbook(),
      csv: () => this.#save("groups.csv", "text/csv", this.csv()),
      json: () => this.#save("state.json", "application/json", this.json()),
      png: () => this.#picture("png"),
      svg: () => this.#picture("svg"),
      link: () => this.#copyLink(),
    };
    for (const [id, act] of Object.entries(actions)) element(id).addEventListener("click", act);
    for (const id of ["csv", "json"]) element(id).addEventListener("click", () => this.#taken(id));
  }

  // The rows of the data that pass the filter, with their labels, as in `to_frame`. For groups made by hand, the
  // similarities are only approximate, so they are left out.
  rows(isWanted = () => true) {
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
    const left = Array.from(numbers.keys()).filter((r) => (!passing || passing[r]) && isWanted(r));
    return left.map((r) => ({
      row: numbers[r],
      text: this.texts[positions[r]],
      ...group(positions[r]),
      ...Object.fromEntries(columns.map((column) => [column.name, rows.value(column, r)])),
    }));
  }

  csv(isWanted) {
    const names = ["row", "text", "cluster", "cluster_name", "similarity"];
    names.push(...this.counts.rows.columns.map(({ name }) => name));
    // People count rows from 1.
    const rows = this.rows(isWanted).map((row) => names.map((name) => name === "row" ? row.row + 1 : row[name]));
    return csv([names, ...rows], element("safe").checked);
  }

  // The sheets "texts" and "groups" of a workbook, as the command writes them.
  sheets() {
    const { tree, state, measures, counts } = this;
    const { themes } = this.groups;
    const nodes = themes.sections(counts.largestFirst(state.k)).flatMap((section) => section.nodes);
    const labels = tree.labelsAt(state.k);
    const themeOf = new Map(nodes.map((node) => [labels.get(node), this.#themeName(themes.of(node))]));
    const columns = (names) => Object.entries(names).map(([name, [width, kind]]) => ({ name, width, kind }));
    const further = counts.rows.columns;
    const texts = this.rows().map((row) => [
      row.row + 1,
      ...[row.text, row.cluster, row.cluster_name, themeOf.get(row.cluster), row.similarity],
      ...further.map(({ name, kind }) => kind === "time" ? excelDay(row[name]) : row[name]),
    ]);
    const groups = nodes.map((node) => [
      ...[themeOf.get(labels.get(node)), labels.get(node), state.nameOf(node), tree.nodes.size[node]],
      ...(counts.isFiltered ? [counts.nodes[node]] : []),
      ...[counts.nodes[node] / counts.total, measures.cohesion(node), this.groups.keywords(node).join(", ")],
      this.texts[this.groups.typical(node)[0]] ?? null,
    ]);
    const own = { row: [8], text: [80], cluster: [9], cluster_name: [32], theme: [32], similarity: [10] };
    const added = Object.fromEntries(further.map(({ name, kind }) => [name, kind === "time" ? [12, "date"] : [20]]));
    const shown = {
      ...{ theme: [32], cluster: [9], name: [32], size: [9] },
      ...(counts.isFiltered && { filtered: [9] }),
    };
    const measured = { share: [9, "share"], cohesion: [10], keywords: [60], typical_text: [80] };
    return [
      { name: "texts", columns: columns({ ...own, ...added }), rows: texts },
      { name: "groups", columns: columns({ ...shown, ...measured }), rows: groups },
    ];
  }

  #themeName(theme) {
    return theme < 0 ? null : this.groups.themes.nameOf(theme);
  }

  async #saveWorkbook() {
    const sheets = this.sheets();
    if (!fitsSheet(sheets[0].rows.length)) {
      element("done").textContent = "An Excel sheet cannot hold this many rows; download CSV, or set a filter.";
      return;
    }
    this.#download("groups.xlsx", URL.createObjectURL(await workbook(sheets)));
    this.#taken("xlsx");
  }

  // Whoever has the file has the edits, unless it lacks the texts that a filter hides.
  #taken(id) {
    if (id === "json" || !this.counts.isFiltered) markSaved(this.state);
  }

  // Texts with their rows in the data, or with some of them.
  saveTexts(positions, isIn) {
    const wanted = new Set(positions);
    const of = this.counts.rows.positions;
    this.#save("texts.csv", "text/csv", this.csv((row) => wanted.has(of[row]) && (!isIn || isIn(row))));
  }

  // `rows` may be left out: `apply` does not need them.
  json(rows = this.rows()) {
    const { tree, state } = this;
    const label = tree.labelsAt(state.k);
    const clusters = tree.cut(state.k).map((node) => ({
      cluster: label.get(node),
      name: state.nameOf(node),
      size: tree.nodes.size[node],
      color: tree.palette.indexOf(tree.colors[node]),
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

  // A group made by hand: its finest clusters in the tree, as ranges, and a row of the data for each text that was moved.
  #made(node) {
    const { edits } = this.state;
    const { rows } = this.counts;
    const at = edits.at(node);
    return {
      parts: runs(edits.groups[at].leaves),
      moved: edits.movedHere[at].map((position) => rows.numbers[rows.of(position)[0]]),
    };
  }

  #save(name, type, content) {
    // Without a byte order mark, Excel takes UTF-8 for another encoding and breaks accents.
    const mark = type === "text/csv" ? "\ufeff" : "";
    this.#download(name, URL.createObjectURL(new Blob([mark, content], { type })));
  }

  async #picture(format) {
    this.#download(`map.${format}`, await this.map.picture(format));
  }

  #download(what, address) {
    const { folder } = this.meta.about;
    const name = folder ? `${folder.replace(/\.model$/, "")}.${what}` : what;
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

// A cell that a spreadsheet may run as a formula gets an apostrophe.
function safe(text) {
  return /^[\t\r]/.test(text) || SIGNS.test(text.replace(LEADING, "")) ? `'${text}` : text;
}

// As `--spreadsheet-safe` of the command line writes it, if `isSafe`.
function csv(rows, isSafe) {
  const cell = (value) => {
    const plain = value === null ? "" : String(value);
    const text = isSafe && typeof value === "string" ? safe(plain) : plain;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${rows.map((row) => row.map(cell).join(",")).join("\n")}\n`;
}

// Double quotes mean the same to Unix shells, PowerShell and the command prompt of Windows, as long as no letter between
// them means something else there.
function shellWord(word) {
  const safe = word.startsWith("-") ? `./${word}` : word;
  if (/^[\p{L}\p{N}_./-]+$/u.test(safe)) return safe;
  return /["$`\\!%\p{Cc}]/u.test(safe) ? `'${safe.replaceAll("'", "'\\''")}'` : `"${safe}"`;
}

// A command on the model of this page.
export function modelCommand(verb, { folder }) {
  return `textspectra ${verb} ${shellWord(folder ?? "NAME.model")}`;
}
