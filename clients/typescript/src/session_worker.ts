/** What runs in the thread of `SessionThread`: a session, its orders and its reports. */

import { parentPort, workerData } from "node:worker_threads";
import { ClientError } from "./errors.js";
import { type Assignment, errorData, type Order, type Report, sessionOf } from "./thread.js";

function report(what: Report): void {
  parentPort?.postMessage(what);
}

const { session } = sessionOf(workerData as Assignment, {
  item: (item, receivedMs) => report({ kind: "item", item, receivedMs }),
  log: (level, text) => report({ kind: "log", level, text }),
  connected: (server, player) => report({ kind: "connected", server, player }),
  disconnected: (server, error) => report({ kind: "disconnected", server, error: errorData(error) }),
});

parentPort?.on("message", (order: Order) => {
  if (order.kind === "request") session.outbox.request(order.act);
  else if (order.kind === "say") session.outbox.say(order.act);
  else session.stop();
});

try {
  await session.run();
  report({ kind: "end", error: undefined });
} catch (error) {
  if (!(error instanceof ClientError)) throw error;
  report({ kind: "end", error: errorData(error) });
}
