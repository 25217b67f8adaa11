/** What runs in the thread of `SessionThread`: a session, its orders and its reports. */

import { parentPort, workerData } from "node:worker_threads";
import { Connection } from "./channel.js";
import { ClientError } from "./errors.js";
import { type Log, saysItWaits } from "./log.js";
import { Session } from "./session.js";
import { type Assignment, errorData, type Order, type Report } from "./thread.js";

const { connection, introduction } = workerData as Assignment;

function report(what: Report): void {
  parentPort?.postMessage(what);
}

const log: Log = (level, text) => report({ kind: "log", level, text });
const channel = new Connection(connection);
channel.onWait = saysItWaits(log, connection.patienceMs);
const session = new Session(
  channel,
  introduction,
  (item, receivedMs) => report({ kind: "item", item, receivedMs }),
  log,
);

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
