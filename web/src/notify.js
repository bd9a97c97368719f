// The doers of notifications. Asked for by a click only, shown only to somebody who does not look at the page.
import { formatRoute } from "./router.js";

const KEPT = "guildhall-notify";
const ICON = "icons/guildhall.svg";

/** {on, permission}: what was chosen here before, and what the browser allows ("unsupported" where it has none). */
export function notifyState() {
  const permission = globalThis.isSecureContext && "Notification" in globalThis ? Notification.permission : "unsupported";
  try {
    return { on: permission === "granted" && localStorage.getItem(KEPT) === "on", permission };
  } catch {
    return { on: false, permission }; // private windows refuse storage
  }
}

/** Asks the person, and dispatches `then` with "granted", "denied" or "default". */
export const askToNotify = (then) => [
  async (dispatch, props) => {
    dispatch(props.then, await asked().catch(() => "denied"));
  },
  { then },
];

// Older browsers answer by the callback alone, and give no promise.
const asked = () =>
  new Promise((resolve, reject) => {
    Notification.requestPermission(resolve)?.then(resolve, reject);
  });

export const keepNotify = (on) => [
  (_, props) => {
    try {
      localStorage.setItem(KEPT, props.on ? "on" : "off");
    } catch {
      // It holds until the page is closed.
    }
  },
  { on },
];

/** Shows notices, one for each Run; a click brings the console back, to that Run. */
export const notify = (notices) => [
  (_, props) => {
    if (document.visibilityState === "visible" && document.hasFocus()) return;
    for (const one of props.notices) show(one);
  },
  { notices },
];

function show({ tag, title, body, runId, uid }) {
  try {
    const shown = new Notification(title, { body, tag, renotify: true, icon: ICON });
    shown.onclick = () => {
      window.focus();
      location.hash = formatRoute({ screen: "watch", runId, uid });
      shown.close();
    };
  } catch {
    // Some systems let no page show one by itself; title and icon say the same.
  }
}
