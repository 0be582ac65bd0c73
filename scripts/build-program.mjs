// SPDX-License-Identifier: Apache-2.0
// Bundles the program: the command line, the library depthwatt and the threads become entries of dist/program, a few files instead
// of some 400 to find, read and compile at each start. Copies the declarations of both libraries to dist/types. The package consists
// of these files; the modules that tsc wrote serve tests and benchmarks. Does nothing if the bundle is newer than its sources.
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { copyTypes } from "./copy-types.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const out = join(dist, "program");
const notices = join(out, "NOTICES.txt");
const ENTRIES = [
  "edge/cli/main",
  "edge/index",
  "edge/broker/broker-worker",
  "edge/outputs/mcap/recorder-thread",
];
/** The libraries that package.json exports. */
const LIBRARIES = ["edge/index", "clients/javascript/src/index"];
/** Libraries that go in, with what they import themselves; the others are found in node_modules, by the commands that use them. */
const WITHIN = ["zod", "commander", "mqtt", "aedes", "ws"];
/** Optional modules of ws; depthwatt does not need them. */
const OPTIONAL = ["bufferutil", "utf-8-validate"];

const newest = Math.max(
  ...["core", "camera", "cuda", "power", "edge", "clients/javascript/src"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => statSync(join(root, folder, name)).mtimeMs),
  ),
  ...["package-lock.json", "scripts/build-program.mjs", "scripts/copy-types.mjs"].map(
    (name) => statSync(join(root, name)).mtimeMs,
  ),
);
const isBundled = (entry) => readFileSync(join(dist, `${entry}.js`), "utf8").includes("/program/");
if (existsSync(notices) && statSync(notices).mtimeMs > newest && ENTRIES.every(isBundled)) process.exit(0);

/** Keeps files next to a module reachable: units, style sheets, threads, board-configs, the addon. */
const ownPlace = {
  name: "own-place",
  enforce: "pre",
  transform(code, id) {
    if (!id.startsWith(root) || id.includes("/node_modules/") || !code.includes("import.meta.url"))
      return null;
    const place = relative(out, join(dist, relative(root, id).replace(/\.ts$/, ".js")));
    return {
      code: code.replaceAll("import.meta.url", `new URL("${place}", import.meta.url).href`),
      map: null,
    };
  },
};

/** zod exports its messages in every language; messages here are our own. */
const withoutLanguages = {
  name: "without-languages",
  enforce: "pre",
  resolveId: (name, from) =>
    name.endsWith("locales/index.js") && from?.includes("/zod/") ? "\0languages" : null,
  load: (id) => (id === "\0languages" ? "export {};" : null),
};

/** Builtin modules by the name that every version of Node knows them by, however a library calls them. */
const builtins = {
  name: "builtins",
  enforce: "pre",
  resolveId: (name) => (builtinModules.includes(name) ? { id: `node:${name}`, external: true } : null),
};

const isWithin = (name) => WITHIN.some((library) => name === library || name.startsWith(`${library}/`));
const isOutside = (name, from) => {
  if (name.startsWith("node:") || OPTIONAL.includes(name)) return true;
  return !(/^[./\0]/.test(name) || isWithin(name) || from?.includes("/node_modules/"));
};

/** @type {typeof import("vite")} */
const vite = await import("vite");
const { output } = await vite.build({
  root,
  configFile: false,
  logLevel: "error",
  plugins: [builtins, ownPlace, withoutLanguages],
  ssr: { noExternal: true },
  build: {
    ssr: true,
    outDir: dist,
    emptyOutDir: false,
    target: "es2022",
    minify: false,
    sourcemap: true,
    rollupOptions: {
      input: Object.fromEntries(ENTRIES.map((entry) => [entry, join(root, `${entry}.ts`)])),
      external: isOutside,
      preserveEntrySignatures: "strict",
      output: { format: "es", entryFileNames: "[name].js", chunkFileNames: "program/[name]-[hash].js" },
    },
  },
});

const libraries = new Set(
  output
    .flatMap(({ moduleIds = [] }) => moduleIds)
    .map((id) => id.match(/^.*\/node_modules\/(@[^/]+\/[^/]+|[^/]+)/)?.[0])
    .filter(Boolean),
);
// Removes unused files last: a program that starts meanwhile finds one bundle or the other.
const used = new Set(output.map(({ fileName }) => fileName.replace(/^program\//, "")));
for (const name of readdirSync(out)) if (!used.has(name)) rmSync(join(out, name));
function licenceNotice(library) {
  const { name, version, license } = JSON.parse(readFileSync(join(library, "package.json"), "utf8"));
  const file = readdirSync(library).find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  const text = file === undefined ? "" : `\n${readFileSync(join(library, file), "utf8")}`;
  return `${name} ${version} (${license})\n${text}`;
}
copyTypes(dist, LIBRARIES, join(dist, "types"));
writeFileSync(notices, [...libraries].sort().map(licenceNotice).join("\n\n"));
