// Compose: a task, a workspace, a Guild, a budget; beside it the same as YAML, and in one sentence what the run can reach.
import { h } from "../h.js";
import { listOf, recordOf, table, text } from "../safe.js";
import { TOOL_EFFECTS } from "../contract.js";
import { deliveryOf, formProblems, manifestOf, ownGuild, takenOver } from "../derive/manifest.js";
import { defaultBudget, isScripted, reachOf } from "../derive/offer.js";
import { Copy, LeaveRest, Submit } from "../actions.js";
import { WorkspaceFields } from "./compose-workspace.js";
import { Field, Select, set } from "./fields.js";
import { Icon } from "./icons.js";
import { Button, Chip, Problem } from "./parts.js";
import { Prose } from "./prose.js";

export function Compose(state, store) {
  const form = state.compose;
  const problems = form.showProblems ? new Map(formProblems(form).map((one) => [one.field, one.message])) : new Map();
  return h("main", { class: "compose" }, [
    h(
      "form",
      {
        class: ["compose-form", form.busy !== "" && "is-busy"].filter(Boolean),
        novalidate: "",
        "aria-busy": form.busy !== "" ? "true" : "false",
        onsubmit: [
          Submit,
          (event) => {
            event.preventDefault();
            return false;
          },
        ],
      },
      [
        h("h1", {}, "New run"),
        TaskField(form, problems, store),
        h("div", { class: "field-row" }, [
          NamespaceField(state, form, problems),
          Field({ field: "name", label: "Name", hint: "If empty: one is made, such as run-x7k2q", value: form.name, problems }),
        ]),
        GuildField(state, form, problems),
        WorkspaceFields(form, problems),
        BudgetFields(state, form, problems),
        HowFields(state, form, problems),
        TakenOver(form),
        h("div", { class: "compose-acts" }, [
          Button({
            action: [Submit, true],
            icon: "shield",
            label: form.busy === "dry" ? "Checking…" : "Check with the cluster",
            disabled: form.busy !== "",
          }),
          h("button", { type: "submit", class: "button button--primary", disabled: form.busy !== "" }, [
            Icon("running", 16),
            h("span", {}, form.busy === "create" ? "Starting…" : "Start the run"),
          ]),
        ]),
        form.problem && Problem(form.problem),
      ],
    ),
    Beside(state, form),
  ]);
}

function TaskField(form, problems, store) {
  return h("div", { class: "field" }, [
    h("label", { for: "compose-task" }, "Task"),
    h("textarea", {
      id: "compose-task",
      rows: 9,
      value: form.task,
      oninput: set("task"),
      placeholder: "What should be done? Markdown is welcome.",
      "aria-invalid": problems.has("task") ? "true" : "false",
      "aria-describedby": "compose-task-note",
    }),
    h(
      "p",
      { id: "compose-task-note", class: problems.has("task") ? "field-error" : "hint" },
      problems.get("task") ?? `${new TextEncoder().encode(form.task).length.toLocaleString("en")} of 65,536 bytes`,
    ),
    form.task.trim() !== "" &&
      h("details", { class: "preview", open: true }, [h("summary", {}, "Preview"), Prose(store, form.task)]),
  ]);
}

const NamespaceField = (state, form, problems) =>
  Select(
    "namespace",
    "Namespace",
    form.namespace,
    [["", "Choose…"], ...listOf(state.config?.namespaces).map((name) => [text(name, 63), text(name, 63)])],
    problems.get("namespace"),
  );

const ImageField = (state, form, problems) =>
  Field({
    field: "image",
    label: "Workshop image",
    hint:
      listOf(state.config?.images).length > 0
        ? `for example ${listOf(state.config.images)
            .slice(0, 2)
            .map((image) => text(image, 80))
            .join(", ")}`
        : "If empty: the platform's image",
    value: form.image,
    problems,
  });

function GuildField(state, form, problems) {
  const guilds = listOf(state.config?.guilds)
    .map(recordOf)
    .filter((guild) => guild.namespace === form.namespace);
  const chosen = guilds.find((guild) => guild.name === form.guild);
  return h("fieldset", {}, [
    h("legend", {}, "Guild"),
    guilds.length === 0 && form.rest.guild === null
      ? h(
          "p",
          { class: "hint" },
          form.namespace === ""
            ? "Choose a namespace to see its Guilds."
            : "This namespace has no Guilds yet. Apply one with kubectl.",
        )
      : h(
          "div",
          { class: "guilds", role: "radiogroup", "aria-label": "Guild", id: "compose-guild", tabindex: "-1" },
          [form.rest.guild !== null && OwnGuild(form), ...guilds.map((guild) => GuildOption(guild, form))],
        ),
    problems.has("guild") && h("p", { class: "field-error" }, problems.get("guild")),
    chosen &&
      h(
        "div",
        { class: "roles" },
        listOf(chosen.spec?.roles).map((role) => RoleCard(state, role, chosen)),
      ),
  ]);
}

const OwnGuild = (form) =>
  h("label", { class: ["guild-option", ownGuild(form) && "is-active"].filter(Boolean), key: "" }, [
    h("input", { type: "radio", name: "guild", value: "", checked: ownGuild(form), onchange: set("guild") }),
    h("span", {}, "The Guild written into the earlier run"),
  ]);

const SCRIPTED = "Its models replay scenario files: it does the task each was written for, on the workspace it was written for";

const GuildOption = (guild, form) =>
  h(
    "label",
    { class: ["guild-option", guild.name === form.guild && "is-active"].filter(Boolean), key: text(guild.name, 253) },
    [
      h("input", {
        type: "radio",
        name: "guild",
        value: text(guild.name, 253),
        checked: guild.name === form.guild,
        disabled: guild.accepted !== true,
        onchange: set("guild"),
      }),
      h("span", {}, text(guild.name, 80)),
      isScripted(guild.spec) && Chip("info", "spark", "scripted", SCRIPTED),
      guild.accepted !== true && Chip("bad", "warn", "not accepted", text(guild.message, 400)),
      guild.accepted !== true && h("small", { class: "hint" }, text(guild.message, 200)),
    ],
  );

const BUILT_IN = table(TOOL_EFFECTS);
const EFFECT_WORDS = table({ read: "reads", write: "writes", consequential: "acts outside" });

function RoleCard(state, role, guild) {
  const resolved = listOf(guild.roles).find((one) => one?.name === role?.name);
  const effects = new Map(listOf(state.config?.tools).map((tool) => [tool?.name, tool?.effect]));
  const tools = listOf(resolved?.tools ?? role?.tools);
  return h("div", { class: "role-card", key: text(role?.name, 80) }, [
    h("strong", {}, text(role?.label || state.labels.role(role?.name), 80)),
    role?.name === guild.spec?.entryRole && Chip("info", "first", "starts"),
    role?.handler && Chip("quiet", "handler", "watches"),
    role?.description && h("p", { class: "hint" }, text(role.description, 300)),
    h(
      "ul",
      { class: "tool-words" },
      tools.map((tool) => {
        const effect = effects.get(tool) ?? BUILT_IN[tool] ?? "consequential";
        return h(
          "li",
          {
            class: `tool-word tool-word--${EFFECT_WORDS[effect] ? effect : "consequential"}`,
            key: text(tool, 64),
            title: EFFECT_WORDS[effect] ?? "acts outside",
          },
          [state.labels.tool(tool), h("small", {}, EFFECT_WORDS[effect] ?? "acts outside")],
        );
      }),
    ),
  ]);
}

function BudgetFields(state, form, problems) {
  const defaults = defaultBudget(state.config, form);
  return h("fieldset", {}, [
    h("legend", {}, "Budget"),
    h(
      "div",
      { class: "field-row field-row--four" },
      [
        ["dollars", "Cost, $"],
        ["tokens", "Tokens"],
        ["steps", "Steps"],
        ["minutes", "Minutes"],
      ].map(([field, label]) =>
        Field({ field, label, hint: `If empty: ${defaults[field]}`, value: form[field], problems, type: "number" }),
      ),
    ),
  ]);
}

function HowFields(state, form, problems) {
  return h("fieldset", {}, [
    h("legend", {}, "How it runs"),
    h("div", { class: "field-row" }, [
      Select("mode", "Mode", form.mode, [
        ["interactive", "Interactive: may ask you"],
        ["scheduled", "Scheduled: asks nobody"],
      ]),
      ImageField(state, form, problems),
      Select("deliver", "Its changes become", deliveryOf(form), deliveries(form), problems.get("deliver")),
    ]),
    h("label", { class: "check" }, [
      h("input", { type: "checkbox", checked: form.private, onchange: set("private") }),
      "Private: nothing is kept after it ends",
    ]),
  ]);
}

const deliveries = (form) =>
  form.private
    ? [["none", "Nothing: it is private"]]
    : [
        ["patch", "A patch to download"],
        ["branch", "A new branch, pushed"],
        ["none", "Only a report"],
      ];

function TakenOver(form) {
  const names = takenOver(form);
  return (
    names.length > 0 &&
    h("div", { class: "taken-over", key: "rest" }, [
      h("p", { class: "hint" }, `Taken over from the earlier run: ${text(names.join(", "), 400)}.`),
      Button({ action: [LeaveRest], icon: "cancelled", label: "Leave them out", small: true }),
    ])
  );
}

function Beside(state, form) {
  const manifest = form.dry?.manifest || manifestOf(form);
  return h("aside", { class: "beside", "aria-label": "The run as a resource" }, [
    h("p", { class: "reach" }, [Icon("shield", 16), h("span", {}, reachOf(form, state.config, state.labels))]),
    h("div", { class: "beside-head" }, [
      h("h2", {}, form.dry ? "As the cluster would take it" : "The same as YAML"),
      Button({ action: [Copy, manifest], icon: "copy", label: "Copy", small: true, tone: "quiet" }),
    ]),
    form.dry &&
      h("div", { class: "dry" }, [
        Chip("good", "succeeded", "the cluster accepts this run"),
        ...listOf(form.dry.warnings)
          .slice(0, 20)
          .map((warning) => h("p", { class: "hint" }, text(warning, 500))),
      ]),
    h("pre", { class: "data yaml", tabindex: "0", "aria-label": "YAML" }, text(manifest, 131072)),
  ]);
}
