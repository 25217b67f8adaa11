// Checks the record of a match: the chain of hashes and the arbiter's signature (the format: protos/TRANSCRIPT.md).
import { agree, canonical, check, utf8 } from "../../../clients/javascript/canonical.mjs";

type Line = Record<string, unknown>;

interface Key {
  key_id: string;
  key: string;
  valid_from_ms: number;
  valid_until_ms: number;
}

const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length: text.length / 2 }, (_, n) => Number.parseInt(text.slice(2 * n, 2 * n + 2), 16));
const sha256 = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
  hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));

export async function verify(match: string): Promise<{ events: number }> {
  check(globalThis.crypto?.subtle, "this browser checks signatures only on pages with https, or from this machine");
  const [record, published] = await Promise.all([fetch(`/matches/${match}/transcript.jsonl`), fetch("/keys.json")]);
  check(record.ok && published.ok, "the record or the keys can't be read now");
  const { keys } = await published.json() as { keys: Key[] };
  return await verifyRecord(new Uint8Array(await record.arrayBuffer()), keys, match);
}

export async function verifyRecord(
  bytes: Uint8Array<ArrayBuffer>, keys: Key[], wanted: string,
): Promise<{ events: number }> {
  let [events, head, at, start, ended] = [0, "0".repeat(64), 0, 0, false];
  while (start < bytes.length) {
    const end = bytes.indexOf(10, start);
    check(end >= 0, `line ${events + 1}: cut off`);
    const line = bytes.slice(start, end);
    start = end + 1;
    try {
      const text = utf8.decode(line);
      const event = JSON.parse(text) as Line;
      check(canonical(event) === text, "not canonical");
      if (ended) {
        await signed(event, { events, head, match: wanted }, keys, at);
        check(start === bytes.length, "there are more lines after the signature");
        return { events };
      }
      agree(event, { revision: events + 1, previous: head, match: wanted });
      check(Number(event["at"]) >= at, "its time is before that of the line above");
      [events, head, at, ended] = [events + 1, await sha256(line), Number(event["at"]), event["kind"] === "ended"];
    } catch (error) {
      throw new Error(`line ${events + 1}: ${error instanceof Error ? error.message : error}`);
    }
  }
  throw new Error("there is no signature");
}

async function signed(line: Line, facts: Line, keys: Key[], at: number): Promise<void> {
  const { signature, ...statement } = line; // the line without its signature was signed
  agree(line, { ...facts, algorithm: "ed25519", kind: "signature" });
  const key = keys.find((one) => one.key_id === line["key"]);
  if (!key) throw new Error("its key is not one of the arbiter's keys");
  check((await sha256(unhex(key.key))).startsWith(key.key_id), "the id of the key is not the hash of the key");
  check(key.valid_from_ms <= at && at < (key.valid_until_ms || Number.POSITIVE_INFINITY), "its key was not valid then");
  check(typeof signature === "string" && /^[0-9a-f]{128}$/.test(signature), "the signature is malformed");
  const message = new TextEncoder().encode(`arbiter transcript v1\n${canonical(statement)}`);
  const imported = await crypto.subtle.importKey("raw", unhex(key.key), "Ed25519", false, ["verify"]);
  check(await crypto.subtle.verify("Ed25519", imported, unhex(String(signature)), message), "the signature does not hold");
}
