import { readFileSync } from "node:fs";

/** Returns one of the files that the tests of all clients read. */
export function vectors(name: string, revive?: (key: string, value: unknown) => unknown) {
  return JSON.parse(readFileSync(new URL(`../../../vectors/${name}`, import.meta.url), "utf8"), revive);
}
