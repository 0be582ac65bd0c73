// SPDX-License-Identifier: Apache-2.0
// Provides the native addons, v4l2-camera's and depthwatt's, prebuilt or compiled with node-gyp: run by `npm ci`, by `npm run build`, or by
// hand in any checkout. npm 12 runs no script of a bundled package, so this one builds both.
//   node scripts/build-native.mjs [--verbose] [any node-gyp option, such as --arch=arm64]
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { addonUnits } from "./native-sources.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const words = process.argv.slice(2);

if (existsSync(join(root, "binding.gyp"))) {
  const cameras = await import("v4l2-camera/build.mjs").catch((error) => {
    console.error(
      `error: the package v4l2-camera is not installed: ${error.message}\nhint: run 'npm ci' first`,
    );
    process.exit(1);
  });
  try {
    console.error(await cameras.provideOwnAddon(words));
    console.error(await cameras.provideAddon(root, "depthwatt.node", () => addonUnits(root), words));
  } catch (error) {
    cameras.printFailure(error);
    process.exitCode = 1;
  }
}
