// SPDX-License-Identifier: Apache-2.0
// Node's own modules for code that a browser loads too: looked up at run time, because bundlers refuse a static "node:" import.

interface HostProcess {
  getBuiltinModule?: (name: string) => unknown;
  hrtime?: { bigint?: () => bigint };
}

const host = (globalThis as { process?: HostProcess }).process;

/** The module, or undefined in a browser. */
export function nodeBuiltin<Module>(name: string): Module | undefined {
  return host?.getBuiltinModule?.(name) as Module | undefined;
}

/** CLOCK_MONOTONIC in nanoseconds; undefined in a browser. */
export const monotonicNowNs: (() => bigint) | undefined = host?.hrtime?.bigint;
