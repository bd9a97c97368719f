// Guards the Changes view against a hostile patch: a total, bounded reading of unified diff text into plain rows.

export const PATCH_MAX_LINES = 200000;
const HUNK = /^@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@ ?(.*)$/;

/**
 * Patch text as [{path, rows}]; a row is {kind: "hunk" | "add" | "del" | "same" | "meta", text, old, new} with line numbers
 * or null. Any text gives a value; lines that belong to no file become a file named "". Pure.
 */
export function parsePatch(patch) {
  const files = [];
  let file = null;
  let at = { old: 0, new: 0 };
  let left = PATCH_MAX_LINES;
  for (const line of lines(patch)) {
    left -= 1;
    if (left < 0) break;
    if (line.startsWith("diff --git ")) {
      file = { path: pathOf(line), rows: [] };
      files.push(file);
      at = null;
      continue;
    }
    if (file === null) {
      file = { path: "", rows: [] };
      files.push(file);
    }
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      at = { old: Number(hunk[1]), new: Number(hunk[2]) };
      file.rows.push({ kind: "hunk", text: line, old: null, new: null });
    } else if (at === null) {
      const named = /^\+\+\+ (?:b\/)?(.+)$/.exec(line);
      if (named !== null && named[1] !== "/dev/null") file.path = named[1];
      else if (!line.startsWith("--- ") && !line.startsWith("index ") && line !== "")
        file.rows.push({ kind: "meta", text: line, old: null, new: null });
    } else file.rows.push(rowOf(line, at));
  }
  return { files, cut: left < 0 };
}

function* lines(patch) {
  let start = 0;
  while (start < patch.length) {
    const end = patch.indexOf("\n", start);
    yield end < 0 ? patch.slice(start) : patch.slice(start, end);
    if (end < 0) return;
    start = end + 1;
  }
}

function pathOf(line) {
  const found = / b\/(.+)$/.exec(line);
  return found === null ? line.slice(11) : found[1];
}

function rowOf(line, at) {
  if (line.startsWith("+")) return { kind: "add", text: line.slice(1), old: null, new: at.new++ };
  if (line.startsWith("-")) return { kind: "del", text: line.slice(1), old: at.old++, new: null };
  if (line.startsWith("\\")) return { kind: "meta", text: line, old: null, new: null };
  return { kind: "same", text: line.slice(1), old: at.old++, new: at.new++ };
}
