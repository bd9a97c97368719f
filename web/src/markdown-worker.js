// Takes {id, text}, answers {id, ok, html | reason}. The page ends this Worker when an answer is late.
import { markdownToHtml } from "./markdown-html.js";

self.onmessage = ({ data }) => {
  let answer;
  try {
    answer = markdownToHtml(data.text);
  } catch {
    answer = { ok: false, reason: "the formatter failed" };
  }
  self.postMessage({ id: data.id, ...answer });
};
self.postMessage({ ready: true });
