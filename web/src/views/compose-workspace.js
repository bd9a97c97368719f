// Compose's workspace: where the files come from.
import { h } from "../h.js";
import { Field, Select } from "./fields.js";

export function WorkspaceFields(form, problems) {
  const field = (name, label, hint, placeholder) =>
    Field({ field: name, label, hint, value: form[name], problems, placeholder });
  return h("fieldset", {}, [
    h("legend", {}, "Workspace"),
    Select("source", "Source", form.source, [
      ["none", "Empty workspace"],
      ["git", "Git repository"],
      ["archive", "Archive in a ConfigMap"],
      ["claim", "Existing volume claim"],
      ["template", "Copy of a volume claim"],
    ]),
    form.source === "git" &&
      h("div", { class: "field-row", key: "git" }, [
        field("gitUrl", "Repository", "", "https://…"),
        field("gitRef", "Branch, tag or commit", "If empty: the default branch"),
        field("gitSecret", "Secret to read it with", "If empty: none, for a public repository"),
      ]),
    form.source === "archive" &&
      h("div", { class: "field-row", key: "archive" }, [
        field("configMap", "ConfigMap", ""),
        field("key", "Key", ""),
        Field({
          field: "strip",
          label: "Strip components",
          hint: "0 to 8",
          value: form.strip,
          problems,
          type: "number",
        }),
      ]),
    form.source === "claim" &&
      h("div", { key: "claim" }, [field("claim", "Claim", "It is changed in place, by one run at a time.")]),
    form.source === "template" &&
      h("div", { key: "template" }, [
        field("template", "Claim", "Its storage class makes the copy; the claim itself is not changed."),
      ]),
  ]);
}
