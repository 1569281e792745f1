// Module hooks for a checkout: packages of this workspace resolve to their sources. The same as `node -C doorbell-source`,
// which cannot be switched on in a process that runs.
export function resolve(specifier, context, nextResolve) {
  return nextResolve(specifier, { ...context, conditions: [...new Set(["doorbell-source", ...context.conditions])] });
}
