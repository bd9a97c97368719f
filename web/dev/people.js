// Questions and approvals of the fixture backend: what waits, what an act does to it, and the events that tell of it.

export const HASH = "c0ffee".repeat(10) + "c0ff";
const MINUTE = 60_000;

const stamp = (ms) => new Date(ms).toISOString();

/** What waits in the fixture runs, beginning at `nowMs`. */
export function createWaiting(nowMs) {
  const times = (minutes) => ({
    state: "open",
    askedAt: stamp(nowMs - MINUTE),
    expiresAt: stamp(nowMs + minutes * MINUTE),
  });
  const questions = [
    {
      run: "demo.ask-first",
      question: {
        run: "uid-ask",
        id: "q1",
        kind: "question",
        role: "planner",
        text: "May I add a parameter `strict` to `slug()`? It changes the *public* signature.",
        context: "Two callers outside the package use it:\n\n- `shop/urls.py`, line 40\n- `blog/feed.py`, line 12",
        options: ["Yes, with a default", "No, keep the signature"],
        ...times(24),
      },
    },
  ];
  const approvals = [
    {
      run: "demo.wants-approval",
      approval: {
        run: "uid-approve",
        approvalId: "a1",
        callId: "t31",
        role: "reviewer",
        tool: "deploy_service",
        effect: "consequential",
        arguments:
          '{"environment":"staging","image":"registry.test/textkit:1.4.2","replicas":2,"script":"make check\\nmake release"}',
        argumentsBytes: 112,
        argumentsHash: HASH,
        ...times(3.7),
      },
    },
  ];
  return { questions, approvals };
}

const views = (list, field, idField, params, may) =>
  list
    .filter((view) => !params.get("run") || view.run === params.get("run"))
    .filter((view) => (params.get("id") ? view[field][idField] === params.get("id") : view[field].state === "open"))
    .map((view) => ({ ...view, uid: view[field].run, label: view.run, may }));

/** Answers for the four routes; null for any other. `told(runId, event fields)` lets an event happen. */
export function peopleRoutes(waiting, state, told) {
  const problem = (status, title, detail = "") => ({ status, json: { type: "about:blank", title, status, detail } });
  const may = () => state.mayAct !== false;
  const lists = {
    "/api/questions": (params) => ({ questions: views(waiting.questions, "question", "id", params, may()) }),
    "/api/approvals": (params) => ({ approvals: approvalViews(params) }),
  };

  function approvalViews(params) {
    return views(waiting.approvals, "approval", "approvalId", params, may()).map((view) => {
      const long = view.approval.arguments.length > 16384 && !params.get("id");
      return long ? { ...view, approval: { ...view.approval, arguments: undefined } } : view;
    });
  }

  function act(list, field, idField, id, after) {
    const view = list.find((one) => one[field][idField] === id);
    if (view === undefined) return problem(404, `No such ${field}`);
    if (state.refuseActs)
      return problem(409, `The ${field} is closed`, "It was answered already. Nothing was changed.");
    if (view[field].state !== "open") return problem(409, `The ${field} is closed`, "It was answered already.");
    after(view);
    return { status: 202, json: { id: `act-${id}`, uid: `uid-act-${id}` } };
  }

  function answer(body) {
    return act(waiting.questions, "question", "id", body.questionId, (view) => {
      view.question.state = "answered";
      told(view.run, {
        type: "question.answered",
        questionId: body.questionId,
        outcome: "success",
        text: body.text,
        author: "jane@example.test",
      });
    });
  }

  function decide(body) {
    const wanted = waiting.approvals.find((one) => one.approval.approvalId === body.approvalId);
    if (wanted && wanted.approval.argumentsHash !== body.argumentsHash)
      return problem(409, "These are not the arguments that wait", "Look at its arguments again.");
    return act(waiting.approvals, "approval", "approvalId", body.approvalId, (view) => {
      view.approval.state = body.decision === "approve" ? "approved" : "denied";
      told(view.run, {
        type: "approval.decided",
        approvalId: body.approvalId,
        outcome: body.decision === "approve" ? "success" : "error",
        decision: body.decision,
        author: "jane@example.test",
      });
    });
  }

  return (method, pathname, params, body) => {
    if (method === "GET") return lists[pathname] ? { status: 200, json: lists[pathname](params) } : null;
    if (method !== "POST") return null;
    if (pathname !== "/api/answer" && pathname !== "/api/approvals") return null;
    state.acts.push({ [pathname]: body });
    return pathname === "/api/answer" ? answer(body) : decide(body);
  };
}
