// Where a viewer stands, as the api writes it: "812.3" is event 812 and three unreadable rows.

export const cursorOf = (seq, rows) => `${Number(seq) || 0}.${Number(rows) || 0}`;
export const seqOf = (cursor) => Number.parseInt(cursor, 10) || 0;
export const rowsOf = (cursor) => Number(cursor.split(".")[1]) || 0;
