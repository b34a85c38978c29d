/** What is asked: checked, and turned into bytes once, so that a retry is the same bytes again. */

import { ClientError, invalid } from "./errors.js";

/** The header of the key, in lower case. */
export const KEY_HEADER = "idempotency-key";
/** The header of the intent's own end, in lower case. */
export const EXPIRES_HEADER = "idempotency-expires";
/** What the transport writes itself. */
const OWN_HEADERS = new Set(["connection", "content-length", "host", "transfer-encoding"]);

/** One request, ready to be sent any number of times. */
export interface Request {
  readonly method: string;
  /** Path and query, from the slash on. */
  readonly path: string;
  /** Names in lower case, without key and expiry. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** The request, and the key that its headers carry, if they do. */
export function makeRequest(
  method: string,
  path: string,
  headers: Map<string, string>,
  json: unknown,
  body: Uint8Array | string | undefined,
): [Request, string | undefined] {
  if (!/^[A-Z]{1,16}$/.test(method) || !/^\/[\x21-\x7e]*$/.test(path)) {
    throw invalid(`${JSON.stringify(method)} ${JSON.stringify(path)} is no method in capitals and path from the slash on`);
  }
  const key = headers.get(KEY_HEADER);
  headers.delete(KEY_HEADER);
  if (headers.has(EXPIRES_HEADER)) throw invalid("Idempotency-Expires stands among the headers, and belongs in expiresAt");
  if (json !== undefined && body !== undefined) throw invalid("Both a JSON body and another were given");
  if (json !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
  const given = json === undefined ? (body ?? "") : encoded(json);
  const bytes = typeof given === "string" ? new TextEncoder().encode(given) : new Uint8Array(given);
  return [{ method, path, headers, body: bytes }, key];
}

/** The headers with names in lower case, each once; those that come later win over those before. */
export function headerLines(...layers: ReadonlyArray<Readonly<globalThis.Record<string, string>>>): Map<string, string> {
  const lines = new Map<string, string>();
  for (const layer of layers) {
    const seen = new Set<string>();
    for (const [name, value] of Object.entries(layer)) {
      const lower = name.toLowerCase();
      if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || typeof value !== "string" || !/^[\x20-\x7e\x80-\xff]*$/.test(value)) {
        throw invalid(`The header ${JSON.stringify(name)} can't be sent`);
      }
      if (seen.has(lower) || OWN_HEADERS.has(lower))
        throw invalid(`The header ${JSON.stringify(name)} is there twice, or is the transport's own`);
      seen.add(lower);
      lines.set(lower, value);
    }
  }
  return lines;
}

/** The key, if a server would take it for one. */
export function checkedKey(key: string): string {
  if (typeof key !== "string" || !/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw new ClientError(
      "key_invalid",
      "The idempotency key is not 1 to 255 visible ASCII characters",
      "Give another, or none: one is made then",
    );
  }
  return key;
}

/** What must be the same in every retry: method, path, principal and body. SHA-256, in hex. */
export async function digestOf(request: Request): Promise<string> {
  if (globalThis.crypto?.subtle === undefined) {
    throw invalid("This page is no secure context, so there is no digest: serve it over https, or from localhost");
  }
  const principal = Uint8Array.from(request.headers.get("principal") ?? "", (letter) => letter.charCodeAt(0));
  const text = new TextEncoder();
  const parts = [text.encode(request.method), text.encode(request.path), principal, request.body];
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + 8 + part.length, 0));
  let at = 0;
  for (const part of parts) {
    new DataView(whole.buffer).setBigUint64(at, BigInt(part.length));
    whole.set(part, at + 8);
    at += 8 + part.length;
  }
  const digest = new Uint8Array(await globalThis.crypto.subtle.digest("SHA-256", whole));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * JSON that says what was meant. `JSON.stringify` drops members that are undefined and writes NaN as null: an order whose limit was lost on
 * the way would be an order without one. And a whole number that no longer is exact is another amount.
 */
function encoded(json: unknown): string {
  const checked = (name: string, value: unknown): unknown => {
    const lost = value === undefined || typeof value === "function" || typeof value === "symbol";
    const inexact = typeof value === "number" && (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)));
    if (lost || inexact) throw invalid(`The member ${JSON.stringify(name)} of the body has no exact value in JSON`);
    return value;
  };
  try {
    return JSON.stringify(json, checked);
  } catch (error) {
    throw error instanceof ClientError ? error : invalid(`The body is no JSON: ${String(error)}`);
  }
}
