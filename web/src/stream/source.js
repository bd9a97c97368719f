// Guards against frames of a stream that was left, and tells an open stream from one that passes something on.
import { listOf, recordOf } from "../safe.js";

/**
 * Listens to an EventSource until `close()`. `hear` gets live() with the first frame of each connection, events(values,
 * cursor), status(summary), resync(), end() and failed(gone), where `gone` says that the browser will not try again.
 */
export function listen(source, hear) {
  let closed = false;
  let live = false;
  let heardMs = null;

  const onFrame = (type, act) =>
    source.addEventListener(type, (event) => {
      if (closed) return;
      heardMs = Date.now();
      if (!live) hear.live();
      live = true;
      act(event);
    });
  onFrame("events", (event) => hear.events(listOf(parsed(event.data)), event.lastEventId));
  onFrame("status", (event) => hear.status(recordOf(parsed(event.data))));
  onFrame("resync", hear.resync);
  onFrame("end", hear.end);
  source.onerror = () => {
    if (closed) return;
    live = false;
    hear.failed(source.readyState === 2);
  };

  return {
    /** Whether it has passed something on, and nothing for `ms`. */
    silentFor: (ms) => heardMs !== null && Date.now() - heardMs >= ms,
    everHeard: () => heardMs !== null,
    close() {
      closed = true;
      source.close();
    },
  };
}

function parsed(data) {
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
}
