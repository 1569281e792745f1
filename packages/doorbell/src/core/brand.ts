// Brands: a mark on a value that survives two copies of this package in one process, where `instanceof` does not.
// Owns the naming of the marks. Must never throw, whatever value it is asked about.
/** Puts the brand on an object, or on a prototype so that every instance carries it. The mark is not enumerable. */
export function putBrand(target: object, name: string): void {
  Object.defineProperty(target, Symbol.for(`doorbell.${name}`), { value: true });
}

/** Tells whether the value carries the brand. Answers false for a proxy that throws on every trap. */
export function hasBrand(value: unknown, name: string): boolean {
  if (typeof value !== "object" || value === null) return false;
  try {
    return Reflect.get(value, Symbol.for(`doorbell.${name}`)) === true;
  } catch {
    return false;
  }
}
