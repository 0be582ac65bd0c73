// SPDX-License-Identifier: Apache-2.0
// Bundles the live page into dist/page, where its output serves it from. Does nothing where the bundle is
// newer than everything that it is made of. --readable does not minify and adds source maps; the next build replaces it.
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, "clients/page");
const out = join(root, "dist/page");
const stamp = join(root, "dist/page.stamp");
const readable = process.argv.includes("--readable");

function newest(...paths) {
  let time = 0;
  for (const path of paths) {
    const { mtimeMs } = statSync(path);
    const inside = statSync(path).isDirectory() ? readdirSync(path, { recursive: true }) : [];
    time = Math.max(time, mtimeMs, ...inside.map((name) => statSync(join(path, name)).mtimeMs));
  }
  return time;
}

const inputs = [
  "clients/javascript/dist/frames.js",
  "clients/page",
  "edge/outputs/derived",
  "edge/outputs/viewer",
  "package-lock.json",
].map((name) => join(root, name));
if (readable) rmSync(stamp, { force: true });
else if (
  existsSync(stamp) &&
  existsSync(join(out, "index.html")) &&
  statSync(stamp).mtimeMs > newest(...inputs)
)
  process.exit(0);

/** @type {typeof import("vite")} */
let vite;
try {
  vite = await import("vite");
  for (const name of ["preact", "uplot", "fflate", "depthwatt-consumer/frames", "@noble/hashes/hmac.js"])
    import.meta.resolve(name);
} catch (error) {
  console.error(`error: the live page cannot be built: ${error.message.split("\n")[0]}`);
  console.error("hint: run 'npm ci' (or 'npm install --ignore-scripts' where the addon is built)");
  process.exit(1);
}
await vite.build({
  root: folder,
  base: "./",
  configFile: false,
  logLevel: process.argv.includes("--verbose") ? "info" : "error",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  worker: { format: "es" },
  build: {
    outDir: out,
    target: "es2022",
    emptyOutDir: true,
    minify: !readable,
    sourcemap: readable,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: process.argv.includes("--verbose"),
  },
});
// Packed here once, not while the first visitor waits.
for (const entry of readdirSync(out, { recursive: true, withFileTypes: true })) {
  const file = join(entry.parentPath, entry.name);
  if (entry.isFile() && !entry.name.endsWith(".map"))
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
}
if (!readable) writeFileSync(stamp, "");
