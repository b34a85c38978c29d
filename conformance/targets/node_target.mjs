// The echo endpoints of the conformance suite, without a guard: something to put a guard in front of.
//
// Without dependencies. `node node_target.mjs [port]` prints where it listens, and serves until it is ended.

import { createServer } from "node:http";

const endpoints = new Map();

function makeEndpoint(plan) {
  const endpoint = { plan, runs: 0, waiting: 0, bodyBytes: 0 };
  const opened = new Promise((resolve) => (endpoint.open = resolve));
  endpoint.wait = async () => {
    endpoint.waiting += 1;
    await opened;
    endpoint.waiting -= 1;
  };
  return endpoint;
}

async function control(request, response, name, rest, body) {
  if (request.method === "PUT" && rest === undefined) {
    endpoints.set(name, makeEndpoint(JSON.parse(body)));
    return response.writeHead(204).end();
  }
  const endpoint = endpoints.get(name);
  if (endpoint === undefined) return response.writeHead(404).end();
  if (request.method === "POST" && rest === "open") {
    endpoint.open();
    return response.writeHead(204).end();
  }
  const figures = { runs: endpoint.runs, waiting: endpoint.waiting, body_bytes: endpoint.bodyBytes };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(figures));
}

async function echo(request, response, endpoint, sent) {
  const { plan } = endpoint;
  endpoint.runs += 1;
  endpoint.bodyBytes = sent.length;
  if (plan.gate === "answer") await endpoint.wait();
  if (plan.end === "panic") return response.destroy();
  const body = Buffer.concat(Array(plan.repeat).fill(Buffer.from(plan.body, "base64")));
  const lines = plan.headers.flat();
  const hasBody = plan.status !== 204 && plan.status !== 304;
  if (hasBody && !plan.chunked) lines.push("content-length", String(body.length));
  response.sendDate = false;
  response.writeHead(plan.status, lines);
  if (!hasBody || request.method === "HEAD") return response.end();
  const half = Math.floor(body.length / 2);
  const first = new Promise((resolve) => response.write(body.subarray(0, half), resolve));
  if (half > 0) await first;
  if (plan.gate === "half") await endpoint.wait();
  if (plan.end === "break") return response.destroy();
  response.end(body.subarray(half));
}

const server = createServer(async (request, response) => {
  // A client that hangs up, or a connection that breaks as planned, is no fault.
  request.on("error", () => {});
  response.on("error", () => {});
  try {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const [, kind, name, rest] = request.url.split("?")[0].split("/");
    if (kind === "control") return await control(request, response, name, rest, body);
    const endpoint = kind === "echo" ? endpoints.get(name) : undefined;
    if (endpoint === undefined) return response.writeHead(404).end();
    await echo(request, response, endpoint, body);
  } catch {
    response.destroy();
  }
});

server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
