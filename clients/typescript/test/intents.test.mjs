/** Keys: made once, kept, never shared, never replaced. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, ClientError, MemoryStore } from "../dist/index.js";
import { IN_PROGRESS, LOST, NO, NOT_SENT, REPLAY, scripted, YES } from "./scripted.mjs";

async function refused(code, call) {
  await assert.rejects(
    async () => call(),
    (error) => error instanceof ClientError && error.code === code && error.message.includes("Nothing was sent."),
  );
}

test("a retry that meets the in-flight 409 of its own first attempt does not throw", async () => {
  const { client, clock, script } = scripted([LOST, IN_PROGRESS, IN_PROGRESS, REPLAY]);
  const outcome = await client.post("/charges", { amount: 3 });
  assert.ok(outcome.kind === "done" && outcome.replayed);
  assert.equal(new Set(script.keys()).size, 1);
  assert.ok(clock.waits.slice(1).every((wait) => wait >= 2_000));
});

test("a key never leaks into the next call", async () => {
  const { client, script } = scripted([YES, LOST, REPLAY, NO, YES]);
  for (let call = 0; call < 3; call += 1) await client.post("/charges", { amount: 3 });
  await client.post("/charges", { amount: 3 }, { key: "mine" });
  const keys = script.keys();
  assert.equal(keys[1], keys[2]);
  assert.equal(new Set(keys).size, 4);
  assert.equal(keys[4], "mine");
});

test("a key of the caller is never overwritten on retry", async () => {
  for (const options of [
    { key: "mine" },
    { headers: { "IDEMPOTENCY-KEY": "mine" } },
    { key: "mine", headers: { "Idempotency-Key": "mine" } },
  ]) {
    const { client, script } = scripted([LOST, IN_PROGRESS, REPLAY]);
    await client.post("/charges", { amount: 3 }, options);
    assert.deepEqual(script.keys(), ["mine", "mine", "mine"]);
    assert.ok(
      script.sent.every(({ headers }) => Object.keys(headers).filter((name) => name.toLowerCase() === "idempotency-key").length === 1),
    );
  }
});

test("outcomes are told by codes and not by texts", async () => {
  for (const detail of ["A request with this key is being worked on", "retry later", ""]) {
    const { client } = scripted([{ status: 409, body: { code: "sale_full", detail, title: detail } }]);
    const outcome = await client.post("/charges", { amount: 3 });
    assert.ok(outcome.kind === "failed" && outcome.code === "sale_full");
  }
});

test("a key for all requests of a client is refused", async () => {
  for (const name of ["Idempotency-Key", "idempotency-expires"])
    await refused("key_conflict", () => new Client("http://a", { headers: { [name]: "1" } }));
});

test("two keys for one intent are refused", async () => {
  const { client, script } = scripted([]);
  await refused("key_conflict", () => client.post("/x", {}, { key: "a", headers: { "idempotency-key": "b" } }));
  await client.intent("/x", { json: {}, name: "cart", key: "a" });
  await refused("key_conflict", () => client.intent("/x", { json: {}, name: "cart", key: "b" }));
  assert.deepEqual(script.sent, []);
});

test("a key that is none is refused", async () => {
  const { client } = scripted([]);
  for (const key of ["", "a b", "ä", "x".repeat(256), "a\r\nb", 7]) await refused("key_invalid", () => client.intent("/x", { key }));
});

test("what cannot be sent is refused", async () => {
  const { client, script } = scripted([]);
  for (const [path, options] of [
    ["no-slash"],
    ["/a b"],
    ["/a\r\nx: y"],
    ["/", { method: "post" }],
    ["/", { headers: { a: "b\r\nc" } }],
    ["/", { headers: { "a b": "c" } }],
    ["/", { headers: { Principal: "ann", principal: "bob" } }],
    ["/", { headers: { "Content-Length": "0" } }],
    ["/", { headers: { "Idempotency-Expires": "1" } }],
    ["/", { json: {}, body: "" }],
    ["/", { expiresAt: -1 }],
    ["/", { expiresAt: 1.5 }],
    ["/", { name: "" }],
    ["/", { name: "x".repeat(257) }],
  ]) {
    await refused("request_invalid", () => client.intent(path, options));
  }
  for (const settings of [{ timeoutMs: 0 }, { deadlineMs: 2 ** 31 }, { attemptsMax: 1.5 }, { backoffMinMs: 2, backoffMaxMs: 1 }]) {
    await refused("request_invalid", () => new Client("http://a", { retries: settings }));
  }
  assert.deepEqual(script.sent, []);
});

test("a body that JSON would change is refused: a limit that was lost is not sent as none", async () => {
  const { client } = scripted([]);
  const cycle = {};
  cycle.cycle = cycle;
  for (const json of [
    { limit_price: undefined },
    { amount: NaN },
    { amount: 1 / 0 },
    { amount: 2 ** 53 },
    { amount: 1n },
    { call: () => 1 },
    [undefined],
    cycle,
  ]) {
    await refused("request_invalid", () => client.intent("/x", { json }));
  }
  const intent = await client.intent("/x", { json: { a: null, b: 2 ** 53 - 1, c: 0.5, d: new Date(0) } });
  assert.equal(new TextDecoder().decode(intent.request.body), '{"a":null,"b":9007199254740991,"c":0.5,"d":"1970-01-01T00:00:00.000Z"}');
});

test("every attempt carries the same expiry and bytes", async () => {
  const { client, script } = scripted([LOST, LOST, YES], { headers: { Principal: "web" } });
  const order = { quantity: 3, name: "Zoë" };
  const intent = await client.intent("/orders", { json: order });
  order.quantity = 4;
  await client.send(intent);
  for (const { headers, body } of script.sent) {
    assert.equal(headers["idempotency-expires"], "1790000060000");
    assert.equal(headers.principal, "web");
    assert.equal(body, '{"quantity":3,"name":"Zoë"}');
  }
});

test("credentials may change between two attempts", async () => {
  const given = ["Bearer a", "Bearer b"];
  const { client, script } = scripted([LOST, YES], { authorization: async () => given.shift() });
  await client.post("/orders", {});
  assert.deepEqual(
    script.sent.map(({ headers }) => headers.authorization),
    ["Bearer a", "Bearer b"],
  );
});

test("a name keeps its key over a reload", async () => {
  const store = new MemoryStore();
  const before = scripted([LOST, LOST, LOST, LOST, LOST], { store });
  const first = await before.client.send(await before.client.intent("/x", { json: { a: 1 }, name: "cart-81" }));
  assert.equal(first.kind, "unknown");
  const after = scripted([REPLAY], { store });
  const second = await after.client.send(await after.client.intent("/x", { json: { a: 1 }, name: "cart-81" }));
  assert.ok(second.kind === "done" && second.replayed);
  assert.deepEqual(before.script.sent[0], after.script.sent[0]);
});

test("a lost attempt before a reload leaves a later no in doubt", async () => {
  const store = new MemoryStore();
  const before = scripted([LOST], { store }, { attempts_max: 1 });
  await before.client.send(await before.client.intent("/x", { json: {}, name: "cart" }));
  const after = scripted([NO], { store });
  const outcome = await after.client.send(await after.client.intent("/x", { json: {}, name: "cart" }));
  assert.deepEqual([outcome.kind, outcome.reason, outcome.problem.code], ["unknown", "refused_in_doubt", "level_full"]);
});

test("another body under the same key is refused here", async () => {
  const { client, script } = scripted([LOST], {}, { attempts_max: 1 });
  await client.send(await client.intent("/x", { json: { a: 1 }, name: "cart" }));
  await refused("request_changed", () => client.intent("/x", { json: { a: 2 }, name: "cart" }));
  await refused("request_changed", () => client.intent("/y", { json: { a: 1 }, name: "cart" }));
  await refused("request_changed", () => client.intent("/x", { json: { a: 1 }, name: "cart", method: "PUT" }));
  await refused("request_changed", () => client.intent("/x", { json: { a: 1 }, name: "cart", headers: { Principal: "somebody else" } }));
  assert.equal(script.sent.length, 1);
});

test("a finished name gets a new key, and an unfinished one does not", async () => {
  const { client, script } = scripted([YES, REPLAY, YES]);
  const cart = () => client.intent("/x", { json: {}, name: "cart" });
  const intent = await cart();
  await client.send(intent);
  await client.send(await cart());
  await client.finish(intent);
  await client.send(await cart());
  const keys = script.keys();
  assert.equal(keys[0], keys[1]);
  assert.notEqual(keys[0], keys[2]);
});

test("what is unknown is not finished", async () => {
  const { client } = scripted([LOST], {}, { attempts_max: 1 });
  const cart = () => client.intent("/x", { json: {}, name: "cart" });
  const intent = await cart();
  await client.send(intent);
  await refused("still_unknown", () => client.finish(intent));
  assert.equal((await cart()).key, intent.key);
  await client.abandon(intent);
  assert.notEqual((await cart()).key, intent.key);
});

test("what is unknown keeps its key beyond its expiry, and is not sent", async () => {
  const { client, clock, script } = scripted([LOST], {}, { attempts_max: 1 });
  const intent = await client.intent("/x", { json: {}, name: "cart" });
  await client.send(intent);
  clock.now = intent.expiresAt;
  const again = await client.intent("/x", { json: {}, name: "cart" });
  const outcome = await client.send(again);
  assert.deepEqual(
    [again.key, outcome.kind, outcome.reason, outcome.attempts, script.sent.length],
    [intent.key, "unknown", "expired", 0, 1],
  );
});

test("what has ended is forgotten at its expiry", async () => {
  for (const step of [YES, NO]) {
    const { client, clock } = scripted([step]);
    const cart = () => client.intent("/x", { json: {}, name: "cart" });
    const intent = await cart();
    await client.send(intent);
    clock.now = intent.expiresAt - 1;
    assert.equal((await cart()).key, intent.key);
    clock.now = intent.expiresAt;
    assert.notEqual((await cart()).key, intent.key);
  }
});

test("what has happened is not taken back by a later no", async () => {
  for (const steps of [
    [YES, NO],
    [YES, NOT_SENT, NOT_SENT, NOT_SENT, NOT_SENT, NOT_SENT],
  ]) {
    const { client } = scripted(steps);
    const intent = await client.intent("/x", { json: {}, name: "cart" });
    await client.send(intent);
    assert.equal((await client.send(intent)).kind, "unknown");
    assert.equal(intent.state, "done");
  }
});

test("two that come at once get one key", async () => {
  const { client } = scripted([]);
  const intents = await Promise.all(Array.from({ length: 8 }, () => client.intent("/x", { json: {}, name: "cart" })));
  assert.equal(new Set(intents.map((intent) => intent.key)).size, 1);
});

class BrokenStore extends MemoryStore {
  brokenFrom = "";

  async swap(name, old, next) {
    if (next?.state === this.brokenFrom) throw new ClientError("store_failed", "The disk is full", "Make room");
    return super.swap(name, old, next);
  }
}

test("what cannot be kept is not sent", async () => {
  const store = new BrokenStore();
  store.brokenFrom = "sent";
  const { client, script } = scripted([YES], { store });
  await refused("store_failed", () => client.post("/x", {}, { name: "cart" }));
  assert.deepEqual(script.sent, []);
});

test("an outcome that cannot be kept is told, and the key stays", async () => {
  const store = new BrokenStore();
  store.brokenFrom = "done";
  const { client } = scripted([YES, REPLAY], { store });
  assert.equal((await client.post("/x", {}, { name: "cart" })).kind, "done");
  assert.ok((await client.post("/x", {}, { name: "cart" })).replayed);
});

test("a refusal beside another sender is no refusal", async () => {
  const store = new MemoryStore();
  const other = scripted([], { store });
  const mine = scripted([NO], { store });
  const first = await mine.client.intent("/x", { json: {}, name: "cart" });
  // The other has begun, and not ended, when mine is sent.
  await (await other.client.intent("/x", { json: {}, name: "cart" })).note("sent");
  const outcome = await mine.client.send(first);
  assert.deepEqual([outcome.kind, outcome.reason], ["unknown", "refused_in_doubt"]);
});

test("a refusal of another sender does not take doubt away", async () => {
  const store = new MemoryStore();
  const { client, clock } = scripted([LOST, LOST, LOST, LOST, LOST], { store });
  const intent = await client.intent("/x", { json: {}, name: "cart" });
  // Whenever this one waits, the other has been refused, and has noted that nothing happened.
  clock.duringSleep = () => store.swap("cart", { ...intent.record, state: "sent" }, { ...intent.record, state: "new" });
  assert.equal((await client.send(intent)).kind, "unknown");
  assert.equal((await store.get("cart")).state, "sent");
});

test("an intent that another finished is not sent", async () => {
  const { client, script } = scripted([]);
  const cart = () => client.intent("/x", { json: {}, name: "cart" });
  const intent = await cart();
  await client.finish(await cart());
  await refused("key_conflict", () => client.send(intent));
  await cart();
  await refused("key_conflict", () => client.send(intent));
  assert.deepEqual(script.sent, []);
});

test("of those who find an ended name at its expiry, one makes the key", async () => {
  const { client, clock } = scripted([YES]);
  const cart = () => client.intent("/x", { json: {}, name: "cart" });
  const old = await cart();
  await client.send(old);
  clock.now = old.expiresAt;
  const keys = new Set((await Promise.all(Array.from({ length: 8 }, cart))).map((intent) => intent.key));
  assert.ok(keys.size === 1 && !keys.has(old.key));
});

test("cancelled before the first attempt, nothing is sent", async () => {
  const { client, script } = scripted([]);
  const outcome = await client.post("/x", {}, { signal: AbortSignal.abort() });
  assert.deepEqual([outcome.kind, outcome.code, outcome.attempts, script.sent], ["failed", "not_sent", 0, []]);
});

test("cancelled after a lost attempt, it is unknown", async () => {
  const { client, clock, script } = scripted([LOST]);
  const cancel = new AbortController();
  clock.duringSleep = () => cancel.abort();
  const outcome = await client.post("/x", {}, { signal: cancel.signal });
  assert.deepEqual([outcome.kind, outcome.reason, script.sent.length], ["unknown", "cancelled", 1]);
});

test("jitter spreads a crowd, and never comes before Retry-After", async () => {
  const waits = new Set();
  for (const chance of [0, 0.25, 0.5, 0.999]) {
    const { client, clock } = scripted([LOST, IN_PROGRESS, YES], { chance: () => chance });
    await client.post("/x", {});
    const [first, second] = clock.waits;
    assert.ok(first >= 50 && first <= 100 && second >= 2_000 && second <= 2_100, String(clock.waits));
    waits.add(`${first} ${second}`);
  }
  assert.equal(waits.size, 4);
});
