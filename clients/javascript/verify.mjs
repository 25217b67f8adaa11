#!/usr/bin/env node
// Verifies transcripts: node verify.mjs KEYS.json FILE… (what it checks: README.md; the format: protos/TRANSCRIPT.md).
// Here: the bytes, the chain of hashes and the signature. In story.mjs: the order of events, clocks and strikes.
import { createHash, createPublicKey, verify as isSigned } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { agree, canonical, check, utf8 } from "./canonical.mjs";
import { follow } from "./story.mjs";

// Returns the keys of a file of public keys; throws an Error that names the first one that can't be a key of its id.
export function readKeys(bytes) {
  const { keys } = JSON.parse(utf8.decode(bytes));
  check(Array.isArray(keys), "keys: expected a list");
  const ids = keys.map(({ algorithm, key, key_id, valid_from_ms, valid_until_ms }, n) => {
    const where = `keys[${n}].`;
    check(/^[0-9a-fA-F]{64}$/.test(key), `${where}key: expected 64 hexadecimal digits`);
    const id = createHash("sha256").update(key, "hex").digest("hex").slice(0, 16);
    agree({ algorithm, key_id }, { algorithm: "ed25519", key_id: id }, where);
    const areInstants = [valid_from_ms, valid_until_ms].every(Number.isSafeInteger);
    check(areInstants, `${where}valid_from_ms and valid_until_ms: expected integers`);
    return id;
  });
  check(new Set(ids).size === ids.length, "keys: a key stands there twice");
  return keys;
}

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
// `keys` come from `readKeys`, which checks that each stands under its own id.
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

function main(keyFile, files) {
  let keys;
  try {
    keys = readKeys(readFileSync(keyFile));
  } catch (error) {
    console.log(`${keyFile}: no file of public keys: ${error.message}`);
    return 1;
  }
  let code = 0;
  for (const file of files) {
    try {
      console.log(`${file}: holds: ${verify(readFileSync(file), keys)}; NOT CHECKED: the rules of the game`);
    } catch (error) {
      console.log(`${file}: ${error.message}`);
      code = 1;
    }
  }
  return code;
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  const [, , keyFile, ...files] = process.argv;
  if (!files.length) console.error("usage: node verify.mjs KEYS.json FILE…");
  process.exitCode = files.length ? main(keyFile, files) : 2;
}
