// SPDX-License-Identifier: Apache-2.0
// The two compressions of MCAP as WebAssembly: no install script, the same code on every machine. Loaded on first use.

export interface Zstd {
  compress(bytes: Uint8Array, level: number): Uint8Array;
  decompress(bytes: Uint8Array, size: number): Uint8Array;
}

export async function loadZstd(): Promise<Zstd> {
  const module = await import("@foxglove/wasm-zstd");
  // CommonJS: Node finds its names on `default` only.
  const zstd = (module as unknown as { default?: typeof module }).default ?? module;
  await zstd.isLoaded;
  return zstd;
}

/** @returns exactly `bytes` bytes, in a new array. @throws Error if they are damaged */
export type Unpack = (packed: Uint8Array, bytes: number) => Uint8Array;

/** By the name that a chunk gives its compression. */
export async function loadDecompressors(): Promise<Readonly<Record<string, Unpack>>> {
  decompressors ??= Promise.all([loadZstd(), loadLz4()]).then(([zstd, lz4]) => ({
    zstd: (packed, bytes) => zstd.decompress(packed, bytes),
    lz4,
  }));
  return decompressors;
}
let decompressors: Promise<Record<string, Unpack>> | undefined;

async function loadLz4(): Promise<Unpack> {
  const { default: lz4 } = await import("@foxglove/wasm-lz4");
  await lz4.isLoaded;
  return lz4;
}
