import { setTimeout as sleep } from "node:timers/promises";

const WAIT_MS = 600_000; // only a test that hangs takes that long, however busy the machine

/** Returns what a promise comes to; fails with `what` if that takes too long. */
export async function soon<T>(promise: Promise<T>, what: string): Promise<T> {
  const done = new AbortController();
  const late = sleep(WAIT_MS, undefined, { signal: done.signal }).then(() => {
    throw new Error(`waited in vain for ${what}`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    late.catch(() => {});
    done.abort();
  }
}

/** Waits until something is so. */
export async function until(so: () => boolean, what: string): Promise<void> {
  let waits = true;
  const poll = async () => {
    while (waits && !so()) await sleep(5);
  };
  await soon(poll(), what).finally(() => {
    waits = false;
  });
}

/** What comes in, to be waited for in order. */
export class Queue<T> {
  readonly #items: T[] = [];
  readonly #waiting: ((item: T) => void)[] = [];

  put(item: T): void {
    const next = this.#waiting.shift();
    if (next) next(item);
    else this.#items.push(item);
  }

  get(what: string): Promise<T> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    return soon(new Promise((resolve) => this.#waiting.push(resolve)), what);
  }
}
