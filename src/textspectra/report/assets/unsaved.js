// Whether the page has edits that are not saved. Whatever saves them calls `markSaved`.

let lastSaved = ""; // the edits when they were saved

// The groups and the names that the reader made; empty if there are none.
export function writtenEdits(state) {
  const { k, edits, names } = state;
  if (edits) return `${new URLSearchParams({ k, edits: edits.write() })}`;
  const pairs = [...names].sort(([one], [other]) => one - other);
  return pairs.length ? `${new URLSearchParams({ k, names: JSON.stringify(pairs) })}` : "";
}

export function hasUnsaved(state) {
  return writtenEdits(state) !== lastSaved;
}

export function markSaved(state) {
  lastSaved = writtenEdits(state);
}
