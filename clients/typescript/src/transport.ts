/** How one attempt goes over the wire. */

import { invalid } from "./errors.js";
import type { Request } from "./request.js";

/** The longest body of an answer that is read, in bytes. A longer one counts as lost. */
export const REPLY_BYTES_MAX = 16 * 1024 * 1024;

/** Nothing of the request can have reached the server. */
export class NotSent extends Error {}

/** No whole answer came. The server may have seen the request. */
export class Lost extends Error {}

/** A whole answer. */
export interface Reply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
}

/** Sends one attempt and waits for its whole answer. Rejects with {@link NotSent} or {@link Lost}, and retries nothing. */
export interface Transport {
  send(request: Request, headers: ReadonlyMap<string, string>, timeoutMs: number, signal: AbortSignal | undefined): Promise<Reply>;
}

/** What Node says where no connection came about. Browsers tell nothing of the kind, so there it is always {@link Lost}. */
const NEVER_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** `fetch`, without redirects and without a cache. */
export class FetchTransport implements Transport {
  readonly #base: string;
  readonly #fetch: typeof fetch;

  /** `baseUrl` may have a path, which goes before that of every request. */
  constructor(baseUrl: string, fetchWith: typeof fetch = globalThis.fetch) {
    const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "" || url.username !== "") {
      throw invalid(`The address ${JSON.stringify(baseUrl)} is not of the form http://host:port or https://host`);
    }
    this.#base = url.origin + url.pathname.replace(/\/+$/, "");
    this.#fetch = fetchWith;
  }

  async send(request: Request, headers: ReadonlyMap<string, string>, timeoutMs: number, signal: AbortSignal | undefined): Promise<Reply> {
    const end = new AbortController();
    const abort = (): void => end.abort();
    const timer = setTimeout(abort, timeoutMs);
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    try {
      const response = await this.#fetch.call(globalThis, this.#base + request.path, {
        method: request.method,
        headers: [...headers],
        body: request.body.length === 0 ? null : request.body,
        redirect: "manual",
        cache: "no-store",
        signal: end.signal,
      });
      const lines = new Map<string, string>();
      response.headers.forEach((value, name) => lines.set(name, value));
      return { status: response.status, headers: lines, body: await readWhole(response) };
    } catch (error) {
      throw wasNeverConnected(error) ? new NotSent(String(error), { cause: error }) : new Lost(String(error), { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      end.abort();
    }
  }
}

async function readWhole(response: Response): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const piece = await reader?.read();
    if (piece?.value === undefined) break;
    length += piece.value.length;
    if (length > REPLY_BYTES_MAX) throw new Error("the answer is longer than is read");
    pieces.push(piece.value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function wasNeverConnected(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return typeof cause === "object" && cause !== null && "code" in cause && NEVER_CONNECTED.has(String(cause.code));
}
