// The timers of one follower: none of them acts once it has been stopped.

/** Gives {after, stop, stopped}. `platform` has setTimeout and clearTimeout. */
export function createTimers(platform) {
  const waiting = new Set();
  const timers = {
    stopped: false,
    after(ms, act) {
      const timer = platform.setTimeout(() => {
        waiting.delete(timer);
        if (!timers.stopped) act();
      }, ms);
      waiting.add(timer);
    },
    stop() {
      timers.stopped = true;
      for (const timer of waiting) platform.clearTimeout(timer);
      waiting.clear();
    },
  };
  return timers;
}
