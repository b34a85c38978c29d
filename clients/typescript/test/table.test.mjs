/** The table that all clients share. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf } from "../dist/key.js";
import { digestOf } from "../dist/request.js";
import { retryAfterMs } from "../dist/retries.js";
import { scripted, TABLE } from "./scripted.mjs";

function told(outcome) {
  const { kind, attempts } = outcome;
  if (kind === "done") return { kind, attempts, status: outcome.reply.status, replayed: outcome.replayed };
  if (kind === "failed") return { kind, attempts, code: outcome.code };
  return { kind, attempts, reason: outcome.reason, code: outcome.code ?? null };
}

test("the table has its cases", () => assert.ok(TABLE.cases.length > 30));

for (const row of TABLE.cases) {
  test(row.name, async () => {
    const { client, clock, script } = scripted(row.script, {}, row.settings);
    const expiresAt = clock.now + (row.expires_in_ms ?? TABLE.expires_in_ms);
    const intent = await client.intent("/charges", { json: { amount: 3 }, expiresAt });
    const outcome = told(await client.send(intent));
    const { state, ...expected } = row.outcome;
    assert.equal(intent.state, state);
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((member) => [member, outcome[member]])), expected);
    assert.deepEqual(clock.waits, row.waits_ms);
    assert.equal(script.steps.length, 0);
    assert.deepEqual(script.timeouts, row.timeouts_ms ?? script.timeouts);
    // Whatever happens, every attempt is the same request with the same key.
    for (const sent of script.sent) assert.deepEqual(sent, script.sent[0]);
  });
}

test("codes that say that nothing was done are believed", async () => {
  for (const code of TABLE.nothing_done) {
    const { client } = scripted([{ status: 503, body: { code, retryable: true } }], {}, { attempts_max: 1 });
    assert.deepEqual(told(await client.post("/x", {})), { kind: "failed", attempts: 1, code });
  }
});

test("keys are UUIDs of version 7", () => {
  for (const row of TABLE.keys) assert.equal(keyOf(row.now_ms, Uint8Array.from(Buffer.from(row.bytes, "hex"))), row.key);
});

test("a digest covers method, path, principal and body", async () => {
  for (const row of TABLE.digests) {
    const headers = new Map(row.principal === "" ? [] : [["principal", row.principal]]);
    assert.equal(await digestOf({ method: row.method, path: row.path, headers, body: new TextEncoder().encode(row.body) }), row.digest);
  }
});

test("Retry-After is seconds or a date", () => {
  for (const row of TABLE.retry_after) assert.equal(retryAfterMs(row.value, row.date, TABLE.now_ms) ?? null, row.ms, JSON.stringify(row));
  assert.equal(retryAfterMs(undefined, undefined, 0), undefined);
});
