/** Watching matches: a stream of events that continues after a lost connection. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { Tries } from "./addresses.js";
import { type Connection, ended } from "./channel.js";
import { ArbiterError, fromRpc } from "./errors.js";
import {
  MatchService,
  type ObserveItem,
  type ObserveRequestSchema,
  type ObserveResponse,
} from "./generated/arbiter/v1/match_pb.js";
import type { Log } from "./log.js";

/**
 * Yields the items of a stream of events; after a lost connection, it sends the request that `ask` then returns.
 *
 * The first connection is tried for the connection's patience; a lost one is tried again at all addresses until it is
 * back. Throws ArbiterError and ConnectionFailed, and the reason of a signal that is aborted.
 */
export async function* follow(
  connection: Connection,
  ask: () => MessageInitShape<typeof ObserveRequestSchema>,
  log: Log,
  signal?: AbortSignal,
): AsyncGenerator<ObserveItem, void> {
  const tries = new Tries(connection.addresses);
  let giveUpMs = performance.now() + connection.patienceMs;
  for (;;) {
    signal?.throwIfAborted();
    const { address, greeting } = connection;
    const call = ended(connection.stream(MatchService.method.observe, ask()), signal);
    try {
      for await (const response of call as AsyncIterable<ObserveResponse>) {
        giveUpMs = Number.POSITIVE_INFINITY;
        tries.reset();
        yield* response.items;
      }
      return;
    } catch (failure) {
      signal?.throwIfAborted();
      const error = fromRpc(failure, address);
      const refused = error instanceof ArbiterError;
      if (refused && !error.temporary && error.reason !== "READER_TOO_SLOW") throw error;
      const pauseMs = tries.failedMs(address, error);
      if (pauseMs > 0 && performance.now() + pauseMs > giveUpMs) throw tries.allFailed(error);
      log("warning", `watching stopped, trying again: ${error.message}`);
      await connection.rest(pauseMs, greeting, error, signal);
    } finally {
      call.cancel();
    }
  }
}
