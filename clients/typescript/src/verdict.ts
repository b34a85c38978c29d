/** What one answer means. This is the table of `docs/clients.md`, and the only place that knows it. */

import { problemOf, type Problem } from "./outcome.js";
import type { Reply } from "./transport.js";

/**
 * What an answer says of the intent, and of an earlier attempt whose answer was lost.
 *
 * - `yes`: it happened.
 * - `no`: it did not happen, and no earlier attempt can make it happen.
 * - `no_this_time`: this attempt did nothing. An earlier one may still be on its way.
 * - `again`: this attempt did nothing, and another may well succeed.
 * - `again_in_doubt`: it may have happened. The same key will tell.
 * - `in_doubt`: it may have happened, and asking again at once is of no use.
 */
export type Verdict = "yes" | "no" | "no_this_time" | "again" | "again_in_doubt" | "in_doubt";

/** Answers that a server may give only where it did nothing. */
const NOTHING_DONE = new Set([
  "instant_out_of_range",
  "in_flight_limited",
  "intents_full",
  "key_store_unavailable",
  "keys_full",
  "ledger_behind",
  "ledger_stopped",
  "overloaded",
  "rate_limited",
  "replicas_short",
  "request_timeout",
  "shutting_down",
  "standby_follows",
  "storage_full",
  "upstream_unreachable",
]);
/** The refusal that holds for every copy of the request, those that are still on their way included. */
const EXPIRED = "intent_expired";
/** Statuses that may be asked again, if nothing speaks against it. */
const ASK_AGAIN = new Set([408, 429, 502, 503, 504]);

/** The verdict, and the code that stands for the answer. */
export function judge(reply: Reply): [Verdict, string] {
  const problem = reply.status >= 400 ? problemOf(reply) : {};
  const code = typeof problem.code === "string" && problem.code !== "" ? problem.code : `http_${reply.status}`;
  return [verdictOf(reply, code, problem), code];
}

/** Whether the answer is that of an earlier attempt. Browsers may hide the header, so the body counts as well. */
export function isReplay(reply: Reply): boolean {
  return isMarked(reply) || problemOf(reply)["replayed"] === true;
}

function isMarked(reply: Reply): boolean {
  return reply.headers.get("idempotent-replayed") === "true";
}

function verdictOf(reply: Reply, code: string, problem: Problem): Verdict {
  const { status } = reply;
  if ((status >= 200 && status < 300) || status === 303) return "yes";
  if (code === "answer_not_kept") return ofTheAnswerNotKept(problem);
  if (status >= 400 && isMarked(reply)) return status < 500 ? "no" : "in_doubt";
  if (ASK_AGAIN.has(status) || (status === 409 && isInProgress(reply, code))) {
    if (problem.retryable === false) return status >= 500 ? "in_doubt" : "no_this_time";
    return status === 429 || NOTHING_DONE.has(code) ? "again" : "again_in_doubt";
  }
  if (status >= 400 && status < 500) return code === EXPIRED ? "no" : "no_this_time";
  return status === 307 || status === 308 ? "no_this_time" : "in_doubt";
}

/** A 409 of the key and not of the handler: it is called so, or it has no code and says when to ask again. */
function isInProgress(reply: Reply, code: string): boolean {
  return code === "key_in_progress" || (code === "http_409" && reply.headers.has("retry-after"));
}

/** The request was carried out; only its answer is gone. What that answer was may be told. */
function ofTheAnswerNotKept(problem: Problem): Verdict {
  const { figures } = problem;
  const first: unknown = typeof figures === "object" && figures !== null && "status" in figures ? figures.status : undefined;
  if (typeof first !== "number" || first < 400) return "yes";
  return first < 500 ? "no" : "in_doubt";
}
