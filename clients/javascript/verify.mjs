#!/usr/bin/env node
// Verifies transcripts: node verify.mjs KEYS.json FILE… (what it checks: README.md; the format: protos/TRANSCRIPT.md).
// Here: the bytes, the chain of hashes and the signature. In story.mjs: the order of events, clocks and strikes.
import { createHash, createPublicKey, verify as isSigned } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { agree, canonical, check, utf8 } from "./canonical.mjs";
import { follow } from "./story.mjs";

function checkSignature(m, line, keys) {
  const { signature, ...statement } = line; // what was signed is the line without its signature
  agree(line, { events: m.events, head: m.head, match: m.id, algorithm: "ed25519" });
  const key = keys.find((one) => one.key_id === line.key);
  check(key, `key ${line.key} is not among the public keys`);
  const until = key.valid_until_ms || Infinity;
  check(key.valid_from_ms <= m.at && m.at < until, `key ${line.key} was not valid at ${m.at}`);
  check(/^[0-9a-f]{128}$/.test(signature), "signature is not 128 hexadecimal digits");
  const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(key.key, "hex").toString("base64url") };
  const message = Buffer.from(`arbiter transcript v1\n${canonical(statement)}`);
  const holds = isSigned(null, message, createPublicKey({ key: jwk, format: "jwk" }), Buffer.from(signature, "hex"));
  check(holds, "signature does not hold");
}

// Returns a sentence about a transcript that holds; throws an Error that names the first line that is wrong.
export function verify(bytes, keys) {
  const m = { events: 0, head: "0".repeat(64), at: 0, next: "created" };
  const lines = bytes.toString("latin1").split("\n").map((line) => Buffer.from(line, "latin1"));
  const rest = lines.pop();
  try {
    for (const [n, line] of lines.entries()) {
      const text = utf8.decode(line);
      const event = JSON.parse(text);
      const { kind, match, at } = event;
      check(canonical(event) === text, "not canonical");
      agree(event, { kind: m.next ?? kind });
      if (m.next === "signature") {
        checkSignature(m, event, keys);
        check(lines.length === n + 1 && !rest.length, "there is more after the signature");
        return `${m.id}: ${n} events, ${m.ply} moves, ${m.reason}`;
      }
      agree(event, { revision: n + 1, previous: m.head, match: m.id ?? match });
      check(at >= m.at, `at is ${at}, expected ${m.at} or later`);
      follow(m, event);
      Object.assign(m, { events: n + 1, id: match, at, head: createHash("sha256").update(line).digest("hex") });
    }
    throw new Error(rest.length ? "cut off" : "expected more: there is no signature");
  } catch (error) {
    throw new Error(`line ${m.events + 1}: ${error.message}`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , keyFile, ...files] = process.argv;
  if (!files.length) console.error("usage: node verify.mjs KEYS.json FILE…");
  process.exitCode = files.length ? 0 : 2;
  const { keys } = files.length ? JSON.parse(readFileSync(keyFile, "utf8")) : {};
  for (const file of files) {
    try {
      console.log(`${file}: holds: ${verify(readFileSync(file), keys)}`);
    } catch (error) {
      console.log(`${file}: ${error.message}`);
      process.exitCode = 1;
    }
  }
}
