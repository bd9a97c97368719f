// Guards memory: what was made of a text is kept within limits, and the longest unused goes first.

/** Gives {get, peek, put, remove, size}; `get` counts as use, `peek` does not. */
export function createTextCache({ cacheMaxEntries, cacheMaxChars }) {
  const entries = new Map();
  let chars = 0;

  function get(text) {
    const found = entries.get(text);
    if (found === undefined) return undefined;
    entries.delete(text);
    entries.set(text, found);
    return found;
  }

  function put(text, entry) {
    remove(text);
    entries.set(text, entry);
    chars += text.length;
    for (const oldest of entries.keys()) {
      if (oldest === text) break;
      if (entries.size <= cacheMaxEntries && chars <= cacheMaxChars) break;
      remove(oldest);
    }
  }

  function remove(text) {
    if (entries.delete(text)) chars -= text.length;
  }

  return { get, peek: (text) => entries.get(text), put, remove, size: () => entries.size };
}
