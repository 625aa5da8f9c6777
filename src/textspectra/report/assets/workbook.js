// Writes an Excel workbook. A library would be in every report, and is many times as long as this file, for formulas and
// styles that a table of texts does not need. CSV would have one sheet, and Excel guesses what is a date or a formula in
// it. A workbook is a zip archive of a few XML files, and the browser can compress them.

const SHEET_ROWS = 1_048_576; // of Excel, with the header
const CELL_LETTERS = 32_767;
const AT_ONCE = 2_000; // rows that are encoded together
const PLAIN = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
const STYLE = { text: 0, header: 1, date: 2, share: 3 }; // the place of each style in `STYLES`
const STYLES = `<numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>` +
  `<numFmt numFmtId="165" formatCode="0.0%"/></numFmts>` +
  `<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>` +
  `<font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill>` +
  `<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders>` +
  `<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="4"><xf xfId="0"/><xf fontId="1" applyFont="1"/>` +
  `<xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="165" applyNumberFormat="1"/></cellXfs>` +
  `<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>`;

// Sheets have a name, columns ({ name, kind, width }; the kinds "date" and "share" are numbers) and rows of values. A
// string is never a formula, because its cell says that it is a string.
export function workbook(sheets) {
  const encoder = new TextEncoder();
  const parts = [
    ["[Content_Types].xml", contentTypes(sheets)],
    ["_rels/.rels", relations([["officeDocument", "xl/workbook.xml"]])],
    ["xl/workbook.xml", contents(sheets)],
    [
      "xl/_rels/workbook.xml.rels",
      relations([...sheets.map((_, i) => ["worksheet", `worksheets/sheet${i + 1}.xml`]), ["styles", "styles.xml"]]),
    ],
    ["xl/styles.xml", `${PLAIN}<styleSheet xmlns="${MAIN}">${STYLES}</styleSheet>`],
  ].map(([name, xml]) => [name, [encoder.encode(xml)]]);
  sheets.forEach((sheet, i) => {
    parts.push([`xl/worksheets/sheet${i + 1}.xml`, Array.from(sheetXml(sheet), (xml) => encoder.encode(xml))]);
  });
  return zip(parts);
}

export function fitsSheet(rows) {
  return rows < SHEET_ROWS;
}

// The number of a day for Excel; days before March 1900 are text, because programs disagree on them.
export function excelDay(iso) {
  const day = iso === null ? null : Date.parse(iso) / 86_400_000 + 25_569;
  return day === null || day < 61 ? iso : day;
}

function contentTypes(sheets) {
  const type = "application/vnd.openxmlformats-officedocument.spreadsheetml";
  const part = (name, kind) => `<Override PartName="/xl/${name}.xml" ContentType="${type}.${kind}+xml"/>`;
  const pages = sheets.map((_, i) => part(`worksheets/sheet${i + 1}`, "worksheet")).join("");
  return `${PLAIN}<Types xmlns="${PACKAGE}/content-types">` +
    `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
    `${part("workbook", "sheet.main")}${part("styles", "styles")}${pages}</Types>`;
}

function relations(targets) {
  const one = ([kind, target], i) => `<Relationship Id="r${i + 1}" Type="${RELATIONS}/${kind}" Target="${target}"/>`;
  return `${PLAIN}<Relationships xmlns="${PACKAGE}/relationships">${targets.map(one).join("")}</Relationships>`;
}

function contents(sheets) {
  const one = ({ name }, i) => `<sheet name="${asXml(name)}" sheetId="${i + 1}" r:id="r${i + 1}"/>`;
  return `${PLAIN}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>${
    sheets.map(one).join("")
  }</sheets></workbook>`;
}

function* sheetXml({ columns, rows }) {
  const letters = columns.map((_, i) => columnLetters(i));
  const styles = columns.map(({ kind }) => STYLE[kind] ?? STYLE.text);
  const width = ({ width = 12 }, i) => `<col min="${i + 1}" max="${i + 1}" width="${width}" customWidth="1"/>`;
  const head = columns.map(({ name }) => name);
  yield `${PLAIN}<worksheet xmlns="${MAIN}"><dimension ref="A1:${letters.at(-1)}${rows.length + 1}"/>` +
    `<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" ` +
    `state="frozen"/></sheetView></sheetViews><cols>${columns.map(width).join("")}</cols><sheetData>` +
    rowXml(head, 1, letters, head.map(() => STYLE.header));
  for (let start = 0; start < rows.length; start += AT_ONCE) {
    yield rows.slice(start, start + AT_ONCE).map((row, i) => rowXml(row, start + i + 2, letters, styles)).join("");
  }
  yield "</sheetData></worksheet>";
}

function rowXml(values, number, letters, styles) {
  let cells = "";
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value === null || value === undefined || value === "") continue;
    const at = `<c r="${letters[i]}${number}"${styles[i] ? ` s="${styles[i]}"` : ""}`;
    if (typeof value === "number") cells += Number.isFinite(value) ? `${at}><v>${value}</v></c>` : "";
    else cells += `${at} t="inlineStr"><is><t xml:space="preserve">${asXml(String(value))}</t></is></c>`;
  }
  return `<row r="${number}">${cells}</row>`;
}

function columnLetters(i) {
  return (i >= 26 ? columnLetters(Math.floor(i / 26) - 1) : "") + String.fromCharCode(65 + i % 26);
}

// XML has no control characters, so Excel writes them as _x0007_, and an underscore before such letters as _x005F_.
function asXml(text) {
  const fitting = text.length <= CELL_LETTERS
    ? text
    : `${text.slice(0, CELL_LETTERS - 1).replace(/[\ud800-\udbff]$/, "")}…`;
  if (!/[&<>"_\p{Cc}\ufffe\uffff]/u.test(fitting)) return fitting;
  const code = (letter) => `_x${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}_`;
  return fitting.replaceAll(/_(?=x[0-9a-f]{4}_)/gi, "_x005F_")
    .replaceAll(/[^\P{Cc}\t\n\x7f-\x9f]|[\ufffe\uffff]/gu, code)
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

// A zip archive of files, each given as a list of bytes.
async function zip(files) {
  const encoder = new TextEncoder();
  const [content, directory] = [[], []];
  let [at, directorySize] = [0, 0];
  for (const [name, pieces] of files) {
    const packed = await new Response(
      new Blob(pieces).stream().pipeThrough(new CompressionStream("deflate-raw")),
    ).arrayBuffer();
    const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const letters = encoder.encode(name);
    const about = [20, 0, 8, 0, 0x21, ...halves(checksum(pieces)), ...halves(packed.byteLength), ...halves(size)];
    const header = shorts([...halves(0x04034b50), ...about, letters.length, 0]);
    content.push(header, letters, packed);
    const entry = [...halves(0x02014b50), 20, ...about, letters.length, 0, 0, 0, 0, 0, 0, ...halves(at)];
    directory.push(shorts(entry), letters);
    at += header.length + letters.length + packed.byteLength;
    directorySize += 2 * entry.length + letters.length;
  }
  const n = files.length;
  const end = [...halves(0x06054b50), 0, 0, n, n, ...halves(directorySize), ...halves(at), 0];
  return new Blob([...content, ...directory, shorts(end)], {
    type: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  });
}

function halves(value) {
  return [value & 0xffff, value >>> 16];
}

function shorts(values) {
  const bytes = new DataView(new ArrayBuffer(2 * values.length));
  values.forEach((value, i) => bytes.setUint16(2 * i, value, true));
  return new Uint8Array(bytes.buffer);
}

// The CRC-32 of zip archives.
function checksum(pieces) {
  const table = Uint32Array.from({ length: 256 }, (_, value) => {
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
    return value;
  });
  let sum = -1;
  for (const piece of pieces) for (let i = 0; i < piece.length; i++) sum = table[(sum ^ piece[i]) & 255] ^ (sum >>> 8);
  return ~sum >>> 0;
}
