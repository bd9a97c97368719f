// Guards against a proxy that cuts or holds back streams: the same cursor works page by page.
import { listOf, recordOf } from "../safe.js";
import { cursorOf, rowsOf, seqOf } from "./cursor.js";

export const POLL = Object.freeze({ everyMs: 2500, pageMaxEvents: 1000, pagesBeforeRetry: 12 });

/**
 * Gives the function that reads on from `cursor()` until the Run has ended, a page fails or the stream is worth another
 * try. `loadPage(seq)` and `loadDetail()` ask the api; `hear` gets polling(), page(values, cursor), status(summary),
 * end(), failed(problem) and retry().
 */
export function createPoller({ loadPage, loadDetail, cursor, timers, hear }) {
  let pages = 0;

  async function poll() {
    hear.polling();
    const last = seqOf(cursor());
    const [page, detail] = await Promise.all([loadPage(last), loadDetail()]);
    if (timers.stopped) return;
    if (!page.ok) return hear.failed(page.problem);
    const data = recordOf(page.data);
    const events = listOf(data.events);
    hear.page(events, cursorOf(Number(data.last) || last, rowsOf(cursor())));
    if (detail.ok) hear.status(recordOf(recordOf(detail.data).summary));
    if (data.end === true) return hear.end();
    pages += 1;
    if (pages % POLL.pagesBeforeRetry === 0) return hear.retry();
    timers.after(events.length >= POLL.pageMaxEvents ? 0 : POLL.everyMs, poll);
  }

  return poll;
}
