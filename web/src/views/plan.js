// The plan: a disclosure with one item per line, each with its state as icon and word.
import { h } from "../h.js";
import { table, text } from "../safe.js";
import { TogglePlan } from "../actions.js";
import { shownModel } from "../state.js";
import { Icon } from "./icons.js";
import { Prose } from "./prose.js";

const ICONS = table({ pending: "pending", active: "active", done: "success", dropped: "cancelled" });
const WORDS = table({ pending: "to do", active: "doing", done: "done", dropped: "dropped" });

export function Plan(state, store) {
  const { plan } = shownModel(state).run;
  if (plan.length === 0) return null;
  const done = plan.filter((item) => item.status === "done").length;
  const now = plan.find((item) => item.status === "active");
  return h("section", { class: ["plan", state.planOpen && "plan--open"].filter(Boolean), "aria-label": "Plan" }, [
    h(
      "button",
      { type: "button", class: "plan-toggle", "aria-expanded": state.planOpen ? "true" : "false", onclick: TogglePlan },
      [
        Icon("chevron", 14),
        h("strong", {}, "Plan"),
        h("span", {}, `${done} of ${plan.length}`),
        h("progress", { max: plan.length, value: done, "aria-label": "Plan progress" }),
        now && !state.planOpen && h("span", { class: "plan-now" }, text(now.text, 160)),
      ],
    ),
    state.planOpen &&
      h(
        "ol",
        { class: "plan-items" },
        plan.map((item, index) =>
          h(
            "li",
            { key: String(index), class: `plan-item plan-item--${WORDS[item.status] ? item.status : "pending"}` },
            [
              Icon(ICONS[item.status] ?? "pending", 15),
              h("span", { class: "plan-state" }, WORDS[item.status] ?? ""),
              Prose(store, item.text),
            ],
          ),
        ),
      ),
  ]);
}
