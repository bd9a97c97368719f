// The frame around every screen: top bar, sign-in, toast, keys help.
import { middleCut, nameOf, subtitleOf, titleOf } from "../derive/title.js";
import { h } from "../h.js";
import { table, text } from "../safe.js";
import { statusOfPhase } from "../labels.js";
import { Go, OpenModal, SignIn, SignInByKey, SignOut, ToggleNotify, ToggleTheme } from "../actions.js";
import { dayAndTime } from "../format.js";
import { isOver, needingHelp } from "../state.js";
import { formatRoute } from "../router.js";
import { Icon } from "./icons.js";
import { Button, Status, Waits } from "./parts.js";

const SCREENS = [
  ["watch", "Watch", "running"],
  ["history", "History", "pending"],
  ["compose", "Compose", "inquiry"],
];

/** The bar at the top: where one is, which run is viewed, whether it is live, who needs a person. */
export function TopBar(state) {
  const { route } = state;
  const help = needingHelp(state);
  return h("header", { class: "topbar" }, [
    h("a", { class: "brand", href: "#/", "aria-label": "Guildhall, watch" }, [
      Icon("brand", 20),
      h("span", {}, "Guildhall"),
    ]),
    h(
      "nav",
      { "aria-label": "Screens" },
      SCREENS.map(([screen, label]) => ScreenLink(state, screen, label)),
    ),
    h("div", { class: "topbar-run" }, RunPicker(state)),
    h("div", { class: "topbar-end" }, [
      help > 0 &&
        h(
          "a",
          {
            class: "chip chip--attention needs-you",
            href: attentionHref(state),
            "aria-label": `${needs(help)}, go to the run that waits`,
          },
          [Icon("awaiting", 14), h("b", {}, String(help)), h("span", {}, help === 1 ? " needs you" : " need you")],
        ),
      route.screen === "watch" && route.runId !== "" && Connection(state),
      Button({
        action: ToggleNotify,
        icon: state.notify.on ? "bell" : "bellOff",
        label: "Notify me when a run needs me or fails",
        hideText: true,
        tone: "quiet",
        pressed: state.notify.on,
      }),
      Button({
        action: ToggleTheme,
        icon: state.theme === "dark" ? "sun" : "moon",
        label: state.theme === "dark" ? "Light theme" : "Dark theme",
        hideText: true,
        tone: "quiet",
      }),
      Button({
        action: [OpenModal, { kind: "keys" }],
        icon: "keys",
        label: "Keyboard shortcuts",
        hideText: true,
        tone: "quiet",
      }),
      state.session.user !== "" && User(state.session.user),
    ]),
  ]);
}

const User = (user) =>
  h(
    "button",
    {
      type: "button",
      class: "button button--quiet user",
      "aria-label": `Sign out ${text(user, 300)}`,
      title: `${text(user, 300)}: sign out`,
      onclick: SignOut,
    },
    [Icon("human", 15), h("span", {}, shortUser(user))],
  );

// Of a service account the name: its namespace comes first and is long, so that a cut would leave nothing else.
const shortUser = (user) => text(user.replace(/^system:serviceaccount:[^:]*:/, ""), 40);

function ScreenLink(state, screen, label) {
  const here = state.route.screen === screen;
  const to = screen === "watch" ? { ...state.route, screen, q: "" } : { screen };
  return h(
    "a",
    {
      href: formatRoute(to),
      class: ["screen-link", here && "is-here"].filter(Boolean),
      ...(here ? { "aria-current": "page" } : {}),
    },
    label,
  );
}

const needs = (count) => `${count} ${count === 1 ? "needs" : "need"} you`;

// The run that is watched already comes last: a click leads to the next one that waits.
function attentionHref(state) {
  const waiting = state.runs.items.filter((run) => run.awaiting > 0);
  const other = waiting.find((run) => run.id !== state.route.runId) ?? waiting[0];
  return formatRoute({ screen: "watch", runId: other?.id ?? "" });
}

// Names return: a run that is only in history is named by its uid as well.
const valueOf = (run) => (run.live ? run.id : `${run.id}?${run.uid}`);

function picked(event) {
  const [runId, uid = ""] = event.target.value.split("?", 2);
  return { screen: "watch", runId, uid, view: "flow", op: "", at: null, q: "" };
}

/** The listed run that is watched: of several that had its name the one that is shown. */
function watchedOf({ runs, route, run }) {
  const named = runs.items.filter((one) => one.id === route.runId);
  return named.find((one) => one.uid === (route.uid || run.summary?.uid)) ?? (route.uid ? undefined : named[0]);
}

// A closed picker cuts the end of this: the name comes first, the namespace last.
const optionOf = (run, labels) =>
  [text(middleCut(run.name, 36), 40), labels.phase(run.phase), text(titleOf(run), 60), text(run.namespace, 80)].join(" · ");

function RunPicker(state) {
  const { items } = state.runs;
  const { runId } = state.route;
  if (items.length === 0 && runId === "") return null;
  const watched = watchedOf(state);
  const value = watched ? valueOf(watched) : runId;
  return h("label", { class: "run-picker" }, [
    h("span", { class: "visually-hidden" }, "Viewed run"),
    h("select", { onchange: [Go, picked], value: text(value, 400) }, [
      runId === "" && h("option", { value: "", key: "none" }, "Choose a run…"),
      runId !== "" &&
        watched === undefined &&
        h("option", { value: runId, key: runId, selected: true }, text(titleOf(state.run.summary, runId), 200)),
      ...items.map((run) =>
        h(
          "option",
          { value: text(valueOf(run), 400), key: text(run.uid, 80), selected: run === watched },
          optionOf(run, state.labels),
        ),
      ),
    ]),
  ]);
}

const CONNECTIONS = table({
  idle: ["quiet", "pending", "Not connected"],
  connecting: ["quiet", "pending", "Connecting…"],
  live: ["good", "running", "Live"],
  reconnecting: ["warn", "pending", "Reconnecting…"],
  polling: ["warn", "pending", "Polling"],
  lost: ["bad", "failed", "Connection lost"],
  refused: ["bad", "failed", "Not available"],
  ended: ["quiet", "succeeded", "Ended"],
});
// Of a Run that is over nothing more comes: whether its stream is being opened is of no interest.
function settled(state) {
  const phase = state.run.summary?.phase ?? watchedOf(state)?.phase;
  const over = isOver(state) || ["Succeeded", "Failed", "Cancelled"].includes(phase);
  return over && ["connecting", "live", "reconnecting", "polling"].includes(state.run.connection.state);
}

const EXPLAINED = table({
  polling: "Live updates do not get through; the console asks every few seconds instead.",
  lost: "What you see may be old. The console keeps trying.",
  reconnecting: "What you see may be a few seconds old.",
});

/** How fresh the picture is, said plainly. */
export function Connection(state) {
  if (state.route.at !== null)
    return h("span", { class: "chip chip--warn" }, [Icon("pending", 13), h("span", {}, "Replay")]);
  const kind = settled(state) ? "ended" : state.run.connection.state;
  const [tone, icon, label] = CONNECTIONS[kind] ?? CONNECTIONS.idle;
  return h(
    "span",
    {
      class: ["chip", `chip--${tone}`, kind === "live" && "chip--live"].filter(Boolean),
      role: "status",
      ...(EXPLAINED[kind] ? { title: EXPLAINED[kind] } : {}),
    },
    [Icon(icon, 13), h("span", {}, label)],
  );
}

const tokenOf = (event) => {
  event.preventDefault();
  return event.target.elements.token.value;
};

// A token is one line: Enter sends it, as in any other field of its kind.
const tokenByKey = (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return null;
  event.preventDefault();
  return event.target.value;
};

/** Paste a token; it goes to the api once and stays nowhere here. */
export function SignInDialog(state) {
  const { session } = state;
  return h("main", { class: "signin" }, [
    h(
      "form",
      { class: "card signin-card", onsubmit: [SignIn, tokenOf], "aria-busy": session.busy ? "true" : "false" },
      [
        h("div", { class: "signin-brand" }, [Icon("brand", 36), h("h1", {}, "Guildhall")]),
        h("p", {}, "Sign in with a token of this cluster. It shows you what your account may see, and nothing else."),
        h("label", { for: "token" }, "Token"),
        h("textarea", {
          id: "token",
          name: "token",
          rows: 4,
          spellcheck: "false",
          autocomplete: "off",
          placeholder: "Paste the token here",
          onkeydown: [SignInByKey, tokenByKey],
          "aria-describedby": "token-help",
          disabled: session.busy,
        }),
        h("p", { id: "token-help", class: "hint" }, [
          "Get one with ",
          h("code", {}, "kubectl create token NAME -n NAMESPACE"),
          ", where NAME is a service account of yours.",
        ]),
        session.error !== "" && h("p", { class: "field-error", role: "alert" }, text(session.error, 500)),
        h(
          "button",
          { type: "submit", class: "button button--primary", disabled: session.busy },
          session.busy ? "Signing in…" : "Sign in",
        ),
      ],
    ),
  ]);
}

export const Toast = (state) =>
  state.toast &&
  h("div", { class: ["toast", `toast--${state.toast.tone === "bad" ? "bad" : "good"}`], role: "status" }, [
    Icon(state.toast.tone === "bad" ? "warn" : "succeeded", 16),
    h("span", {}, text(state.toast.text, 500)),
  ]);

/** Runs to choose from when none is viewed. */
export function Landing(state) {
  const { status, items, problem } = state.runs;
  const live = items.filter((run) => !["succeeded", "failed", "cancelled"].includes(statusOfPhase(run.phase)));
  return h("main", { class: "landing" }, [
    h("h1", {}, live.length > 0 ? "Running now" : "Nothing is running"),
    status === "failed" && h("p", { class: "field-error" }, text(problem?.title, 300)),
    status === "idle" && h("p", { class: "hint" }, "Looking for runs…"),
    live.length === 0 &&
      status === "ready" &&
      h("p", { class: "hint" }, [
        "Start one in ",
        h("a", { href: "#/compose" }, "Compose"),
        ", or open an earlier one.",
      ]),
    h(
      "ul",
      { class: "landing-list" },
      (live.length > 0 ? live : items.slice(0, 8)).map((run) => LandingRow(state, run)),
    ),
  ]);
}

const LandingRow = (state, run) =>
  h("li", { key: text(run.uid, 80) }, [
    h("a", { href: formatRoute({ screen: "watch", runId: run.id }), class: "landing-row" }, [
      Status(statusOfPhase(run.phase), state.labels.phase(run.phase)),
      h("span", { class: "landing-what" }, [
        h("span", { class: "landing-title" }, [h("strong", {}, text(titleOf(run), 200)), Waits(run)]),
        h("span", { class: "landing-said hint" }, text(subtitleOf(run), 160)),
        h("code", { class: "run-name" }, text(nameOf(run), 320)),
      ]),
      h("time", { class: "hint" }, dayAndTime(run.createdAt)),
    ]),
  ]);
