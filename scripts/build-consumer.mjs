// SPDX-License-Identifier: Apache-2.0
// Builds the package depthwatt-consumer (clients/javascript/dist) from its src: one module for Node with its two
// dependencies outside, one for browsers with everything inside, one that reads frames without a connection, and the types. Does
// nothing where they are newer.
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { copyTypes } from "./copy-types.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = join(root, "clients/javascript/dist");
const ENTRY = "clients/javascript/src/index";
const FRAMES = "clients/javascript/src/frames";

const filesIn = (folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, name));
const scripts = ["build-consumer.mjs", "copy-types.mjs"].map((name) => join(root, "scripts", name));
const inputs = ["core", "clients/javascript/src"]
  .flatMap((name) => filesIn(join(root, name)))
  .concat(scripts);
const newest = Math.max(...inputs.map((path) => statSync(path).mtimeMs));
const last = join(out, "browser.js");
if (existsSync(last) && statSync(last).mtimeMs > newest) process.exit(0);

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
// The core's types of libraries that this package does not depend on are none of its types.
const withoutYaml = (text) => text.replace(/^export \{[^}]*\} from "\.\/yaml\.js";\n/m, "");
copyTypes(join(root, "dist"), [ENTRY, FRAMES], join(out, "types"), withoutYaml);
await bundle("node.js", ["mqtt", "fflate", /^node:/]);
await bundle("frames.js", ["fflate", /^node:/], FRAMES);
// The last one: it says that all are there.
await bundle("browser.js", [/^node:/]);
