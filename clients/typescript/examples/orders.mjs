/**
 * Places orders of one share each, every one of them exactly once, and says how it went.
 *
 *     npm ci && npx tsc && node examples/orders.mjs http://127.0.0.1:8080 40
 */

import { argv } from "node:process";
import { Client } from "../dist/index.js";

const [baseUrl, orders] = [argv[2], Number(argv[3])];
const retries = { timeoutMs: 500, deadlineMs: 60_000, attemptsMax: 100, backoffMinMs: 10, backoffMaxMs: 100 };
const client = new Client(baseUrl, { headers: { Principal: "desk" }, retries });

const told = { done: 0, replayed: 0, failed: 0, unknown: 0, attempts: 0 };
let next = 0;

async function work() {
  for (let number = next++; number < orders; number = next++) {
    const order = { account: "ann", instrument: "ARG-10", side: "buy", quantity: 1 };
    // The name says what is meant, so that whoever comes again with it means the same.
    const intent = await client.intent("/v1/markets/cup/orders", { json: order, name: `order-${number}` });
    const outcome = await client.send(intent);
    told[outcome.kind] += 1;
    told.attempts += outcome.attempts;
    if (outcome.kind === "done" && outcome.replayed) told.replayed += 1;
  }
}

await Promise.all([work(), work(), work(), work()]);
console.log(JSON.stringify(told));
