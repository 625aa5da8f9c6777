// CSV cells, as `--spreadsheet-safe` of the command line writes them.

const LEADING = /^[\s\p{Cc}\p{Cf}\p{Z}"'“”„‘’«»`]*/u; // characters that a spreadsheet may skip before a formula
const SIGNS = /^[=+\-@＝＋－＠]/u;

// A cell that a spreadsheet may run as a formula gets an apostrophe.
export function safe(text) {
  return /^[\t\r]/.test(text) || SIGNS.test(text.replace(LEADING, "")) ? `'${text}` : text;
}

export function csv(rows, isSafe) {
  const cell = (value) => {
    const plain = value === null ? "" : String(value);
    const text = isSafe && typeof value === "string" ? safe(plain) : plain;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${rows.map((row) => row.map(cell).join(",")).join("\n")}\n`;
}
