// What a run of the Compose form would get: its budget where the form is silent, and what it can reach.
import { LIMITS, TOOL_EFFECTS } from "../contract.js";
import { money } from "../format.js";
import { deliveryOf, ownGuild } from "./manifest.js";
import { listOf, numberOr, recordOf, table, text } from "../safe.js";

const BUILT_IN = table(TOOL_EFFECTS);

/** What holds for each field of the budget that is left out, in words: the Guild's limit, else the product's. Pure. */
export function defaultBudget(config, form) {
  const guild = chosenGuild(config, form);
  const { costMicroUSD, tokens, steps, seconds } = recordOf(guild?.spec?.defaults);
  const said = (value, other, words = (one) => one.toLocaleString("en")) =>
    (numberOr(value) ?? other) === null ? "no limit of its own" : words(numberOr(value) ?? other);
  return {
    dollars: said(costMicroUSD, null, money),
    tokens: said(tokens, null),
    steps: said(steps, LIMITS.BUDGET_DEFAULT_STEPS_COUNT),
    minutes: said(seconds, LIMITS.BUDGET_DEFAULT_SECONDS, (one) => (one / 60).toLocaleString("en")),
  };
}

/** The form with what there is no choice about: the first namespace, and the Guild where a namespace has just one. Pure. */
export function prefilled(form, config) {
  const namespace = form.namespace || config?.namespaces?.[0] || "";
  const usable = listOf(config?.guilds).filter((one) => one?.namespace === namespace && one.accepted === true);
  const guild = form.guild === "" && form.rest.guild === null && usable.length === 1 ? text(usable[0].name, 253) : form.guild;
  return { ...form, namespace, guild };
}

/** Whether every model of a Guild's spec is a scenario file. Pure. */
export function isScripted(spec) {
  const models = Object.values(recordOf(spec?.models));
  return models.length > 0 && models.every((model) => model.startsWith("scripted:"));
}

const chosenGuild = (config, form) =>
  ownGuild(form) ? { spec: form.rest.guild } : offered(config, form);

const offered = (config, form) =>
  listOf(config?.guilds)
    .map(recordOf)
    .find((one) => one.namespace === form.namespace && one.name === form.guild);

/** What a run of this form can reach, in one sentence. Pure. */
export function reachOf(form, config, labels) {
  const guild = chosenGuild(config, form);
  const tools = new Set(listOf(guild?.roles ?? guild?.spec?.roles).flatMap((role) => listOf(role?.tools)));
  const effects = new Map(listOf(config?.tools).map((tool) => [tool?.name, tool?.effect]));
  const outside = [...tools].filter(
    (tool) => (effects.get(tool) ?? BUILT_IN[tool] ?? "consequential") === "consequential",
  );
  const writes = [...tools].some((tool) => (effects.get(tool) ?? BUILT_IN[tool]) === "write");
  const where = placeOf(form);
  const network =
    config?.isolationRequired === false
      ? "this cluster does not require proven isolation, so its code may reach the network"
      : "it reaches no network but the model gateway";
  const acts =
    outside.length > 0
      ? `, and acts outside only through ${outside.map(labels.tool).join(", ")}, each after your approval`
      : "";
  const pushed =
    deliveryOf(form) === "branch"
      ? " What it changes is pushed to a new branch of its repository, by a pod that never runs its code."
      : "";
  return `This run ${guild === undefined || writes ? "reads and changes" : "only reads"} ${where}; ${network}${acts}.${pushed}`;
}

function placeOf({ source, claim, template }) {
  if (source === "claim" && claim) return `the claim ${text(claim, 80)}, in place`;
  if (source === "template" && template) return `a copy of the claim ${text(template, 80)}`;
  return "a workspace of its own";
}
