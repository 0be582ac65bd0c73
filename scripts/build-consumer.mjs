// SPDX-License-Identifier: Apache-2.0
// Builds the package depthwatt-consumer (clients/javascript/dist) from its src: one module for Node with its two
// dependencies outside, one for browsers with everything inside, one that reads frames without a connection, and the types. Does
// nothing where they are newer.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = join(root, "clients/javascript/dist");
const ENTRY = "clients/javascript/src/index";
const FRAMES = "clients/javascript/src/frames";

const filesIn = (folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, name));
const inputs = ["core", "clients/javascript/src"].flatMap((name) => filesIn(join(root, name)));
const newest = Math.max(...inputs.map((path) => statSync(path).mtimeMs));
const last = join(out, "browser.js");
if (existsSync(last) && statSync(last).mtimeMs > newest) process.exit(0);

/** The declaration files that one leads to, by relative imports. */
function copyTypes() {
  const waiting = [ENTRY, FRAMES].map((entry) => join(root, "dist", `${entry}.d.ts`));
  const seen = new Set();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    const to = join(out, "types", relative(join(root, "dist"), path));
    mkdirSync(dirname(to), { recursive: true });
    // What the core has of libraries that this package does not depend on is none of its types.
    const text = readFileSync(path, "utf8").replace(/^export \{ yaml \} from "\.\/yaml\.js";\n/m, "");
    writeFileSync(to, text);
    for (const [, name] of text.matchAll(/from "(\.[^"]+)\.js"|import\("(\.[^"]+)\.js"\)/g))
      if (name !== undefined) waiting.push(join(dirname(path), `${name}.d.ts`));
  }
}

/** @type {typeof import("vite")} */
const vite = await import("vite");

async function bundle(fileName, external, entry = ENTRY) {
  await vite.build({
    root,
    configFile: false,
    logLevel: "error",
    build: {
      lib: { entry: join(root, `${entry}.ts`), formats: ["es"], fileName: () => fileName },
      outDir: out,
      target: "es2022",
      minify: false,
      emptyOutDir: false,
      rollupOptions: { external },
    },
  });
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
copyTypes();
await bundle("node.js", ["mqtt", "fflate", /^node:/]);
await bundle("frames.js", ["fflate", /^node:/], FRAMES);
// The last one: it says that all are there.
await bundle("browser.js", [/^node:/]);
