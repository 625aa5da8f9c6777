// Unpacks the data of the page (base64, then zlib), and makes elements.

function bytesOf(letters) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(letters);
  const raw = atob(letters);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

export function inflate(letters) {
  return new Response(new Blob([bytesOf(letters)]).stream().pipeThrough(new DecompressionStream("deflate")));
}

export function unpack(name) {
  const block = document.getElementById(`block-${name}`);
  block.remove(); // otherwise the packed data would stay in memory too
  return inflate(block.textContent);
}

export async function unpackArray(name, Kind) {
  return new Kind(await unpack(name).arrayBuffer());
}

export function unpackJson(name) {
  return unpack(name).json();
}

export async function loadLibrary() {
  const script = document.createElement("script");
  script.textContent = await unpack("library").text();
  document.head.append(script); // runs immediately: its digest is in the page's policy
  return globalThis.Plotly;
}

export function element(id) {
  return document.getElementById(id);
}

// The only functions that make elements. Text stays text: it is never read as markup.
export function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function makeShape(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Plotly interprets some markup in its labels.
export function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

export const number = new Intl.NumberFormat("en");

export function count(n, what) {
  return `${number.format(n)} ${what}${n === 1 ? "" : "s"}`;
}

export function percent(share) {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;
}

export function shorten(text, limit) {
  const flat = text.slice(0, 4 * limit).replace(/[\s\p{Cc}]+/gu, " ").trim();
  return flat.length <= limit && text.length <= 4 * limit ? flat : `${flat.slice(0, limit)}…`;
}

// A text in quotation marks. The style sheet adds them, so that they stay if the text is cut to one line.
export function quoted(text) {
  return make("span", { class: "example" }, make("span", { class: "text", dir: "auto" }, text));
}

// Marks what does not follow the filter; without a filter it is not shown.
export function unfiltered(what = "") {
  return make("span", { class: "unfiltered" }, `${what}not filtered`);
}

// Calls a listener before the page is printed, with true, and afterwards, with false.
export function whenPrinting(listener) {
  globalThis.addEventListener("beforeprint", () => listener(true));
  globalThis.addEventListener("afterprint", () => listener(false));
}

// Sorts numbers by a value that is computed once for each.
export function sortedBy(numbers, valueOf) {
  const values = Float64Array.from(numbers, valueOf);
  return Array.from(Uint32Array.from(values.keys()).sort((a, b) => values[a] - values[b]), (at) => numbers[at]);
}
