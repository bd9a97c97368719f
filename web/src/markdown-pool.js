// Guards the page against prose that never ends: few Workers, each started a limited number of times, and a queue that
// forgets its oldest text rather than grow.

const WORKERS = 2; // One works, one is warm, so that ending a late one costs the next text nothing.

/**
 * Two Workers and what waits for them. `start(hear)` starts one, as `startFormatter` does. `onAnswer(text, {ok, html |
 * reason})` is called once for a text, unless it was dropped or is not wanted any more when its turn comes.
 */
export function createPool({ start, isWanted, onAnswer, limits, timers }) {
  const pool = {
    queue: createQueue(limits.queueMaxJobs, isWanted),
    formatters: [],
    starts: 0,
    startsMax: limits.workerStartsMax,
    start: () => start(hear),
    onAnswer,
  };
  const hear = {
    answered: onAnswer,
    free: () => pump(pool),
    failed: (formatter, reason) => failed(pool, formatter, reason),
  };
  return {
    /** Queues a text; gives the one that was dropped for it, if any. */
    ask(text) {
      timers.setTimeout(() => pump(pool), 0);
      return pool.queue.add(text);
    },
    /** Loads the first Worker before any prose has come: while a person signs in, nothing waits for it. */
    warm: () => pool.starts === 0 && add(pool),
    close: () => close(pool),
  };
}

/** Gives the next text to a Worker that is ready, if none is at work. */
function pump(pool) {
  const { queue } = pool;
  while (pool.formatters.length < WORKERS && queue.some() && pool.starts < pool.startsMax) {
    if (!add(pool)) break;
  }
  if (pool.formatters.length === 0) {
    for (const text of queue.clear()) pool.onAnswer(text, { ok: false, reason: "the formatter is not available" });
    return;
  }
  if (pool.formatters.some((one) => one.text !== null)) return;
  const idle = pool.formatters.find((one) => one.ready);
  const text = idle && queue.next();
  if (text !== undefined) idle.give(text);
}

function add(pool) {
  pool.starts += 1;
  try {
    pool.formatters.push(pool.start());
  } catch {
    return false;
  }
  return true;
}

function failed(pool, formatter, reason) {
  pool.formatters = pool.formatters.filter((other) => other !== formatter);
  if (formatter.text !== null) pool.onAnswer(formatter.text, { ok: false, reason });
  pump(pool);
}

function close(pool) {
  for (const formatter of pool.formatters) formatter.stop();
  pool.formatters = [];
  pool.queue.clear();
}

function createQueue(maxCount, isWanted) {
  const texts = [];
  return {
    some: () => texts.length > 0,
    clear: () => texts.splice(0),
    /** Adds a text; gives the oldest where there were too many. */
    add(text) {
      texts.push(text);
      return texts.length > maxCount ? texts.shift() : undefined;
    },
    /** The next text that is still wanted, if any. */
    next() {
      while (texts.length > 0) {
        const text = texts.shift();
        if (isWanted(text)) return text;
      }
      return undefined;
    },
  };
}
