/**
 * Requests that are made exactly once, however often they are sent.
 *
 * One key for each intent, made once and kept across retries and reloads; bounded, jittered retries of what may be retried and of nothing
 * else; and an outcome that never guesses: done, failed, or unknown. It works with every server that keeps the `Idempotency-Key`
 * contract, in Node 20 or newer and in browsers, and needs nothing else.
 *
 * @module
 */

export { Client, type ClientOptions, type IntentOptions, type SendOptions } from "./client.js";
export { type Clock, systemClock } from "./clock.js";
export { ClientError, type ClientErrorCode } from "./errors.js";
export type { Intent } from "./intent.js";
export { Done, Failed, Unknown, type Outcome, type Problem, type UnknownReason } from "./outcome.js";
export type { Request } from "./request.js";
export { defaultRetries, type Retries } from "./retries.js";
export { MemoryStore, WebStore, type IntentState, type IntentStore, type Record, type WebStorage } from "./store.js";
export { FetchTransport, Lost, NotSent, type Reply, type Transport } from "./transport.js";
