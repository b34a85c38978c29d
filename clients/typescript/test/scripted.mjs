/** A network that does what a script says, and a clock that goes only when it is told to. */

import { readFile } from "node:fs/promises";
import { Client, Lost, NotSent } from "../dist/index.js";

export const TABLE = JSON.parse(await readFile(new URL("../../cases.json", import.meta.url), "utf8"));

/** The bounds as this client names them. */
function boundsOf(settings) {
  return Object.fromEntries(
    Object.entries(settings).map(([name, bound]) => [name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()), bound]),
  );
}

/** Starts at the table's instant, and keeps the waits it was asked for. */
export class StoppedClock {
  now = TABLE.now_ms;
  waits = [];
  duringSleep = () => {};

  nowMs() {
    return this.now;
  }

  elapsedMs() {
    return this.now;
  }

  async sleep(waitMs) {
    this.waits.push(waitMs);
    this.now += waitMs;
    this.duringSleep();
  }
}

/** A transport that plays steps, and keeps what it was given to send. */
class Script {
  sent = [];
  timeouts = [];

  constructor(clock, steps) {
    this.clock = clock;
    this.steps = [...steps];
  }

  async send(request, headers, timeoutMs) {
    this.sent.push({ request, headers: Object.fromEntries(headers), body: new TextDecoder().decode(request.body) });
    this.timeouts.push(timeoutMs);
    const step = this.steps.shift();
    if (step.not_sent) throw new NotSent("nobody listens");
    if (step.lost) throw new Lost("the connection broke");
    if (step.timeout) {
      this.clock.now += timeoutMs;
      throw new Lost("no answer in time");
    }
    return { status: step.status, headers: new Map(Object.entries(step.headers ?? {})), body: new TextEncoder().encode(bodyOf(step)) };
  }

  keys() {
    return this.sent.map(({ headers }) => headers["idempotency-key"]);
  }
}

function bodyOf(step) {
  if (step.nested !== undefined) return `{"code":${"[".repeat(step.nested)}${"]".repeat(step.nested)}}`;
  return step.body === undefined ? step.text : JSON.stringify(step.body);
}

/** A client of the script, with the table's settings. */
export function scripted(steps, options = {}, settings = {}) {
  const clock = new StoppedClock();
  const script = new Script(clock, steps);
  const retries = boundsOf({ ...TABLE.settings, ...settings });
  const client = new Client("http://unused", {
    expiresInMs: TABLE.expires_in_ms,
    chance: () => TABLE.random,
    retries,
    transport: script,
    clock,
    ...options,
  });
  return { client, clock, script };
}

export const YES = { status: 201, body: { result: {}, replayed: false } };
export const REPLAY = { status: 200, headers: { "idempotent-replayed": "true" }, body: { result: {}, replayed: true } };
export const NO = { status: 409, body: { code: "level_full", retryable: false } };
export const LOST = { lost: true };
export const NOT_SENT = { not_sent: true };
export const IN_PROGRESS = { status: 409, headers: { "retry-after": "2" }, body: { code: "key_in_progress", retryable: true } };
