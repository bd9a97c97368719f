// The cost strip: tokens, money, time, errors. Money comes from the gateway's ledger; the executor's figure is its claim.
import { clock, count, duration, money, runSeconds, UNKNOWN } from "../format.js";
import { numberOr } from "../safe.js";

/**
 * The newest totals the gateway has booked: a ledger is fetched with the model, a summary's `usage` comes while the Run goes on
 * and may lag behind it. Nothing booked ever becomes less. Returns a ledger, or null when there is neither.
 */
export function newestLedger(ledger, usage) {
  if (!usage) return ledger ?? null;
  const known = ledger?.totals ?? {};
  const behind = BOOKED.some((name) => (numberOr(usage[name]) ?? 0) < (numberOr(known[name]) ?? 0));
  return behind ? ledger : { totals: usage, scripted: ledger?.scripted === true, cut: ledger?.cut ?? 0 };
}

const BOOKED = ["calls", "tokens", "outputTokens", "limitMicroUSD", "limitTokens"];

/**
 * `summary` is the Run's row; without it the time is that of the events.
 * {tokens, cached, output, cost, limit, fraction, time, errors, claim, difference, scripted} as strings and numbers for the strip.
 * `fraction` is 0..1 of the cost limit, or of the token, step-free limit that is nearest, or null without any limit.
 */
export function deriveCostStrip(model, ledger, nowMs, summary = null) {
  const { run } = model;
  const totals = ledger?.totals ?? null;
  const source = totals ?? run.metrics;
  const cost = numberOr(source.costMicroUSD);
  // The ledger knows the budget from the first call on.
  const limit = numberOr(totals?.limitMicroUSD) ?? numberOr(run.budget?.costMicroUSD);
  const tokenLimit = numberOr(totals?.limitTokens) ?? numberOr(run.budget?.tokens);
  const seconds = runSeconds(summary, run, nowMs);
  const time = run.endedAt === undefined ? clock : duration;
  return {
    tokens: count(numberOr(source.tokens)),
    cached: count(numberOr(source.cachedPromptTokens)),
    output: count(numberOr(source.outputTokens)),
    cost: money(cost),
    limit: limit === null ? "" : money(limit),
    fraction: fractionOf(cost, limit, source, tokenLimit),
    time: seconds === null ? UNKNOWN : time(seconds),
    timeLimit: numberOr(run.budget?.seconds) === null ? "" : time(run.budget.seconds),
    errors: run.errors,
    claim: claimOf(run, totals),
    difference: differenceOf(ledger?.cut ?? 0),
    scripted: run.scripted === true || ledger?.scripted === true,
    fromLedger: totals !== null,
  };
}

function fractionOf(cost, limit, source, tokenLimit) {
  const tokens = (numberOr(source.tokens) ?? 0) + (numberOr(source.outputTokens) ?? 0);
  const parts = [];
  if (cost !== null && limit !== null && limit > 0) parts.push(cost / limit);
  if (tokenLimit !== null && tokenLimit > 0) parts.push(tokens / tokenLimit);
  return parts.length === 0 ? null : Math.min(1, Math.max(...parts));
}

// Of a call that was cut nobody knows what it cost: the gateway books the most, the executor nothing.
function differenceOf(cut) {
  if (cut === 0) return "figures differ";
  return `${cut} ${cut === 1 ? "call was" : "calls were"} cut off: booked at ${cut === 1 ? "its" : "their"} most`;
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
