// A bot whose thought never lets go of its thread.
import { Bot, main, type Turn } from "game-arbiter-client";

class Blocking extends Bot {
  readonly name = "blocking";

  choose({ ply }: Turn): string {
    const endMs = performance.now() + 1_000;
    while (performance.now() < endMs);
    return `move ${ply}`;
  }
}

await main(new Blocking());
