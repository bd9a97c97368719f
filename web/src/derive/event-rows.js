// Where a row of the raw stream stands: one row per seq, and one for each unreadable line after the event it followed.

/** Unreadable rows in the order they stand, of those up to event `lastSeq`. Pure. */
export const placed = (rows, lastSeq) =>
  rows.filter((row) => row.after <= lastSeq).sort((one, other) => one.after - other.after);

/** How many of `rows` (placed) stand above row `index`. */
function above(rows, index) {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].after + middle < index) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What stands at row `index`: {row} for an unreadable line, {seq} for an event. Pure. */
export function rowAt(rows, index) {
  const before = above(rows, index);
  const here = rows[before];
  return here !== undefined && here.after + before === index ? { row: here, nth: before } : { seq: index - before + 1 };
}

/** The number of the event at or just above row `index`. Pure. */
export const seqAt = (rows, index) => Math.max(1, rowAt(rows, index).seq ?? rows[above(rows, index)].after);
