// The cost strip: tokens, money, time, errors. Money comes from the gateway's ledger; the executor's figure is its claim.
import { clock, count, duration, money, runSeconds, UNKNOWN } from "../format.js";
import { numberOr } from "../safe.js";

/**
 * The newest totals the gateway has booked: a ledger is fetched with the model, a summary's `usage` comes while the Run goes on.
 * Returns a ledger, or null when there is neither.
 */
export function newestLedger(ledger, usage) {
  const calls = numberOr(usage?.calls);
  if (calls === null || calls <= (numberOr(ledger?.totals?.calls) ?? -1)) return ledger ?? null;
  return { ...ledger, totals: { ...ledger?.totals, ...usage } };
}

/**
 * `summary` is the Run's row; without it the time is that of the events.
 * {tokens, cached, output, cost, limit, fraction, time, errors, claim, scripted} as strings and numbers for the strip.
 * `fraction` is 0..1 of the cost limit, or of the token, step-free limit that is nearest, or null without any limit.
 */
export function deriveCostStrip(model, ledger, nowMs, summary = null) {
  const { run } = model;
  const totals = ledger?.totals ?? null;
  const source = totals ?? run.metrics;
  const cost = numberOr(source.costMicroUSD);
  const limit = numberOr(run.budget?.costMicroUSD);
  const seconds = runSeconds(summary, run, nowMs);
  const time = run.endedAt === undefined ? clock : duration;
  return {
    tokens: count(numberOr(source.tokens)),
    cached: count(numberOr(source.cachedPromptTokens)),
    output: count(numberOr(source.outputTokens)),
    cost: money(cost),
    limit: limit === null ? "" : money(limit),
    fraction: fractionOf(cost, limit, source.tokens, run.budget?.tokens),
    time: seconds === null ? UNKNOWN : time(seconds),
    timeLimit: numberOr(run.budget?.seconds) === null ? "" : time(run.budget.seconds),
    errors: run.errors,
    claim: claimOf(run, totals),
    scripted: run.scripted === true || ledger?.scripted === true,
    fromLedger: totals !== null,
  };
}

function fractionOf(cost, limit, tokens, tokenLimit) {
  const parts = [];
  if (cost !== null && limit !== null && limit > 0) parts.push(cost / limit);
  if (numberOr(tokens) !== null && numberOr(tokenLimit) !== null && tokenLimit > 0) parts.push(tokens / tokenLimit);
  return parts.length === 0 ? null : Math.min(1, Math.max(...parts));
}

// While a call runs the ledger is ahead; only an ended Run can be compared.
function claimOf(run, totals) {
  if (totals === null || run.endedAt === undefined) return "";
  const claimed = numberOr(run.metrics.costMicroUSD);
  const booked = numberOr(totals.costMicroUSD);
  const tokens = run.metrics.tokens !== totals.tokens || run.metrics.outputTokens !== totals.outputTokens;
  if (claimed === booked && !tokens) return "";
  return `The executor reported ${money(claimed)} and ${count(run.metrics.tokens)} tokens; the ledger has ${money(booked)} and ${count(totals.tokens)}.`;
}
