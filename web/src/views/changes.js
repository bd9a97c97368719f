// The patch as the executor derived it: files first (those that will run are marked), then the lines, windowed.
import { h, Lazy } from "../h.js";
import { attr, hasHidden, listOf, table, text } from "../safe.js";
import { parsePatch } from "../derive/patch.js";
import { plural } from "../format.js";
import { DownloadPatch, LoadChanges } from "../actions.js";
import { shownModel } from "../state.js";
import { Button, Chip, Empty, Problem } from "./parts.js";

const ROWS_SHOWN = 1500;

export function Changes(state) {
  const { status, view, problem } = state.changes;
  const { run } = shownModel(state);
  if (status === "failed")
    return h("div", { class: "changes" }, Problem(problem, [LoadChanges, run.patchSHA256 ?? "none"]));
  const files = view === null ? run.changedFiles : listOf(view.files);
  if (status !== "ready" && files.length === 0) return h("div", { class: "changes" }, Empty("Looking for changes…"));
  if (files.length === 0 && !view?.patch)
    return h(
      "div",
      { class: "changes" },
      Empty("No changes", text(view?.message || "The run has not changed the workspace.", 400)),
    );
  return h("div", { class: "changes", tabindex: "0", role: "region", "aria-label": "Changes" }, [
    Summary(files, view),
    Lazy({ view: Patch, patch: view?.patch ?? "" }),
  ]);
}

const Summary = (files, view) =>
  h("div", { class: "changes-summary", key: "summary" }, [
    SummaryHead(files, view),
    view?.message && h("p", { class: "hint" }, text(view.message, 600)),
    h(
      "ul",
      { class: "file-list" },
      files.slice(0, 500).map((file, index) => h("li", { key: String(index) }, FileLine(file))),
    ),
    listOf(view?.omitted).length > 0 && h("p", { class: "hint" }, `Left out of the patch: ${namesOf(view.omitted)}`),
  ]);

function SummaryHead(files, view) {
  const sum = (name) => files.reduce((total, file) => total + (Number(file?.[name]) || 0), 0);
  const risky = files.filter((file) => file?.willRun === true);
  return h("div", { class: "changes-head" }, [
    h("strong", {}, plural(files.length, "file")),
    h("span", { class: "added" }, `+${sum("added").toLocaleString("en")}`),
    h("span", { class: "removed" }, `−${sum("removed").toLocaleString("en")}`),
    risky.length > 0 &&
      Chip(
        "warn",
        "warn",
        `${plural(risky.length, "file")} will run`,
        "Hooks, build or CI files and agent instructions: they run by themselves sooner or later. Read them.",
      ),
    view?.patchSHA256 &&
      h(
        "code",
        { class: "sha", title: text(view.patchSHA256, 64) },
        `sha256 ${attr(view.patchSHA256, 64).slice(0, 12)}…`,
      ),
    view?.patch && Button({ action: DownloadPatch, icon: "download", label: "Download patch", small: true }),
  ]);
}

const FileLine = (file) => [
  h(
    "span",
    {
      class: `file-status file-status--${STATUS[file?.status] ? file.status : "modified"}`,
      title: STATUS[file?.status] ?? "",
    },
    LETTER[file?.status] ?? "M",
  ),
  h("code", {}, text(file?.path, 1024)),
  hasHidden(file?.path) && Chip("warn", "warn", "hidden characters"),
  file?.willRun === true && Chip("warn", "warn", "will run"),
  file?.generated === true && h("span", { class: "hint" }, "generated"),
  h("span", { class: "hint" }, file?.binary === true ? "binary" : LineCounts(file)),
];

const STATUS = table({ added: "added", modified: "modified", deleted: "deleted", renamed: "renamed" });
const LETTER = table({ added: "A", modified: "M", deleted: "D", renamed: "R" });

const LineCounts = (file) => [
  h("span", { class: "added" }, `+${Number(file?.added) || 0}`),
  " ",
  h("span", { class: "removed" }, `−${Number(file?.removed) || 0}`),
];

const namesOf = (paths) =>
  listOf(paths)
    .slice(0, 20)
    .map((path) => text(path, 200))
    .join(", ");

/** Diff lines as text nodes; hidden characters are written out. Long patches end with a word about the rest. */
function Patch({ patch }) {
  const { files, cut } = parsePatch(patch);
  let left = ROWS_SHOWN;
  const shown = [];
  for (const file of files) {
    if (left <= 0) break;
    const rows = file.rows.slice(0, left);
    left -= rows.length;
    shown.push(FilePatch(file, rows, shown.length));
  }
  const total = files.reduce((sum, file) => sum + file.rows.length, 0);
  return h("div", { class: "patch" }, [
    ...shown,
    (total > ROWS_SHOWN || cut) &&
      h(
        "p",
        { class: "hint", key: "rest" },
        `${(total - ROWS_SHOWN).toLocaleString("en")} more lines: download the patch to read them.`,
      ),
  ]);
}

const FilePatch = (file, rows, index) =>
  h("section", { class: "file-patch", key: String(index) }, [
    h("h3", {}, h("code", {}, text(file.path || "patch", 1024))),
    h(
      "div",
      { class: "diff", role: "table", tabindex: "0", "aria-label": `Changes of ${text(file.path, 200)}` },
      rows.map((row, at) =>
        h("div", { class: `diff-row diff-row--${row.kind}`, key: String(at), role: "row" }, [
          h("span", { class: "diff-no", role: "cell" }, row.old === null ? "" : String(row.old)),
          h("span", { class: "diff-no", role: "cell" }, row.new === null ? "" : String(row.new)),
          h("span", { class: "diff-sign", role: "cell" }, row.kind === "add" ? "+" : row.kind === "del" ? "−" : ""),
          h("code", { role: "cell" }, text(row.text, 4096)),
        ]),
      ),
    ),
  ]);
