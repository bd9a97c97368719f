// Compose's form as a Run: the spec that is sent, and the same as YAML for kubectl. Pure.

/** The `spec` of a Run from the form; empty fields are left out, so that the cluster's defaults apply. */
export function specOf(form) {
  const spec = { guildRef: { name: form.guild }, task: form.task };
  const workspace = workspaceOf(form);
  if (workspace !== null) spec.workspace = workspace;
  if (form.image) spec.image = form.image;
  const budget = budgetOf(form);
  if (Object.keys(budget).length > 0) spec.budget = budget;
  if (form.mode !== "interactive") spec.mode = form.mode;
  if (form.private) {
    spec.private = true;
    spec.deliver = "none";
  }
  return spec;
}

function workspaceOf({ source, gitUrl, gitRef, claim, configMap, key, strip }) {
  if (source === "git") return { git: { url: gitUrl, ...(gitRef ? { ref: gitRef } : {}) } };
  if (source === "claim") return { claim: { name: claim } };
  if (source !== "archive") return null;
  return {
    archive: { configMap, ...(key ? { key } : {}), ...(Number(strip) > 0 ? { stripComponents: Number(strip) } : {}) },
  };
}

function budgetOf({ dollars, tokens, steps, minutes }) {
  const budget = {};
  if (dollars !== "" && Number(dollars) >= 0) budget.costMicroUSD = Math.round(Number(dollars) * 1e6);
  if (Number(tokens) > 0) budget.tokens = Math.round(Number(tokens));
  if (Number(steps) > 0) budget.steps = Math.round(Number(steps));
  if (Number(minutes) > 0) budget.seconds = Math.round(Number(minutes) * 60);
  return budget;
}

/** What keeps the form from being sent, as [{field, message}]; empty when nothing does. */
export function formProblems(form) {
  const problems = [];
  const need = (field, ok, message) => {
    if (!ok) problems.push({ field, message });
  };
  need("namespace", form.namespace !== "", "Choose a namespace.");
  need("guild", form.guild !== "", "Choose a Guild.");
  need("task", form.task.trim() !== "", "Write a task.");
  need("task", new TextEncoder().encode(form.task).length <= 65536, "The task is over 64 KiB; shorten it.");
  need(
    "name",
    form.name === "" || /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(form.name),
    "A name has lower-case letters, digits, dashes and dots.",
  );
  if (form.source === "git")
    need(
      "gitUrl",
      /^(https|ssh|git):\/\/\S+$/.test(form.gitUrl),
      "A git address begins with https:// or ssh://.",
    );
  if (form.source === "claim") need("claim", form.claim !== "", "Name the volume claim.");
  if (form.source === "archive") need("configMap", form.configMap !== "", "Name the ConfigMap that holds the archive.");
  for (const field of ["dollars", "tokens", "steps", "minutes"]) {
    need(
      field,
      form[field] === "" || (Number.isFinite(Number(form[field])) && Number(form[field]) >= 0),
      "A budget is a number, 0 or more.",
    );
  }
  return problems;
}

/** A Run resource as YAML. */
export function manifestOf(form) {
  const metadata = form.name ? { name: form.name } : { generateName: "run-" };
  return yaml({
    apiVersion: "guildhall.dev/v1alpha1",
    kind: "Run",
    metadata: { ...metadata, namespace: form.namespace || "default" },
    spec: specOf(form),
  });
}

/** YAML of plain records, lists and scalars; strings that could be read as anything else are quoted. */
export function yaml(value, indent = "") {
  if (Array.isArray(value)) {
    return value
      .map((one) => `${indent}- ${isNested(one) ? yaml(one, `${indent}  `).trimStart() : scalar(one, indent)}`)
      .join("");
  }
  return Object.entries(value)
    .map(([name, one]) =>
      isNested(one)
        ? `${indent}${key(name)}:\n${yaml(one, `${indent}  `)}`
        : `${indent}${key(name)}: ${scalar(one, indent)}`,
    )
    .join("");
}

const isNested = (value) => value !== null && typeof value === "object";
const key = (name) => (/^[A-Za-z][A-Za-z0-9_.-]*$/.test(name) ? name : JSON.stringify(name));
const AMBIGUOUS = /^(?:true|false|yes|no|on|off|null|~|y|n)$/i;

function scalar(value, indent) {
  if (typeof value !== "string") return `${value}\n`;
  if (/\n/.test(value) && isBlockSafe(value)) return block(value, indent);
  return /^[A-Za-z/][A-Za-z0-9 _./@+-]*[A-Za-z0-9/]$|^[A-Za-z]$/.test(value) && !AMBIGUOUS.test(value)
    ? `${value}\n`
    : `${JSON.stringify(value)}\n`;
}

// A literal block may not begin with a space or hold characters that YAML does not print.
const isBlockSafe = (value) =>
  !/^[ \n\t]/.test(value) &&
  !/[^\n\t\x20-\x7e\u00a1-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\uffef\u{10000}-\u{10ffff}]|\t/u.test(value);

function block(value, indent) {
  const keep = value.endsWith("\n\n") ? "+" : value.endsWith("\n") ? "" : "-";
  const body = value.replace(/\n$/, "").split("\n");
  return `|${keep}\n${body.map((line) => (line === "" ? "" : `${indent}  ${line}`)).join("\n")}\n`;
}
