// Guards the sheets on which a person decides: what waits is read field by field into bounded strings and numbers.
// Arguments stay one string, whole, however long: only what is drawn of them is cut into rows.
import { string } from "./incoming-fields.js";
import { listOf, numberOr, recordOf, stringOf } from "./safe.js";

const WAITING_MAX_COUNT = 200;
const OPTIONS_MAX_COUNT = 16;
const ID = /^[A-Za-z0-9._-]{1,64}$/;
const HASH = /^[0-9a-f]{64}$/;

const matching = (value, pattern) => (typeof value === "string" && pattern.test(value) ? value : "");

const head = (view, item) => ({
  run: string(view.run, 400),
  uid: string(view.uid, 80),
  label: string(view.label, 300),
  may: view.may === true,
  role: string(item.role, 80),
  state: string(item.state, 20),
  askedAt: string(item.askedAt, 40),
  expiresAt: string(item.expiresAt, 40),
});

/** A QuestionPage as a list; one without a sound id cannot be answered and is left out. */
export const readQuestions = (value) =>
  listOf(recordOf(value).questions)
    .slice(0, WAITING_MAX_COUNT)
    .map((view) => {
      const item = recordOf(recordOf(view).question);
      return {
        ...head(recordOf(view), item),
        kind: "question",
        id: matching(item.id, ID),
        budget: item.kind === "budget",
        text: stringOf(item.text),
        context: stringOf(item.context),
        options: listOf(item.options)
          .slice(0, OPTIONS_MAX_COUNT)
          .map((option) => string(option, 400))
          .filter((option) => option !== ""),
      };
    })
    .filter((one) => one.id !== "");

/** An ApprovalPage as a list; `arguments` is null where the list left them out. */
export const readApprovals = (value) =>
  listOf(recordOf(value).approvals)
    .slice(0, WAITING_MAX_COUNT)
    .map((view) => {
      const item = recordOf(recordOf(view).approval);
      return {
        ...head(recordOf(view), item),
        kind: "approval",
        id: matching(item.approvalId, ID),
        callId: string(item.callId, 80),
        tool: string(item.tool, 200),
        effect: string(item.effect, 20),
        arguments: typeof item.arguments === "string" ? item.arguments : null,
        bytes: numberOr(item.argumentsBytes) ?? 0,
        hash: matching(item.argumentsHash, HASH),
      };
    })
    .filter((one) => one.id !== "" && one.hash !== "");
