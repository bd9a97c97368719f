// Guards Compose against the shape of a Run's spec, and a Run that is started again against losing what no form shows.
import { number, prose, ROLES_MAX_COUNT, string, strings, TOOLS_MAX_COUNT } from "./incoming-fields.js";
import { listOf, numberOr, recordOf } from "./safe.js";

const SOURCES = ["git", "claim", "archive", "template"];
const IN_FORM = new Set(["guildRef", "guild", "task", "workspace", "image", "budget", "mode", "private", "deliver"]);
const OF_ONE_RUN = new Set(["cancel", "suspend"]);

/** A Run's spec: the fields of the form by name, and in `rest` what only its YAML shows. */
export function readSpec(value) {
  const spec = recordOf(value);
  return {
    guildRef: { name: string(recordOf(spec.guildRef).name, 300) },
    guild: spec.guild ? readGuildSpec(spec.guild) : null,
    task: prose(spec.task),
    workspace: readWorkspace(recordOf(spec.workspace)),
    image: string(spec.image, 600),
    budget: readBudget(spec.budget),
    mode: string(spec.mode, 20),
    private: spec.private === true,
    deliver: string(spec.deliver, 20),
    rest: readRest(spec),
  };
}

function readWorkspace({ git, claim, archive, template }) {
  const workspace = {};
  if (git) {
    const { url, ref, secretRef } = recordOf(git);
    workspace.git = { url: string(url, 2100), ref: string(ref, 300), secret: string(recordOf(secretRef).name, 300) };
  }
  if (claim) workspace.claim = { name: string(recordOf(claim).name, 300) };
  if (template) workspace.template = { claim: string(recordOf(template).claim, 300) };
  if (archive)
    workspace.archive = {
      configMap: string(recordOf(archive).configMap, 300),
      key: string(recordOf(archive).key, 300),
      stripComponents: number(recordOf(archive).stripComponents),
    };
  return workspace;
}

/** What the form does not show: of the spec, of its workspace, of the workspace's source, and a Guild of its own. */
function readRest(spec) {
  const workspace = recordOf(spec.workspace);
  const { depth } = recordOf(workspace.git);
  const { subPath } = recordOf(workspace.claim);
  return {
    guild: spec.guild ? recordOf(spec.guild) : null,
    spec: others(spec, (name) => IN_FORM.has(name) || OF_ONE_RUN.has(name)),
    workspace: others(workspace, (name) => SOURCES.includes(name)),
    git: depth > 1 ? { depth } : {},
    claim: subPath ? { subPath: string(subPath, 4096) } : {},
  };
}

const isEmpty = (value) =>
  value === null || value === undefined || (typeof value === "object" && Object.keys(value).length === 0);

const others = (record, isShown) =>
  Object.fromEntries(Object.entries(record).filter(([name, value]) => !isShown(name) && !isEmpty(value)));

function readBudget(value) {
  const { costMicroUSD, tokens, steps, seconds } = recordOf(value);
  return {
    costMicroUSD: numberOr(costMicroUSD),
    tokens: numberOr(tokens),
    steps: numberOr(steps),
    seconds: numberOr(seconds),
  };
}

/** A Guild's spec: who is in it, and the budget it gives. */
export function readGuildSpec(value) {
  const spec = recordOf(value);
  return {
    defaults: readBudget(spec.defaults),
    entryRole: string(spec.entryRole, 80),
    models: Object.fromEntries(
      Object.entries(recordOf(spec.models))
        .slice(0, ROLES_MAX_COUNT)
        .map(([alias, model]) => [alias, string(model, 200)]),
    ),
    roles: listOf(spec.roles)
      .slice(0, ROLES_MAX_COUNT)
      .map((one) => {
        const role = recordOf(one);
        return {
          name: string(role.name, 80),
          label: string(role.label, 120),
          description: string(role.description, 2100),
          tools: strings(role.tools, TOOLS_MAX_COUNT, 80),
          delegates: strings(role.delegates, ROLES_MAX_COUNT, 80),
          handler: Boolean(role.handler),
        };
      }),
  };
}
