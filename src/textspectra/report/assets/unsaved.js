// Whether the page has edits that are neither saved nor downloaded. Whatever saves them calls `markSaved`.

const savedListeners = [];
let lastSaved = ""; // the edits when they were saved

// The groups and the names that the reader made, as parts of an address; empty if there are none. The number of groups
// counts only together with them: a slider that was moved is no work that could be lost.
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
  for (const listener of savedListeners) listener(state);
}

// Listeners learn that the edits were saved.
export function whenSaved(listener) {
  savedListeners.push(listener);
}

// Asks before the page is closed, if work would be lost: without any edits, there is none.
export function askBeforeLeaving(state) {
  globalThis.addEventListener("beforeunload", (event) => {
    if (!writtenEdits(state) || !hasUnsaved(state)) return;
    event.preventDefault();
    event.returnValue = true; // for browsers of 2023 and before
  });
}
