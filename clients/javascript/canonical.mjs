// Values in canonical form, and complaints about those that are not what they must be.
export const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function check(holds, complaint) {
  if (!holds) throw new Error(complaint);
}

// Complains of the first field that is not what it must be.
export function agree(found, must, where = "") {
  for (const name of Object.keys(must)) {
    const [is, expected] = [canonical(found[name]), canonical(must[name])];
    check(is === expected, `${where}${name} is ${is}, expected ${expected}`);
  }
}

export function canonical(value) {
  check(value !== null, "there are no nulls");
  check(typeof value !== "number" || Number.isSafeInteger(value), `${value} is not an integer in range`);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object") return JSON.stringify(value) ?? "nothing";
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
}
