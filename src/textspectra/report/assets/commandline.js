// Lines for a terminal.

// Double quotes mean the same to Unix shells, PowerShell and the command prompt of Windows, as long as no letter between
// them means something else there.
export function shellWord(word) {
  const safe = word.startsWith("-") ? `./${word}` : word;
  if (/^[\p{L}\p{N}_./-]+$/u.test(safe)) return safe;
  return /["$`\\!%\p{Cc}]/u.test(safe) ? `'${safe.replaceAll("'", "'\\''")}'` : `"${safe}"`;
}

// A command on the model of this page.
export function modelCommand(verb, { folder }) {
  return `textspectra ${verb} ${shellWord(folder ?? "NAME.model")}`;
}
