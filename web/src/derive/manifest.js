// Compose's form as a Run: the spec that is sent, and the same as YAML for kubectl. Pure.

/** The `spec` of a Run from the form; empty fields are left out, so that the cluster's defaults apply. */
export function specOf(form) {
  const { rest } = form;
  const spec = ownGuild(form) ? { guild: rest.guild } : { guildRef: { name: form.guild } };
  spec.task = form.task;
  const workspace = { ...workspaceOf(form), ...rest.workspace };
  if (Object.keys(workspace).length > 0) spec.workspace = workspace;
  if (form.image) spec.image = form.image;
  const budget = budgetOf(form);
  if (Object.keys(budget).length > 0) spec.budget = budget;
  if (form.mode !== "interactive") spec.mode = form.mode;
  if (form.private) spec.private = true;
  const deliver = deliveryOf(form);
  if (deliver !== "patch") spec.deliver = deliver;
  return { ...spec, ...fitting(rest.spec, form) };
}

/** Whether the Run brings the Guild that was written into the earlier one. */
export const ownGuild = (form) => form.guild === "" && form.rest.guild !== null;

/** Where the changes go: a private Run delivers nothing, whatever was chosen before. */
export const deliveryOf = (form) => (form.private ? "none" : form.deliver);

/** The names of what is taken over from the Run that is started again, beside what the form shows. */
export const takenOver = (form) => [
  ...Object.keys(form.rest.workspace),
  ...(form.source === "git" ? Object.keys(form.rest.git) : []),
  ...(form.source === "claim" ? Object.keys(form.rest.claim) : []),
  ...Object.keys(fitting(form.rest.spec, form)),
];

// What goes with a branch or a private Run only would keep any other from being accepted.
function fitting({ publish, retainSeconds, ...others }, form) {
  return {
    ...others,
    ...(publish !== undefined && deliveryOf(form) === "branch" ? { publish } : {}),
    ...(retainSeconds !== undefined && form.private ? { retainSeconds } : {}),
  };
}

function workspaceOf({ source, gitUrl, gitRef, gitSecret, claim, template, configMap, key, strip, rest }) {
  if (source === "git") {
    const secret = gitSecret ? { secretRef: { name: gitSecret } } : {};
    return { git: { url: gitUrl, ...(gitRef ? { ref: gitRef } : {}), ...rest.git, ...secret } };
  }
  if (source === "claim") return { claim: { name: claim, ...rest.claim } };
  if (source === "template") return { template: { claim: template } };
  if (source !== "archive") return {};
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
  need("guild", form.guild !== "" || ownGuild(form), "Choose a Guild.");
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
  need(
    "deliver",
    deliveryOf(form) !== "branch" || form.source === "git",
    "A branch is pushed to the git repository the workspace comes from: choose one, or deliver a patch.",
  );
  if (form.source === "template") need("template", form.template !== "", "Name the volume claim to copy.");
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

const isNested = (value) => value !== null && typeof value === "object" && Object.keys(value).length > 0;
const key = (name) =>
  /^[A-Za-z][A-Za-z0-9_.-]*$/.test(name) && !AMBIGUOUS.test(name) ? name : JSON.stringify(name);
const AMBIGUOUS = /^(?:true|false|yes|no|on|off|null|~|y|n)$/i;

function scalar(value, indent) {
  if (value !== null && typeof value === "object") return Array.isArray(value) ? "[]\n" : "{}\n";
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
