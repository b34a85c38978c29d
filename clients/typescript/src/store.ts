/** Where intents are kept, so that a retry after a reload is still the same intent. */

import { ClientError } from "./errors.js";

/** `new`: nothing has happened. `sent`: it may have happened. `done`: it has happened. */
export type IntentState = "new" | "sent" | "done";

/** What has to outlive a retry. The body is not in it, for it may hold what should not lie about: only its digest is. */
export interface Record {
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly digest: string;
  readonly state: IntentState;
}

/** Records by the name of their intent. Both methods may reject with a `ClientError` of the code `store_failed`. */
export interface IntentStore {
  /** The record, if there is one. */
  get(name: string): Promise<Record | undefined>;
  /**
   * Keeps `next` in the place of `old`, in one step; undefined stands for no record.
   *
   * False, and nothing is changed, if what is kept is not `old`: somebody else was faster.
   */
  swap(name: string, old: Record | undefined, next: Record | undefined): Promise<boolean>;
}

/** Keeps records until the page or the process goes. */
export class MemoryStore implements IntentStore {
  readonly #records = new Map<string, Record>();

  async get(name: string): Promise<Record | undefined> {
    return this.#records.get(name);
  }

  async swap(name: string, old: Record | undefined, next: Record | undefined): Promise<boolean> {
    if (!isSame(this.#records.get(name), old)) return false;
    if (next === undefined) this.#records.delete(name);
    else this.#records.set(name, next);
    return true;
  }
}

/** What is needed of `localStorage` and `sessionStorage`. */
export type WebStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;
type Locks = Pick<LockManager, "request">;

/**
 * Keeps records in `localStorage` (all tabs share them, also after the browser was closed) or `sessionStorage` (this tab alone).
 *
 * Two tabs that come with the same name at once get one key where the browser has Web Locks, which all current ones have.
 */
export class WebStore implements IntentStore {
  readonly #storage: WebStorage;
  readonly #prefix: string;
  readonly #locks: Locks | undefined;

  constructor(storage: WebStorage, prefix = "nevertwice:", locks: Locks | undefined = globalThis.navigator?.locks) {
    this.#storage = storage;
    this.#prefix = prefix;
    this.#locks = locks;
  }

  async get(name: string): Promise<Record | undefined> {
    return this.#read(name);
  }

  async swap(name: string, old: Record | undefined, next: Record | undefined): Promise<boolean> {
    const swapAlone = async (): Promise<boolean> => {
      if (!isSame(this.#read(name), old)) return false;
      attempt(() => {
        if (next === undefined) this.#storage.removeItem(this.#prefix + name);
        else this.#storage.setItem(this.#prefix + name, JSON.stringify({ version: 1, ...next }));
      });
      return true;
    };
    return this.#locks === undefined ? swapAlone() : this.#locks.request(this.#prefix + name, swapAlone);
  }

  #read(name: string): Record | undefined {
    const text = attempt(() => this.#storage.getItem(this.#prefix + name));
    return text === null ? undefined : recordOf(text, name);
  }
}

function isSame(one: Record | undefined, other: Record | undefined): boolean {
  return one?.key === other?.key && one?.expiresAt === other?.expiresAt && one?.digest === other?.digest && one?.state === other?.state;
}

/** A storage that is full or switched off throws. */
function attempt<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw failed(String(error));
  }
}

function recordOf(text: string, name: string): Record {
  let members: unknown;
  try {
    members = JSON.parse(text);
  } catch {
    members = undefined;
  }
  const found = { ...(members as object) } as { [member: string]: unknown };
  const { version, key, expiresAt, digest, state } = found;
  const isState = state === "new" || state === "sent" || state === "done";
  if (
    version !== 1 ||
    typeof key !== "string" ||
    !Number.isSafeInteger(expiresAt) ||
    typeof digest !== "string" ||
    !isState ||
    Object.keys(found).length !== 5
  ) {
    throw failed(`what is kept of ${JSON.stringify(name)} is no record of this version`);
  }
  return { key, expiresAt: expiresAt as number, digest, state };
}

function failed(why: string): ClientError {
  return new ClientError(
    "store_failed",
    `The store of intents can't be used: ${why}`,
    "Mend the store; a key that is made anew would be another intent",
  );
}
