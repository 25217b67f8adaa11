/** A real arbiter: the program, on a folder of its own. It can be killed, and started again on the same record. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Client, type ClientOptions, Scope, type Tls } from "game-arbiter-client";
import { PlayerService } from "../src/generated/arbiter/v1/player_pb.js";
import { soon } from "./queue.js";

export const DEFAULT_COMMAND = fileURLToPath(new URL("../../../../.venv/bin/arbiter", import.meta.url));

/** An arbiter process. */
export class Arbiter {
  address = "127.0.0.1:0";
  readonly folder = mkdtempSync(join(tmpdir(), "arbiter-"));
  #adminToken = "";
  #process: ChildProcess | undefined;

  private constructor(
    private readonly words: readonly string[],
    readonly tls: Tls | undefined,
  ) {}

  /** Starts an arbiter; `tls` is what its clients need. */
  static async start(words: readonly string[] = [], tls?: Tls): Promise<Arbiter> {
    const arbiter = new Arbiter(words, tls);
    await arbiter.start();
    return arbiter;
  }

  /** Starts it, again on the address that it had; returns once it listens. */
  async start(): Promise<void> {
    const program = process.env.ARBITER_COMMAND || DEFAULT_COMMAND;
    const store = `sqlite:///${join(this.folder, "arbiter.db")}`;
    const words = ["serve", "--listen", this.address, "--store", store, "--no-save-token", ...this.words];
    const started = spawn(program, words, { stdio: ["ignore", "pipe", "pipe"] });
    const log = createWriteStream(this.#log, { flags: "a" });
    started.stderr.pipe(log);
    this.#process = started;
    await soon(this.#listens(started), `an arbiter that listens; its log is ${this.#log}`);
  }

  /** Kills it the hard way. */
  async kill(): Promise<void> {
    const process_ = this.#process;
    if (!process_ || process_.exitCode !== null || process_.signalCode !== null) return;
    process_.kill("SIGKILL");
    await once(process_, "exit");
  }

  /** Returns a client that may do everything, or with a token of its own. It is closed with the test. */
  client(t: TestContext, options: ClientOptions = {}): Client {
    const token = this.#adminToken;
    const client = new Client({
      server: this.address,
      token,
      patienceMs: 600_000,
      tls: this.tls,
      ...options,
    });
    t.after(() => client.close());
    return client;
  }

  /** Returns a token of a player, which is made if there is none. */
  async token(admin: Client, player: string): Promise<string> {
    const scopes = [Scope.PLAY, Scope.OBSERVE];
    return (
      await admin.connection.ask(PlayerService.method.createToken, { player, scopes }, { again: false })
    ).secret;
  }

  get #log(): string {
    return join(this.folder, "server.log");
  }

  async #listens(started: ChildProcess): Promise<void> {
    const exit = once(started, "exit").then(() => {
      throw new Error(`the arbiter did not start: ${readFileSync(this.#log, "utf8")}`);
    });
    exit.catch(() => {});
    const read = async () => {
      for await (const line of createInterface({
        input: started.stdout as NonNullable<typeof started.stdout>,
      })) {
        this.address = / listens on (\S+),/.exec(line)?.[1] ?? this.address;
        this.#adminToken = /shown only now: (\S+)/.exec(line)?.[1] ?? this.#adminToken;
        if (line.startsWith("Next:")) return;
      }
    };
    await Promise.race([read(), exit]);
    started.stdout?.resume();
  }
}
