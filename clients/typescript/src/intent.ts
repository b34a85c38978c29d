/** What one person meant once: a key, a request, and the instant from which it is given up. */

import { ClientError } from "./errors.js";
import type { Request } from "./request.js";
import type { IntentState, IntentStore, Record } from "./store.js";

/** Made by `Client.intent`. It can be sent any number of times, and is the same intent each time. */
export class Intent {
  readonly name: string | undefined;
  readonly request: Request;
  #record: Record;
  readonly #store: IntentStore | undefined;

  constructor(name: string | undefined, request: Request, record: Record, store: IntentStore | undefined) {
    this.name = name;
    this.request = request;
    this.#record = record;
    this.#store = store;
  }

  /** What is kept of it. */
  get record(): Record {
    return this.#record;
  }

  /** The idempotency key, the same in every attempt. */
  get key(): string {
    return this.#record.key;
  }

  /** Milliseconds since 1970. From then on it is not sent any more, and a server that knows nothing of it refuses it. */
  get expiresAt(): number {
    return this.#record.expiresAt;
  }

  /** What is known of it. */
  get state(): IntentState {
    return this.#record.state;
  }

  /**
   * Keeps what is known now, and says whether that is new. What has happened stays so, whatever an attempt was told.
   *
   * That it is sent has to be kept before it is; if that fails, it is not sent. An outcome that can't be kept is told all the same: the
   * store then still says `sent`, and whoever sends it again gets the same answer.
   *
   * @internal
   */
  async note(state: IntentState): Promise<boolean> {
    try {
      return await this.#note(state);
    } catch (error) {
      if (state === "sent") throw error;
      this.#record = { ...this.#record, state };
      return true;
    }
  }

  /**
   * Takes in what another page has noted.
   *
   * @internal
   */
  async readAgain(): Promise<void> {
    const record = this.name === undefined ? undefined : await this.#store?.get(this.name);
    if (record?.key === this.#record.key) this.#record = record;
  }

  async #note(state: IntentState): Promise<boolean> {
    if (this.#store === undefined || this.name === undefined) return this.#take(state, this.#record);
    for (;;) {
      const kept = await this.#store.get(this.name);
      if (kept?.key !== this.#record.key) {
        const wrong = `${JSON.stringify(this.name)} was finished meanwhile, or stands for another intent`;
        throw new ClientError("key_conflict", wrong, "Make the intent anew, if it is still meant");
      }
      const isKnown = kept.state === state || kept.state === "done";
      if (isKnown || (await this.#store.swap(this.name, kept, { ...kept, state }))) return this.#take(state, kept);
    }
  }

  #take(state: IntentState, kept: Record): boolean {
    const isNew = kept.state !== state && kept.state !== "done";
    this.#record = isNew ? { ...kept, state } : kept;
    return isNew;
  }
}
