/** From messages to plain values: numbers in place of bigint, and enumerations closed by their member 0. */

import type { DescField, DescMessage, Message, MessageShape } from "@bufbuild/protobuf";

type Hidden = "$typeName" | "$unknown";

/**
 * A message as a plain value: the same fields, 64-bit integers as numbers, nothing but data. Instants and durations of
 * the protocol, in ms, are exact; an integer beyond 2^53 is rounded.
 */
export type Plain<T> = T extends bigint
  ? number
  : T extends Uint8Array
    ? T
    : T extends (infer Item)[]
      ? readonly Plain<Item>[]
      : T extends object
        ? { readonly [Key in keyof T as Key extends Hidden ? never : Key]: Plain<T[Key]> }
        : T;

/**
 * Returns a message as a plain value. What is newer than this client is left out: unknown fields, and numbers of an
 * enumeration that it does not know, which become 0 (UNSPECIFIED).
 */
export function plain<D extends DescMessage>(schema: D, message: MessageShape<D>): Plain<MessageShape<D>> {
  const fields = message as unknown as Record<string, unknown>;
  const value: Record<string, unknown> = {};
  for (const member of schema.members) {
    const found = fields[member.localName];
    if (member.kind === "field") {
      if (found !== undefined) value[member.localName] = fieldValue(member, found);
      continue;
    }
    const arm = found as { case: string | undefined; value?: unknown };
    const field = member.fields.find((each) => each.localName === arm.case);
    value[member.localName] = field
      ? { case: arm.case, value: fieldValue(field, arm.value) }
      : { case: undefined };
  }
  return value as Plain<MessageShape<D>>;
}

function fieldValue(field: DescField, value: unknown): unknown {
  const kind =
    field.fieldKind === "list" ? field.listKind : field.fieldKind === "map" ? field.mapKind : field.fieldKind;
  const convert = (each: unknown): unknown => {
    if (kind === "message") return plain(field.message as DescMessage, each as Message);
    if (kind === "enum") return field.enum?.value[each as number] ? each : 0;
    return typeof each === "bigint" ? Number(each) : each;
  };
  if (field.fieldKind === "list") return (value as unknown[]).map(convert);
  if (field.fieldKind === "map") {
    return Object.fromEntries(Object.entries(value as object).map(([key, each]) => [key, convert(each)]));
  }
  return convert(value);
}
