// What happened between whom: counts per directed pair, kept up incrementally so that 40,000 operations cost as 400.

const cache = new WeakMap();

/**
 * Map of "source>destination" to {count, active, errors, lastOp}. `model.list` only grows and operations only go from
 * open to ended, so each is looked at once when new and until it ends.
 */
export function edgeStats(model) {
  let known = cache.get(model.list);
  if (known === undefined) {
    known = { seen: 0, open: new Set(), stats: new Map() };
    cache.set(model.list, known);
  }
  for (; known.seen < model.list.length; known.seen += 1) {
    const operation = model.list[known.seen];
    const stat = statOf(known.stats, operation);
    stat.count += 1;
    stat.active += 1;
    stat.lastOp = operation.id;
    known.open.add(operation);
  }
  for (const operation of known.open) {
    if (operation.outcome === "active") continue;
    const stat = statOf(known.stats, operation);
    stat.active -= 1;
    if (operation.outcome === "error") stat.errors += 1;
    known.open.delete(operation);
  }
  return known.stats;
}

function statOf(stats, { source, destination }) {
  const key = `${source}>${destination}`;
  if (!stats.has(key)) stats.set(key, { count: 0, active: 0, errors: 0, lastOp: "", source, destination });
  return stats.get(key);
}
