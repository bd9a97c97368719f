// Compose: the form, the check with the cluster, the start.
import { formProblems, specOf } from "../derive/manifest.js";
import { prefilled } from "../derive/offer.js";
import { focus, request } from "../effects.js";
import { listOf, numberOr, recordOf, stringOf } from "../safe.js";
import { emptyForm, noRest } from "../state.js";
import { Go } from "./route.js";
import { refusedOr } from "./problems.js";

export function SetField(state, { field, value }) {
  const form = { ...state.compose, [field]: value, dry: null, problem: null };
  const moved = field === "namespace" && value !== state.compose.namespace;
  return { ...state, compose: moved ? prefilled({ ...form, guild: "" }, state.config) : form };
}

/** Starts without what the form does not show; a Guild of its own stays, since nothing else stands for it. */
export const LeaveRest = (state) => ({
  ...state,
  compose: { ...state.compose, rest: { ...noRest(), guild: state.compose.rest.guild }, dry: null, problem: null },
});

export function Submit(state, dryRun) {
  const form = state.compose;
  if (form.busy !== "") return state;
  const problems = formProblems(form);
  if (problems.length > 0)
    return [{ ...state, compose: { ...form, showProblems: true } }, focus(`#compose-${problems[0].field}`)];
  const body = { namespace: form.namespace, ...(form.name ? { name: form.name } : {}), spec: specOf(form) };
  return [
    { ...state, compose: { ...form, busy: dryRun ? "dry" : "create", problem: null, dry: null } },
    request("POST", `/api/runs${dryRun ? "?dryRun=true" : ""}`, SubmitAnswered, { body, tag: dryRun }),
  ];
}

export function SubmitAnswered(state, answer) {
  const compose = { ...state.compose, busy: "" };
  if (!answer.ok)
    return refusedOr({ ...state, compose }, answer, { ...state, compose: { ...compose, problem: answer.problem } });
  const created = recordOf(answer.data);
  if (answer.tag === true)
    return {
      ...state,
      compose: { ...compose, dry: { manifest: stringOf(created.manifest), warnings: listOf(created.warnings) } },
    };
  const runId = stringOf(created.id);
  return Go(
    { ...state, created: runId, compose: { ...emptyForm(), namespace: compose.namespace, guild: compose.guild } },
    { screen: "watch", runId, uid: "", view: "flow", op: "", at: null, q: "" },
  );
}

/** Fills Compose from a Run that was watched; what no field shows is taken over, and named there. */
export function RunAgain(state, detail) {
  const { spec, summary } = detail;
  const { workspace, budget } = spec;
  const source = ["git", "claim", "archive", "template"].find((name) => workspace[name]) ?? "none";
  const compose = {
    ...emptyForm(),
    namespace: stringOf(summary?.namespace),
    guild: stringOf(spec?.guildRef?.name),
    task: stringOf(spec?.task),
    source,
    gitUrl: stringOf(workspace.git?.url),
    gitRef: stringOf(workspace.git?.ref),
    gitSecret: stringOf(workspace.git?.secret),
    claim: stringOf(workspace.claim?.name),
    template: stringOf(workspace.template?.claim),
    configMap: stringOf(workspace.archive?.configMap),
    key: stringOf(workspace.archive?.key) || "workspace.tar.gz",
    strip: String(workspace.archive?.stripComponents || ""),
    image: stringOf(spec?.image),
    dollars: numberOr(budget.costMicroUSD) === null ? "" : String(budget.costMicroUSD / 1e6),
    tokens: String(budget.tokens ?? ""),
    steps: String(budget.steps ?? ""),
    minutes: numberOr(budget.seconds) === null ? "" : String(budget.seconds / 60),
    mode: spec.mode || "interactive",
    private: spec.private,
    deliver: spec.private ? "patch" : spec.deliver || "patch",
    rest: spec.rest,
  };
  return Go({ ...state, compose, modal: null }, { screen: "compose", q: "" });
}
