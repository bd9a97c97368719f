// The page's title and icon, which tell of the Run and of what waits while the tab is not looked at.
import { setBadge } from "../effects.js";
import { stringOf } from "../safe.js";
import { needingHelp } from "../state.js";

export function badgeOf(state) {
  const help = needingHelp(state);
  const label = state.run.summary?.label || "";
  const failed = state.run.summary?.phase === "Failed";
  const title = [help > 0 ? `(${help})` : "", label, "Guildhall"].filter(Boolean).join(" · ").replace(") · ", ") ");
  return setBadge(stringOf(title).slice(0, 200), help > 0 || failed);
}
