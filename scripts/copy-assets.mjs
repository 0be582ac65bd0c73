// SPDX-License-Identifier: Apache-2.0
// Puts next to the compiled JavaScript what tsc leaves out, at the same relative paths as in the source tree, so that
// `new URL("./x", import.meta.url)` finds it in both.
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");

/** Folders copied whole, and the endings copied out of the source folders. */
const folders = ["board-configs"];
const endings = [".service", ".socket", ".rules", ".json", ".html", ".css", ".svg", ".py"];
const sourceFolders = ["core", "edge", "camera", "cuda", "power"];

for (const folder of folders) {
  if (existsSync(join(root, folder))) cpSync(join(root, folder), join(dist, folder), { recursive: true });
}
for (const folder of sourceFolders) {
  for (const path of readdirSync(join(root, folder), { recursive: true })) {
    if (!endings.some((ending) => path.endsWith(ending)) || path.endsWith("package.json")) continue;
    // Its own package, which is built next to its sources.
    if (join(folder, path).startsWith("camera/v4l2/")) continue;
    mkdirSync(dirname(join(dist, folder, path)), { recursive: true });
    cpSync(join(root, folder, path), join(dist, folder, path));
  }
}
const { name, version, type, sideEffects, homepage } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
);
writeFileSync(
  join(dist, "package.json"),
  `${JSON.stringify({ name, version, type, sideEffects, homepage })}\n`,
);
const command = join(dist, "edge/cli/main.js");
if (existsSync(command)) chmodSync(command, 0o755);
