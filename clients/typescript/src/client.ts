/** Makes intents, and sends each until its outcome is known or a bound is reached. */

import { systemClock, type Clock } from "./clock.js";
import { ClientError, invalid } from "./errors.js";
import { Intent } from "./intent.js";
import { keyOf } from "./key.js";
import { Done, Failed, Unknown, type Outcome, type UnknownReason } from "./outcome.js";
import { checkedKey, digestOf, EXPIRES_HEADER, headerLines, KEY_HEADER, makeRequest } from "./request.js";
import { boundsOf, defaultRetries, retryAfterMs, waitMs, type Retries } from "./retries.js";
import { MemoryStore, type IntentStore, type Record } from "./store.js";
import { FetchTransport, Lost, NotSent, type Reply, type Transport } from "./transport.js";
import { isReplay, judge } from "./verdict.js";

type Headers = Readonly<globalThis.Record<string, string>>;

/** The longest name of an intent, in characters. */
const NAME_MAX = 256;

export interface ClientOptions {
  /** They go with every request. */
  readonly headers?: Headers;
  /** Asked anew for each attempt, for credentials may end between two. */
  readonly authorization?: () => string | Promise<string>;
  /** How long an intent is asked for, from its making: 10 minutes unless said otherwise. */
  readonly expiresInMs?: number;
  readonly retries?: Partial<Retries>;
  /** In memory unless said otherwise; see `WebStore` for what outlives a reload. */
  readonly store?: IntentStore;
  readonly transport?: Transport;
  readonly clock?: Clock;
  /** A number from 0 up to 1. */
  readonly chance?: () => number;
  /** So many random bytes. */
  readonly chanceBytes?: (length: number) => Uint8Array;
}

export interface IntentOptions {
  /** The body as JSON. What JSON would drop or round is refused. */
  readonly json?: unknown;
  /** The body as it is, instead. */
  readonly body?: Uint8Array | string;
  /** `POST` unless said otherwise. */
  readonly method?: string;
  readonly headers?: Headers;
  /** What is meant ("cart-81"), not which button was pressed. */
  readonly name?: string;
  /** A key of the caller's own. */
  readonly key?: string;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number;
}

export interface SendOptions {
  readonly retries?: Partial<Retries>;
  /** Ends a wait, and gives up an attempt that is under way, whose outcome is then unknown. */
  readonly signal?: AbortSignal;
}

/** A client of one server. */
export class Client {
  readonly #headers: Headers;
  readonly #authorization: (() => string | Promise<string>) | undefined;
  readonly #expiresInMs: number;
  readonly #retries: Retries;
  readonly #store: IntentStore;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #chance: () => number;
  readonly #chanceBytes: (length: number) => Uint8Array;

  constructor(baseUrl: string, options: ClientOptions = {}) {
    const lines = headerLines(options.headers ?? {});
    if (lines.has(KEY_HEADER) || lines.has(EXPIRES_HEADER)) {
      const wrong = "A key or an expiry stands among the headers of all requests, and would make one intent of all of them";
      throw new ClientError("key_conflict", wrong, "Give it to `intent` or `post`");
    }
    this.#headers = Object.fromEntries(lines);
    this.#authorization = options.authorization;
    this.#expiresInMs = options.expiresInMs ?? 600_000;
    if (!Number.isSafeInteger(this.#expiresInMs) || this.#expiresInMs < 1) throw invalid("expiresInMs is not a whole number from 1 on");
    this.#retries = boundsOf(options.retries ?? {}, defaultRetries);
    this.#store = options.store ?? new MemoryStore();
    this.#transport = options.transport ?? new FetchTransport(baseUrl);
    this.#clock = options.clock ?? systemClock;
    this.#chance = options.chance ?? Math.random;
    this.#chanceBytes = options.chanceBytes ?? ((length) => globalThis.crypto.getRandomValues(new Uint8Array(length)));
  }

  /**
   * Makes an intent, or finds the one that goes by `name` and is not finished.
   *
   * As long as it is not finished, whoever comes with its name gets the same key; another request under it is refused
   * (`request_changed`). Without a name each call is an intent of its own.
   */
  async intent(path: string, options: IntentOptions = {}): Promise<Intent> {
    const { name } = options;
    if (name !== undefined && (name.length < 1 || name.length > NAME_MAX))
      throw invalid(`The name of an intent is not 1 to ${NAME_MAX} characters long`);
    const lines = headerLines(this.#headers, options.headers ?? {});
    const [request, inHeaders] = makeRequest(options.method ?? "POST", path, lines, options.json, options.body);
    if (options.key !== undefined && inHeaders !== undefined && options.key !== inHeaders) {
      throw new ClientError("key_conflict", "The header and the option name different keys", "Give one of them");
    }
    const given = options.key ?? inHeaders;
    const nowMs = this.#clock.nowMs();
    const expiresAt = options.expiresAt ?? nowMs + this.#expiresInMs;
    if (!Number.isSafeInteger(expiresAt) || expiresAt < 0) throw invalid("expiresAt is not a whole number of milliseconds since 1970");
    const key = given === undefined ? keyOf(nowMs, this.#chanceBytes(10)) : checkedKey(given);
    const fresh: Record = { key, expiresAt, digest: await digestOf(request), state: "new" };
    if (name === undefined) return new Intent(undefined, request, fresh, undefined);
    const record = await this.#kept(name, fresh, nowMs);
    if (given !== undefined && record.key !== given) {
      throw new ClientError(
        "key_conflict",
        `${JSON.stringify(name)} has another key already`,
        "Finish that intent, or choose another name",
      );
    }
    if (record.digest !== fresh.digest) {
      const wrong = `${JSON.stringify(name)} was another request, and its key must not be used for this one`;
      throw new ClientError("request_changed", wrong, "Finish that intent once its outcome is known, or choose another name");
    }
    return new Intent(name, request, record, this.#store);
  }

  /** Makes an intent, and sends it. */
  async post(path: string, json: unknown, options: Omit<IntentOptions, "json"> & SendOptions = {}): Promise<Outcome> {
    return this.send(await this.intent(path, { ...options, json }), options);
  }

  /**
   * Forgets an intent whose outcome was taken in, so that its name is free for the next.
   *
   * Refused (`still_unknown`) while nobody knows whether it happened.
   */
  async finish(intent: Intent): Promise<void> {
    await this.#forget(intent, false);
  }

  /** Forgets an intent whatever its outcome. Whoever then makes another for the same thing answers for what happens twice. */
  async abandon(intent: Intent): Promise<void> {
    await this.#forget(intent, true);
  }

  /**
   * Sends the intent, again and again within the bounds, and says what is known. It rejects with what the client itself refuses,
   * before anything is sent, and with what `authorization` does; after that the intent's `state` tells whether it may have happened.
   */
  async send(intent: Intent, options: SendOptions = {}): Promise<Outcome> {
    const bounds = boundsOf(options.retries ?? {}, this.#retries);
    await intent.readAgain();
    let hadHappened = intent.state === "done";
    let inDoubt = intent.state !== "new";
    const endMs = this.#clock.elapsedMs() + bounds.deadlineMs;
    let last: Reply | undefined;
    let code: string | undefined;
    let attempts = 0;
    const noteInDoubt = async (): Promise<void> => {
      // Somebody who sends the same intent may have noted a refusal of his meanwhile. If this can't be kept, the first note holds.
      await intent.note("sent").catch(() => false);
    };
    const unknown = async (reason: UnknownReason): Promise<Unknown> => {
      await noteInDoubt();
      return new Unknown(reason, code, last, attempts);
    };
    const giveUp = async (reason: UnknownReason): Promise<Outcome> => {
      if (inDoubt) return unknown(reason);
      if (attempts > 0) await intent.note("new");
      return new Failed(code ?? "not_sent", last, attempts);
    };
    for (;;) {
      const leftMs = endMs - this.#clock.elapsedMs();
      if (options.signal?.aborted) return giveUp("cancelled");
      if (this.#clock.nowMs() >= intent.expiresAt) return giveUp("expired");
      if (leftMs <= 0) return giveUp("deadline");
      const lines = await this.#lines(intent);
      if (attempts > 0) await noteInDoubt();
      else if (!(await intent.note("sent"))) {
        // Somebody else sends it, or has.
        inDoubt = true;
        hadHappened = intent.state === "done";
      }
      attempts += 1;
      const reply = await this.#attempt(intent, lines, Math.min(bounds.timeoutMs, leftMs), options.signal);
      inDoubt ||= reply === "lost";
      let afterMs: number | undefined;
      if (typeof reply !== "string") {
        last = reply;
        const [verdict, named] = judge(reply);
        code = named;
        if (verdict === "yes") {
          await intent.note("done");
          return new Done(reply, isReplay(reply) || code === "answer_not_kept", attempts);
        }
        if (verdict === "in_doubt") return unknown("server_fault");
        if (verdict === "no" || verdict === "no_this_time") {
          if (hadHappened || (inDoubt && verdict === "no_this_time")) return unknown("refused_in_doubt");
          await intent.note("new");
          return new Failed(code, reply, attempts);
        }
        inDoubt ||= verdict === "again_in_doubt";
        afterMs = retryAfterMs(reply.headers.get("retry-after"), reply.headers.get("date"), this.#clock.nowMs());
      }
      if (attempts >= bounds.attemptsMax) return giveUp("attempts");
      const wait = waitMs(bounds, attempts, afterMs, this.#chance());
      // A wait that ends too late is not begun.
      if (this.#clock.nowMs() + wait >= intent.expiresAt) return giveUp("expired");
      if (this.#clock.elapsedMs() + wait >= endMs) return giveUp("deadline");
      await this.#clock.sleep(wait, options.signal);
    }
  }

  /** The record that is kept under the name: the fresh one, if there is none that still counts. */
  async #kept(name: string, fresh: Record, nowMs: number): Promise<Record> {
    for (;;) {
      const kept = await this.#store.get(name);
      // What is known to have happened, or not to have, is kept until its expiry and no longer.
      if (kept !== undefined && (kept.state === "sent" || kept.expiresAt > nowMs)) return kept;
      if (await this.#store.swap(name, kept, fresh)) return fresh;
    }
  }

  async #forget(intent: Intent, althoughUnknown: boolean): Promise<void> {
    const { name } = intent;
    for (;;) {
      const kept = name === undefined ? intent.record : await this.#store.get(name);
      if (kept?.key !== intent.key) return;
      if (kept.state === "sent" && !althoughUnknown) {
        throw new ClientError("still_unknown", "Nobody knows whether it has happened", "Send it again, or look first and then abandon it");
      }
      if (name === undefined || (await this.#store.swap(name, kept, undefined))) return;
    }
  }

  async #attempt(
    intent: Intent,
    lines: ReadonlyMap<string, string>,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Reply | "lost" | "not_sent"> {
    try {
      return await this.#transport.send(intent.request, lines, timeoutMs, signal);
    } catch (error) {
      if (error instanceof NotSent) return "not_sent";
      if (error instanceof Lost) return "lost";
      throw error;
    }
  }

  async #lines(intent: Intent): Promise<ReadonlyMap<string, string>> {
    const lines = new Map(intent.request.headers);
    if (this.#authorization !== undefined) lines.set("authorization", await this.#authorization());
    lines.set(KEY_HEADER, intent.key);
    lines.set(EXPIRES_HEADER, String(intent.expiresAt));
    return lines;
  }
}
