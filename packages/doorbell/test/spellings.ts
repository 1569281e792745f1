// Every way to write an address that a URL may hold, made from the address: for tests that must find none that gets through.

/** Of an IPv4 address: in one to four parts, each decimal, octal or hex; with zeros in front; and as parts of IPv6. */
export function spellingsOf(address: string): readonly string[] {
  const bytes = address.split(".").map(Number);
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  const hex = (high: number, low: number): string => (high * 256 + low).toString(16);
  const groups = `${hex(a, b)}:${hex(c, d)}`;
  const long = groups.replace(/\w+/g, (group) => group.padStart(4, "0"));
  const v6 = [
    ...[address, groups, long, groups.toUpperCase()].flatMap((low) => [
      `::ffff:${low}`,
      `::${low}`,
      `0:0:0:0:0:ffff:${low}`,
      `::ffff:0:${low}`,
      `64:ff9b::${low}`,
      `64:ff9b:1::${low}`,
    ]),
    `2002:${groups}::`,
    `2002:${groups}::1`,
    `2001:0:${groups}::`,
  ];
  const v4 = partings(bytes).flatMap(writings);
  return [
    ...new Set([...v4, ...v4.slice(0, 3).map((text) => `${text}.`), wide(address), ...v6.map((text) => `[${text}]`)]),
  ];
}

/** 1.2.3.4 as four numbers, as 1.2.772, as 1.131844, and as one. */
function partings(bytes: readonly number[]): readonly (readonly number[])[] {
  return [4, 3, 2, 1].map((parts) => {
    const last = bytes.slice(parts - 1).reduce((sum, byte) => sum * 256 + byte, 0);
    return [...bytes.slice(0, parts - 1), last];
  });
}

/** All in one base, and each base in turn with the next. */
function writings(parts: readonly number[]): readonly string[] {
  const bases: readonly ((part: number) => string)[] = [
    (part) => String(part),
    (part) => `0${part.toString(8)}`,
    (part) => `0x${part.toString(16)}`,
    (part) => `0X${part.toString(16).toUpperCase()}`,
    (part) => `000${part.toString(8)}`,
  ];
  return bases.flatMap((base, n) => [
    parts.map((part) => base(part)).join("."),
    parts.map((part, at) => bases[(n + at) % bases.length]?.(part)).join("."),
  ]);
}

/** In digits of full width, which a URL folds into plain ones. */
function wide(address: string): string {
  return address.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
}
