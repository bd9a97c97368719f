// The whole page as a function of the state.
import { h } from "./h.js";
import { Compose } from "./views/compose.js";
import { History } from "./views/history.js";
import { Modal } from "./views/modals.js";
import { Landing, SignInDialog, Toast, TopBar } from "./views/shell.js";
import { Watch } from "./views/watch.js";
import { Empty, Problem } from "./views/parts.js";
import { Start } from "./actions.js";

/** The page; `store` is the MarkdownStore that prose is asked from. */
export const createView = (store) => (state) => {
  const { status } = state.session;
  if (status === "out") return h("div", { id: "app", class: "app app--out" }, SignInDialog(state));
  if (status !== "in")
    return h(
      "div",
      { id: "app", class: "app app--out" },
      status === "unknown"
        ? Empty("Connecting…")
        : Problem({ title: "The console's server cannot be reached", detail: state.session.error }, Start),
    );
  const held = state.modal !== null;
  return h("div", { id: "app", class: "app" }, [
    h("div", { class: "page", key: "page", inert: held }, [TopBar(state), Screen(state, store)]),
    Modal(state, store),
    Toast(state),
  ]);
};

function Screen(state, store) {
  switch (state.route.screen) {
    case "history":
      return History(state, store);
    case "compose":
      return Compose(state, store);
    default:
      return state.route.runId === "" ? Landing(state) : Watch(state, store);
  }
}
