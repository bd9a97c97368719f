// Guards the page against being drawn for every event: what comes within `batchMs` is handed on together, decoded.
import { decodeValue } from "../decode.js";

export const BATCH = Object.freeze({ batchMs: 100, queueMaxEvents: 20000 });

/** Gives {take, flush, drop}; `deliver` gets the events. */
export function createBatch(timers, deliver) {
  let queue = [];
  let due = false;

  /** Values that came after event `seq`. */
  function take(values, seq) {
    for (const value of values) queue.push(decodeValue(value, seq));
    if (queue.length > BATCH.queueMaxEvents) return flush();
    if (due) return;
    due = true;
    timers.after(BATCH.batchMs, flush);
  }

  function flush() {
    due = false;
    const events = drop();
    if (events.length > 0) deliver(events);
  }

  /** Forgets what has not been handed on, and gives it. */
  function drop() {
    const events = queue;
    queue = [];
    return events;
  }

  return { take, flush, drop };
}
