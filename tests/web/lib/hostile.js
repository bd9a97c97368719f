// Runs in which every text that somebody else wrote is hostile: each field of each event, role names, the run's own name.

/** What is not text of anybody: identities, times, and the closed words the fold goes by. */
const STRUCTURE = new Set(
  "run ts type op parent call callId guildDigest argumentsSha256 patchSHA256 outcome status kind effect mode isolation stopReason actor intent decision".split(
    " ",
  ),
);
const NAMES = new Set(["role", "entryRole", "source", "destination"]);

/**
 * Deals the texts of a corpus out, to each channel one after the other, each with a mark of its own in front.
 * `next(channel)` gives a text; `dealt` has all that were given as {mark, channel, text}, until it is emptied.
 */
export function dealer(texts, { maxChars = 3000, stride = 89 } = {}) {
  let serial = 0;
  const dealt = [];
  const at = new Map();
  const next = (channel, most = maxChars, gap = " ") => {
    const turn = at.get(channel) ?? at.size * stride; // channels that are shown side by side show different texts
    at.set(channel, turn + 1);
    const text = texts[turn % texts.length];
    const mark = `k${serial}k`;
    serial += 1;
    dealt.push({ mark, channel, text });
    return `${mark}${gap}${text}`.slice(0, most);
  };
  return { next, dealt };
}

/** `events` with every text, role name and tool name dealt out by `next`. */
export function hostileEvents(events, next) {
  const names = new Map();
  const named = (name) => {
    if (!names.has(name)) names.set(name, next("role.name", 120));
    return names.get(name);
  };
  const placed = (place) => (place.startsWith("role:") ? `role:${named(place.slice(5))}` : place);
  const turned = (value, path, key) => {
    if (Array.isArray(value)) return value.map((one) => turned(one, path, key));
    if (value !== null && typeof value === "object") return inside(value, path);
    if (typeof value !== "string" || STRUCTURE.has(key)) return value;
    if (NAMES.has(key)) return value.includes(":") ? placed(value) : value === "human" ? value : named(value);
    if (path === "roles.name" || path === "roles.delegates") return named(value);
    if (path === "roles.tools") return value;
    return next(path, MOST[key], PROSE.has(key) ? "\n\n" : " ");
  };
  const inside = (record, at) =>
    Object.fromEntries(
      Object.entries(record).map(([key, value]) => [key, turned(value, at ? `${at}.${key}` : key, key)]),
    );
  return events.map((event) => withoutLabels(inside(event, "")));
}

const MOST = { title: 190, summary: 190, label: 70, path: 300, tool: 60 };
const PROSE = new Set(["task", "brief", "text", "summary", "result", "context", "message"]);

/** Every second role is shown by its name. */
const withoutLabels = (event) =>
  Array.isArray(event.roles)
    ? { ...event, roles: event.roles.map((role, at) => (at % 2 === 1 ? { ...role, label: "" } : role)) }
    : event;

/** A Run's row, as a server that trusts nobody's name would not send it. */
export function hostileSummary(next, fields = {}) {
  const words = Object.fromEntries(
    ["id", "namespace", "name", "label", "guild", "reason", "branch", "delivered"].map((field) => [
      field,
      next(`run.${field}`, 190),
    ]),
  );
  const prose = Object.fromEntries(
    ["summary", "message", "task"].map((field) => [field, next(`run.${field}`, 1900, "\n\n")]),
  );
  return { ...words, ...prose, ...fields };
}
