// The fields of a form: each with its label, its hint or what is wrong with it.
import { h } from "../h.js";
import { SetField } from "../actions.js";

export const set = (field) => [
  SetField,
  (event) => ({ field, value: event.target.type === "checkbox" ? event.target.checked : event.target.value }),
];

export function Field({ field, label, hint = "", value, problems, type = "text", placeholder = "" }) {
  const bad = problems.get(field);
  return h("div", { class: "field", key: field }, [
    h("label", { for: `compose-${field}` }, label),
    h("input", {
      id: `compose-${field}`,
      type,
      value,
      placeholder,
      oninput: set(field),
      "aria-invalid": bad ? "true" : "false",
      "aria-describedby": `compose-${field}-note`,
      autocomplete: "off",
      spellcheck: "false",
      inputmode: type === "number" ? "decimal" : "text",
      ...(type === "number" ? { step: "any", min: "0" } : {}),
    }),
    h("p", { id: `compose-${field}-note`, class: bad ? "field-error" : "hint" }, bad ?? hint),
  ]);
}

export function Select(field, label, value, options, bad) {
  return h("div", { class: "field", key: field }, [
    h("label", { for: `compose-${field}` }, label),
    h(
      "select",
      { id: `compose-${field}`, onchange: set(field), value, "aria-invalid": bad ? "true" : "false" },
      options.map(([key, word]) => h("option", { value: key, key, selected: key === value }, word)),
    ),
    bad && h("p", { class: "field-error" }, bad),
  ]);
}
