/** The addresses of one arbiter: which one is in use, and which one to try next if a call fails. */

import { Backoff } from "./backoff.js";
import { ArbiterError, type ClientError, ConnectionFailed } from "./errors.js";

/** Where `arbiter serve` listens by default. */
export const DEFAULT_SERVER = "127.0.0.1:7400";

/**
 * Returns the addresses to connect to: the argument's, or those of ARBITER_SERVER, or that of `arbiter serve`. Throws
 * ConnectionFailed for one that is not HOST:PORT.
 */
export function serverAddresses(server: string | undefined): string[] {
  const parts = (server || process.env.ARBITER_SERVER || DEFAULT_SERVER)
    .split(",")
    .map((part) => part.trim());
  for (const [index, address] of parts.entries()) {
    const port = Number(/^(?:\[[^[\] ]+\]|[^: ]+):([0-9]{1,5})$/.exec(address)?.[1] ?? 0);
    if (port < 1 || port > 65_535) {
      const which = parts.length > 1 ? ` (number ${index + 1} of ${parts.length})` : "";
      const how = `write HOST:PORT, such as ${DEFAULT_SERVER} or [::1]:7400, and commas between several`;
      throw new ConnectionFailed(`'${address}'${which} is no address: ${how}`);
    }
  }
  return [...new Set(parts)];
}

/** The addresses of one arbiter, all equivalent. All calls of a client use the current one. */
export class Addresses {
  current: string;

  constructor(readonly listed: readonly string[]) {
    this.current = listed[0] ?? DEFAULT_SERVER;
  }

  /** Returns the other addresses, in the order in which they are tried after this one. */
  after(address: string): readonly string[] {
    const place = this.listed.indexOf(address);
    return [...this.listed.slice(place + 1), ...this.listed.slice(0, place)];
  }
}

/** The attempts of one caller: at the next address at once, and after a pause once all addresses have failed. */
export class Tries {
  readonly #backoff = new Backoff();
  /** Since the last pause. */
  readonly #failed = new Map<string, ClientError>();

  constructor(private readonly addresses: Addresses) {}

  /**
   * Returns the pause after an attempt at an address, in ms: 0 if another one is to be tried first. The next one is
   * chosen if no arbiter answers at this one, or if it refuses every call for now.
   */
  failedMs(address: string, error: ClientError): number {
    if (!leaves(error)) return this.#backoff.nextMs(askedMs(error));
    const { listed } = this.addresses;
    if (this.#failed.size === listed.length) this.#failed.clear();
    this.#failed.set(address, error);
    const others = this.addresses.after(address);
    const untried = others.find((other) => !this.#failed.has(other));
    if (this.#failed.has(this.addresses.current)) this.addresses.current = untried ?? others[0] ?? address;
    if (untried) return 0;
    return this.#backoff.nextMs(Math.min(...[...this.#failed.values()].map(askedMs)));
  }

  /** Returns the error to report after the last attempt: its error, or one that names all addresses. */
  allFailed(last: ClientError): ClientError {
    if (this.#failed.size < Math.max(2, this.addresses.listed.length)) return last;
    const each = [...this.#failed].map(([address, error]) => `${address} (${why(error)})`).join(", nor at ");
    const hint = "is one running there, are hosts and ports right, and does it speak TLS or not as you do?";
    return new ConnectionFailed(`no arbiter answers at ${each}: ${hint}`, { cause: last });
  }

  /** Starts again from the first pause, after a success. */
  reset(): void {
    this.#failed.clear();
    this.#backoff.reset();
  }
}

function leaves(error: ClientError): boolean {
  return error instanceof ConnectionFailed || (error instanceof ArbiterError && error.code === "UNAVAILABLE");
}

function askedMs(error: ClientError): number {
  return error instanceof ArbiterError ? error.retryAfterMs : 0;
}

/** Returns the description of a failure by gRPC or by the arbiter. */
function why(error: ClientError): string {
  const cause = error.cause as { details?: unknown } | undefined;
  const details = error instanceof ConnectionFailed ? cause?.details : undefined;
  return typeof details === "string" && details ? details : error.message;
}
