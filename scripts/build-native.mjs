// SPDX-License-Identifier: Apache-2.0
// Builds the native addon from source with node-gyp: run by `npm ci`, by `npm run build`, or by hand in any checkout.
//   node scripts/build-native.mjs [--verbose] [any node-gyp option, such as --arch=arm64]
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { nativeSources } from "./native-sources.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stampFile = join(root, "build/configured-for");
const verbose = process.argv.includes("--verbose");
const gypOptions = process.argv.slice(2).filter((argument) => argument !== "--verbose");

if (!existsSync(join(root, "binding.gyp"))) process.exit(0);

function fail(message, hint) {
  console.error(`error: ${message}\nhint: ${hint}`);
  process.exit(1);
}

function runs(program) {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** The pinned one where development packages are installed; else npm's own, which it names to its scripts or lies beside it. */
function findNodeGyp() {
  const pinned = join(root, "node_modules/node-gyp/bin/node-gyp.js");
  if (existsSync(pinned)) return pinned;
  const fromNpm = process.env.npm_config_node_gyp;
  if (fromNpm && existsSync(fromNpm)) return fromNpm;
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  const candidates = [join(prefix, "lib/node_modules/npm"), "/usr/share/nodejs/npm"];
  for (const folder of (process.env.PATH ?? "").split(":")) {
    const npm = join(folder, "npm");
    if (existsSync(npm)) candidates.push(dirname(dirname(realpathSync(npm))));
  }
  const scripts = candidates.flatMap((npm) => [
    join(npm, "node_modules/node-gyp/bin/node-gyp.js"),
    join(dirname(npm), "node-gyp/bin/node-gyp.js"),
  ]);
  return scripts.find((path) => existsSync(path));
}

/** What the makefile was made from: when it changes, node-gyp must configure again. */
function configurationKey() {
  const hash = createHash("sha256");
  // The makefile has relative paths: in a checkout that was moved or copied they lead elsewhere.
  hash.update(
    [root, process.env.CXX ?? "", process.version, process.arch, process.execPath, ...gypOptions].join("\n"),
  );
  hash.update(readFileSync(join(root, "binding.gyp")));
  hash.update(nativeSources(root).join("\n"));
  return hash.digest("hex");
}

function nodeGyp(script, command) {
  const options = [...command, "--jobs=max", ...gypOptions];
  // Headers that lie beside node itself are the right ones, and save a download.
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  const nodedirGiven =
    process.env.npm_config_nodedir || gypOptions.some((option) => option.startsWith("--nodedir"));
  if (!nodedirGiven && existsSync(join(prefix, "include/node/node_api.h")))
    options.push(`--nodedir=${prefix}`);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [script, ...options], {
      cwd: root,
      stdio: verbose ? "inherit" : ["ignore", "pipe", "pipe"],
    });
    const output = [];
    child.stdout?.on("data", (chunk) => output.push(chunk));
    child.stderr?.on("data", (chunk) => output.push(chunk));
    child.on("close", (status) => resolve({ status, output: Buffer.concat(output).toString() }));
  });
}

const cureTools = "on Debian and Ubuntu: sudo apt-get install g++ make python3";
for (const program of ["make", process.env.CXX ?? "g++", "python3"]) {
  if (!runs(program)) fail(`the native addon is built from source, and ${program} is not there`, cureTools);
}
const script = findNodeGyp();
if (!script) fail("node-gyp, which comes with npm, was not found", "run 'npm run build', or install npm");
try {
  // Beside us where depthwatt is somebody's dependency, below us in a checkout.
  createRequire(import.meta.url).resolve("node-addon-api");
} catch {
  fail("node-addon-api is not installed", "run 'npm ci' first");
}

const started = performance.now();
const key = configurationKey();
const configured =
  existsSync(join(root, "build/Makefile")) &&
  existsSync(stampFile) &&
  readFileSync(stampFile, "utf8") === key;
if (!configured) rmSync(stampFile, { force: true });
const result = await nodeGyp(script, configured ? ["build"] : ["configure", "build"]);
if (result.status !== 0) {
  process.stderr.write(result.output);
  fail(
    "the native addon did not build",
    "the compiler's first error above names the file; g++ 9 or newer is needed",
  );
}
mkdirSync(dirname(stampFile), { recursive: true });
writeFileSync(stampFile, key);
console.error(`native addon built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
