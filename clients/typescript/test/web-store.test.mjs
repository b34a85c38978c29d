/** The store in a browser's storage. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ClientError, WebStore } from "../dist/index.js";

const RECORD = { key: "key-1", expiresAt: 1_790_000_000_000, digest: "00", state: "new" };

/** What a browser's storage does, as far as the store needs it. */
class Storage {
  items = new Map();

  getItem(name) {
    return this.items.get(name) ?? null;
  }

  setItem(name, text) {
    this.items.set(name, String(text));
  }

  removeItem(name) {
    this.items.delete(name);
  }
}

async function failed(call) {
  await assert.rejects(call, (error) => error instanceof ClientError && error.code === "store_failed");
}

test("it keeps over a reload, and forgets", async () => {
  const storage = new Storage();
  const store = new WebStore(storage);
  assert.equal(await store.get("cart"), undefined);
  const sent = { ...RECORD, state: "sent" };
  assert.ok(await store.swap("cart", undefined, RECORD));
  assert.ok(await store.swap("cart", RECORD, sent));
  const reloaded = new WebStore(storage);
  assert.deepEqual(await reloaded.get("cart"), sent);
  for (const old of [undefined, RECORD, { ...sent, key: "key-2" }]) assert.equal(await reloaded.swap("cart", old, undefined), false);
  assert.ok(await reloaded.swap("cart", sent, undefined));
  assert.ok(await reloaded.swap("cart", undefined, undefined));
  assert.equal(storage.items.size, 0);
});

test("of two tabs that come at once one comes first", async () => {
  // What a browser promises: one holder of a name at a time, over all tabs.
  const held = new Map();
  const locks = {
    request(name, call) {
      const mine = (held.get(name) ?? Promise.resolve()).then(call);
      held.set(name, mine);
      return mine;
    },
  };
  const storage = new Storage();
  const tabs = Array.from({ length: 8 }, (_, tab) =>
    new WebStore(storage, "nevertwice:", locks).swap("cart", undefined, { ...RECORD, key: `key-${tab}` }),
  );
  assert.equal((await Promise.all(tabs)).filter(Boolean).length, 1);
  assert.deepEqual([...held.keys()], ["nevertwice:cart"]);
});

test("what is no record is told, and not taken for nothing", async () => {
  const good = { version: 1, ...RECORD };
  const changes = [{ version: 2 }, { state: "gone" }, { expiresAt: "1" }, { expiresAt: 1.5 }, { key: 1 }, { more: 1 }].map((change) =>
    JSON.stringify({ ...good, ...change }),
  );
  for (const text of ["", "{", "null", "[]", "7", "{}", ...changes]) {
    const storage = new Storage();
    storage.setItem("nevertwice:cart", text);
    await failed(() => new WebStore(storage).get("cart"));
    await failed(() => new WebStore(storage).swap("cart", undefined, RECORD));
  }
});

test("a storage that can be read and not written is told", async () => {
  const storage = new Storage();
  storage.setItem = () => {
    throw new DOMException("full", "QuotaExceededError");
  };
  await failed(() => new WebStore(storage).swap("cart", undefined, RECORD));
});

test("a storage that is switched off is told", async () => {
  const off = () => {
    throw new DOMException("no", "SecurityError");
  };
  const store = new WebStore({ getItem: off, setItem: off, removeItem: off });
  await failed(() => store.get("cart"));
  await failed(() => store.swap("cart", undefined, RECORD));
});
