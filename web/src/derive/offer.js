// What a run of the Compose form would get: its budget where the form is silent, and what it can reach.
import { LIMITS, TOOL_EFFECTS } from "../contract.js";
import { money } from "../format.js";
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

const chosenGuild = (config, form) =>
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
  const where =
    form.source === "claim" && form.claim ? `the claim ${text(form.claim, 80)}, in place` : "a workspace of its own";
  const network =
    config?.isolationRequired === false
      ? "this cluster does not require proven isolation, so its code may reach the network"
      : "it reaches no network but the model gateway";
  const acts =
    outside.length > 0
      ? `, and acts outside only through ${outside.map(labels.tool).join(", ")}, each after your approval`
      : "";
  return `This run ${guild === undefined || writes ? "reads and changes" : "only reads"} ${where}; ${network}${acts}.`;
}
