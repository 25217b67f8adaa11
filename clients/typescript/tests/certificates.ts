import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes a root, and a server's and a client's certificate that it signed; returns the path of a file by its name. */
export function certificates(): (name: string) => string {
  const folder = mkdtempSync(join(tmpdir(), "arbiter-"));
  const openssl = (...words: string[]) => execFileSync("openssl", words, { cwd: folder, stdio: "pipe" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl(
    "req",
    "-x509",
    ...key,
    "-keyout",
    "root.key",
    "-out",
    "root.pem",
    "-subj",
    "/CN=root",
    "-days",
    "2",
  );
  writeFileSync(join(folder, "names"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
  for (const name of ["server", "client"]) {
    openssl("req", ...key, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
    const sign = [
      "-CA",
      "root.pem",
      "-CAkey",
      "root.key",
      "-CAcreateserial",
      "-days",
      "1",
      "-extfile",
      "names",
    ];
    openssl("x509", "-req", "-in", `${name}.csr`, "-out", `${name}.pem`, ...sign);
  }
  return (name) => join(folder, name);
}
