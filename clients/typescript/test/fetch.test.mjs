/** The transport on real sockets: what it tells apart, and what bounds it. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { Client, ClientError, FetchTransport, Lost, NotSent, systemClock } from "../dist/index.js";

const REQUEST = { method: "POST", path: "/x?y=1", headers: new Map(), body: new TextEncoder().encode('{"a":1}') };
const LINES = new Map([
  ["principal", "ann"],
  ["idempotency-key", "k"],
]);

/** A server that reads a request, and answers with whatever it likes. */
async function withPeer(answer, use) {
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    let got = "";
    socket.on("data", (piece) => {
      got += piece.toString("latin1");
      if (got.endsWith('{"a":1}')) answer(socket, got);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await use(`http://127.0.0.1:${server.address().port}`);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

const send = (url, timeoutMs = 20_000, signal = undefined) => new FetchTransport(url).send(REQUEST, LINES, timeoutMs, signal);
const lost = (answer, ...more) => withPeer(answer, (url) => assert.rejects(send(url, ...more), Lost));

test("a whole answer comes with its headers, and a redirect is not followed", async () => {
  const seen = [];
  const text = "HTTP/1.1 303 See Other\r\nRetry-After: 3\r\nLocation: /y\r\nContent-Length: 2\r\n\r\nok";
  const answer = (socket, got) => {
    seen.push(got);
    socket.end(text);
  };
  const reply = await withPeer(answer, (url) => send(`${url}/api/`));
  assert.deepEqual([reply.status, new TextDecoder().decode(reply.body), reply.headers.get("retry-after")], [303, "ok", "3"]);
  assert.equal(seen.length, 1);
  assert.ok(seen[0].startsWith("POST /api/x?y=1 HTTP/1.1\r\n"), seen[0]);
  for (const line of ["idempotency-key: k", "principal: ann", "content-length: 7"])
    assert.equal(seen[0].toLowerCase().split(`${line}\r\n`).length, 2, seen[0]);
});

test("a refused connection was not sent", async () => {
  const url = await withPeer(
    () => {},
    async (open) => open,
  );
  await assert.rejects(send(url), NotSent);
});

test("what breaks off is lost", async () => {
  for (const text of [
    "",
    "HTTP/1.1 200",
    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf",
    "no http at all\r\n\r\n",
  ]) {
    await lost((socket) => socket.end(text));
  }
});

test("an answer that never comes, or trickles, is lost in time", async () => {
  await lost(() => {}, 50);
  await lost((socket) => {
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    const trickle = () => socket.destroyed || socket.write(".", () => setImmediate(trickle));
    trickle();
  }, 100);
});

test("a cancelled attempt is lost at once", async () => {
  const cancel = new AbortController();
  await lost(() => cancel.abort(), 20_000, cancel.signal);
  await assert.rejects(send("http://127.0.0.1:1", 20_000, AbortSignal.abort()), Lost);
});

test("an answer that is too long is lost", async () => {
  const endless = async () => new Response(new ReadableStream({ pull: (stream) => stream.enqueue(new Uint8Array(1024 * 1024)) }));
  await assert.rejects(new FetchTransport("http://a", endless).send(REQUEST, LINES, 20_000, undefined), Lost);
});

test("an address that is none is refused", () => {
  for (const url of ["", "127.0.0.1:80", "ftp://a", "http://", "http://a?b", "http://a#b", "http://user@a", "http://a:99999"]) {
    assert.throws(
      () => new Client(url),
      (error) => error instanceof ClientError && error.code === "request_invalid",
      url,
    );
  }
});

test("the system's clock ends a wait that is cancelled", async () => {
  const cancel = new AbortController();
  const waiting = systemClock.sleep(3_600_000, cancel.signal);
  cancel.abort();
  await waiting;
  await systemClock.sleep(3_600_000, AbortSignal.abort());
  assert.ok(Math.abs(systemClock.nowMs() - Date.now()) < 60_000 && systemClock.elapsedMs() >= 0);
});
