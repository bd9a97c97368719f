// A classic script, first in index.html: sees to it that a console whose file was lost on the way is loaded again, or says so.
// main.js sets data-started on <html>. A module lost deep in the graph is heard as an error of the <script type=module> itself.
(() => {
  const KEY = "guildhall-boot";
  const PAUSES_MS = [1000, 3000]; // before each reload; then no more
  const IDLE_MS = 15000; // nothing arrived for so long while the page loads
  const AFTER_MS = 5000; // after the last module should have run
  const root = document.documentElement;
  let lost = false; // a file did not arrive
  let broken = false; // a file arrived, and its code failed
  let over = false;
  let arrived = 0;
  let still = Date.now();
  let allowed = IDLE_MS;

  const started = () => root.hasAttribute("data-started");

  /** How many reloads this tab has made, or null where nothing can be kept: then none is made, for none could be counted. */
  function tries(next) {
    try {
      if (next !== undefined) sessionStorage.setItem(KEY, String(next));
      else if (sessionStorage.getItem(KEY) === null) sessionStorage.setItem(KEY, "0");
      const kept = Number(sessionStorage.getItem(KEY));
      return Number.isInteger(kept) && kept >= 0 && (next === undefined || kept === next) ? kept : null;
    } catch {
      return null;
    }
  }

  function forget() {
    try {
      sessionStorage.removeItem(KEY);
    } catch {
      // Nothing was kept.
    }
  }

  function give() {
    if (over) return;
    over = true;
    clearInterval(watch);
    const made = tries();
    if (made === null || made >= PAUSES_MS.length) return say();
    setTimeout(() => {
      // A console that came up after all is left alone, unless it has lost its looks.
      if (started() && !lost) return;
      if (tries(made + 1) === made + 1) location.reload();
      else say();
    }, PAUSES_MS[made]);
  }

  function say() {
    if (started()) return;
    const app = document.getElementById("app");
    if (app === null) {
      document.addEventListener("readystatechange", say, { once: true });
      return;
    }
    root.dataset.theme = theme();
    const words = document.createElement("p");
    words.textContent =
      broken && !lost
        ? "The console could not be started: its code failed in this browser."
        : "The console could not be loaded: a file did not arrive (network).";
    const meanwhile = document.createElement("p");
    meanwhile.textContent = "kubectl get runs works meanwhile.";
    const again = document.createElement("button");
    again.type = "button";
    again.className = "button button--primary";
    again.textContent = "Reload";
    again.addEventListener("click", () => {
      if (started()) return;
      forget();
      location.reload();
    });
    const box = document.createElement("div");
    box.className = "boot";
    box.setAttribute("role", "alert");
    app.replaceChildren(box);
    box.append(words, again, meanwhile);
  }

  function theme() {
    try {
      const kept = localStorage.getItem("guildhall-theme");
      if (kept === "light" || kept === "dark") return kept;
    } catch {
      // Private windows refuse storage.
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  }

  addEventListener(
    "error",
    ({ target }) => {
      if (started()) return;
      if (target instanceof HTMLScriptElement || (target instanceof HTMLLinkElement && target.rel === "stylesheet")) {
        lost = true;
        give();
      } else if (target === window) broken = true;
    },
    true,
  );

  // Modules run before DOMContentLoaded, so one that hangs holds it up: until then the time is counted from the last arrival.
  document.addEventListener("DOMContentLoaded", () => {
    still = Date.now();
    allowed = AFTER_MS;
  });
  const watch = setInterval(() => {
    const count = performance.getEntriesByType("resource").length;
    if (count !== arrived) {
      arrived = count;
      still = Date.now();
    } else if (Date.now() - still > allowed) give();
  }, 500);

  new MutationObserver((_, observer) => {
    observer.disconnect();
    clearInterval(watch);
    if (!lost) forget();
  }).observe(root, { attributes: true, attributeFilter: ["data-started"] });
})();
