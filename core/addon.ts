// SPDX-License-Identifier: Apache-2.0
// Loads the native addon on first use. Each folder declares the types of its part.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { DepthwattError } from "./errors.js";

let loaded: object | undefined;

/** The package's root folder: this file is core/addon.ts in it, or dist/core/addon.js once compiled. */
export function packageRoot(): string {
  const file = fileURLToPath(import.meta.url);
  return dirname(dirname(file.endsWith(".ts") ? file : dirname(file)));
}

/** The command that builds both addons where they lie; it asks npm for nothing. */
export function addonCommand(): string {
  return `node ${join(packageRoot(), "scripts", "build-native.mjs")}`;
}

/** The native addon's file: the compiled one, else the prebuilt one of a published package. */
export function addonPath(root = packageRoot()): string {
  const compiled = join(root, "build", "Release", "depthwatt.node");
  const prebuilt = join(root, "prebuilds", `linux-${process.arch}`, "depthwatt.node");
  return !existsSync(compiled) && existsSync(prebuilt) ? prebuilt : compiled;
}

/**
 * The native addon, loaded on first use, as the part that the caller's folder registers.
 * @throws DepthwattError ADDON_MISSING when it is not built or does not load on this machine
 */
export function loadAddon<Exports extends object>(): Exports {
  if (loaded !== undefined) return loaded as Exports;
  const path = addonPath();
  if (!existsSync(path)) {
    throw new DepthwattError("ADDON_MISSING", `Expected the native addon at ${path}, found no such file.`, {
      hint: `npm 12 runs no install script that was not approved. Build it: ${addonCommand()} (needs g++, make and python3).`,
      context: { path },
    });
  }
  try {
    // Made here: a browser that loads this file with the consumer has no createRequire.
    loaded = createRequire(import.meta.url)(path) as object;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DepthwattError("ADDON_MISSING", `The native addon ${path} does not load: ${reason}`, { cause });
  }
  return loaded as Exports;
}
