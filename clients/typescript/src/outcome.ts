/** How an intent ended, as far as the client knows. */

import type { Reply } from "./transport.js";

/** The members of problem details (RFC 9457), as far as they are there. */
export type Problem = Readonly<{ code?: unknown; retryable?: unknown; detail?: unknown; figures?: unknown; [member: string]: unknown }>;

/** It happened, once. */
export class Done {
  readonly kind = "done";
  readonly reply: Reply;
  /** Whether it had happened before this attempt, with the same key. */
  readonly replayed: boolean;
  readonly attempts: number;

  constructor(reply: Reply, replayed: boolean, attempts: number) {
    this.reply = reply;
    this.replayed = replayed;
    this.attempts = attempts;
  }

  /** The answer's body. A `SyntaxError` if it is no JSON: it has happened all the same. */
  json(): unknown {
    return JSON.parse(new TextDecoder().decode(this.reply.body));
  }
}

/** It did not happen: the server said no, or never heard of it. What was asked may be asked anew. */
export class Failed {
  readonly kind = "failed";
  /** The server's stable code; `http_STATUS` if it names none; `not_sent` if nothing has reached it. */
  readonly code: string;
  readonly reply: Reply | undefined;
  readonly attempts: number;

  constructor(code: string, reply: Reply | undefined, attempts: number) {
    this.code = code;
    this.reply = reply;
    this.attempts = attempts;
  }

  /** The server's problem details; empty if there are none. */
  get problem(): Problem {
    return problemOf(this.reply);
  }
}

/**
 * Why it was given up. `server_fault`: an answer that says neither yes nor no. `refused_in_doubt`: a no to this attempt, while an earlier
 * one may still be on its way.
 */
export type UnknownReason = "deadline" | "attempts" | "expired" | "cancelled" | "server_fault" | "refused_in_doubt";

/**
 * Nobody knows here whether it happened: show neither yes nor no, and make no new key.
 *
 * Send the same intent again, which tells; or, after its `expiresAt`, look at what the server shows.
 */
export class Unknown {
  readonly kind = "unknown";
  readonly reason: UnknownReason;
  /** The server's last code, or nothing if there was no answer. */
  readonly code: string | undefined;
  readonly reply: Reply | undefined;
  readonly attempts: number;

  constructor(reason: UnknownReason, code: string | undefined, reply: Reply | undefined, attempts: number) {
    this.reason = reason;
    this.code = code;
    this.reply = reply;
    this.attempts = attempts;
  }

  /** The problem details of the last answer; empty if there are none. */
  get problem(): Problem {
    return problemOf(this.reply);
  }
}

export type Outcome = Done | Failed | Unknown;

/** The members of a problem, if the body is a JSON object. */
export function problemOf(reply: Reply | undefined): Problem {
  if (reply === undefined) return {};
  try {
    const members: unknown = JSON.parse(new TextDecoder().decode(reply.body));
    return typeof members === "object" && members !== null && !Array.isArray(members) ? (members as Problem) : {};
  } catch {
    return {};
  }
}
