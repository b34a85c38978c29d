/** Time, as far as the client needs it. Tests put another clock in its place, so none of them waits. */
export interface Clock {
  /** Milliseconds since 1970. An intent's expiry is compared with it. */
  nowMs(): number;
  /** Milliseconds since some instant, never turned back. Deadlines are measured by it. */
  elapsedMs(): number;
  /** Waits, or returns sooner if the signal is aborted. */
  sleep(waitMs: number, signal: AbortSignal | undefined): Promise<void>;
}

/** The clock of this machine. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  elapsedMs: () => performance.now(),
  sleep: (waitMs, signal) =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, waitMs);
      signal?.addEventListener("abort", end);
      if (signal?.aborted) end();
    }),
};
