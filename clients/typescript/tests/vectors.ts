import { readFileSync } from "node:fs";

/** Returns one of the files that the tests of all clients read. */
export function vectors(name: string) {
  return JSON.parse(readFileSync(new URL(`../../../vectors/${name}`, import.meta.url), "utf8"));
}
