/** How long and how often to ask again. */

import { invalid } from "./errors.js";

/** The bounds of one call of `send`. All in milliseconds, but for the number of attempts. */
export interface Retries {
  /** How long one attempt may take, connecting included. */
  readonly timeoutMs: number;
  /** How long all attempts and the waits between them may take. */
  readonly deadlineMs: number;
  readonly attemptsMax: number;
  /** The first wait is between half of this and this; each further one is between half of twice as much and that. */
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
}

export const defaultRetries: Retries = { timeoutMs: 10_000, deadlineMs: 90_000, attemptsMax: 12, backoffMinMs: 200, backoffMaxMs: 10_000 };

/** The longest wait that is read from a Retry-After: a year. Whoever says more is not waited for either. */
const RETRY_AFTER_MS_MAX = 365 * 24 * 3_600_000;
/** The longest time that a timer takes; a longer one would end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** The bounds with those that are given in the place of others. */
export function boundsOf(given: Partial<Retries>, others: Retries): Retries {
  const bounds = { ...others, ...given };
  for (const [name, bound] of Object.entries(bounds)) {
    if (!Number.isInteger(bound) || bound < 1 || bound > TIMER_MS_MAX)
      throw invalid(`${name} is not a whole number from 1 to ${TIMER_MS_MAX}`);
  }
  if (bounds.backoffMaxMs < bounds.backoffMinMs) throw invalid("backoffMaxMs is below backoffMinMs");
  return bounds;
}

/**
 * The wait after an attempt, counted from 1. `random` is from 0 up to 1.
 *
 * A server's Retry-After is a lower bound. Something random comes on top: a crowd that comes back in step is refused in step.
 */
export function waitMs(bounds: Retries, attempt: number, retryAfter: number | undefined, random: number): number {
  const step = Math.min(bounds.backoffMaxMs, bounds.backoffMinMs * 2 ** Math.min(attempt - 1, 32));
  const jitter = Math.floor((random * step) / 2);
  return Math.max(Math.floor(step / 2) + jitter, (retryAfter ?? 0) + jitter);
}

/**
 * What a Retry-After means in milliseconds, as seconds or as an HTTP date; nothing if it is neither.
 *
 * An instant is compared with the same answer's `Date`, where there is one: the two clocks may differ.
 */
export function retryAfterMs(value: string | undefined, date: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, RETRY_AFTER_MS_MAX);
  const until = instantMs(text);
  if (until === undefined) return undefined;
  return Math.min(Math.max(until - (instantMs(date?.trim() ?? "") ?? nowMs), 0), RETRY_AFTER_MS_MAX);
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const TIME = "(?<hour>\\d\\d):(?<minute>\\d\\d):(?<second>\\d\\d)";
/** The three forms of RFC 9110, section 5.6.7. `Date.parse` need not know them, and reads the last as local time. */
const FORMS = [
  new RegExp(`^[A-Z][a-z]{2}, (?<day>\\d\\d) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^[A-Z][a-z]{5,8}, (?<day>\\d\\d)-(?<month>[A-Z][a-z]{2})-(?<year>\\d\\d) ${TIME} GMT$`),
  new RegExp(`^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];

function instantMs(text: string): number | undefined {
  for (const form of FORMS) {
    const part = form.exec(text)?.groups;
    if (part === undefined) continue;
    const figure = (name: string): number => Number(part[name]);
    const year = figure("year");
    // Two digits are of this century: such dates are sent by what is still running.
    return Date.UTC(
      year < 100 ? 2000 + year : year,
      MONTHS.indexOf(part["month"] ?? ""),
      figure("day"),
      figure("hour"),
      figure("minute"),
      figure("second"),
    );
  }
  return undefined;
}
