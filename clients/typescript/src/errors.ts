/** What the client itself refuses, before anything is sent. */

/**
 * The codes of a refusal; they are stable.
 *
 * - `request_invalid`: a path, a header, a body or a setting that can't be sent.
 * - `key_invalid`: a key that is not 1 to 255 visible ASCII characters.
 * - `key_conflict`: two different keys for one intent, or a key that every request would share.
 * - `request_changed`: another request under the name, and so the key, of an intent that is not finished.
 * - `still_unknown`: an intent was to be finished whose outcome is not known.
 * - `store_failed`: the store can't be read or written, or holds what is no record.
 */
export type ClientErrorCode = "request_invalid" | "key_invalid" | "key_conflict" | "request_changed" | "still_unknown" | "store_failed";

/** A refusal of the client. Nothing was sent. The text is for people and may change. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;

  constructor(code: ClientErrorCode, wrong: string, nextStep: string) {
    super(`${wrong}. Nothing was sent. ${nextStep}.`);
    this.name = "ClientError";
    this.code = code;
  }
}

/** A request or a setting that makes no sense. */
export function invalid(wrong: string): ClientError {
  return new ClientError("request_invalid", wrong, "Correct the call");
}
