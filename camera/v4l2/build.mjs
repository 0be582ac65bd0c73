// SPDX-License-Identifier: Apache-2.0
// Provides the native addon, at installation or by hand: a published package has it prebuilt for glibc 2.17 and newer on x64 and
// arm64; a checkout, another machine, and `npm install --build-from-source` compile it with node-gyp.
//   node build.mjs [--verbose] [any node-gyp option, such as --arch=arm64]
//   node build.mjs --sources        prints the C++ sources, for binding.gyp
// A package that bundles this one provides both with provideAddon().
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** CPU seconds of an average source file of either package on a PC. */
const SECONDS_PER_FILE = 1.5;

const here = dirname(fileURLToPath(import.meta.url));

function runs(program) {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** The one next to or above the package where it is installed; else npm's own, which it names to its scripts or lies next to it. */
function findNodeGyp(root) {
  try {
    return createRequire(join(root, "package.json")).resolve("node-gyp/bin/node-gyp.js");
  } catch {
    // Not installed as a package: npm has one.
  }
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

/** Returns a hash of the makefile's inputs: when it changes, node-gyp must configure again. */
function configurationKey(root, sources, gypOptions) {
  const hash = createHash("sha256");
  // The makefile has relative paths: in a folder that was moved or copied they lead elsewhere.
  hash.update(
    [root, process.env.CXX ?? "", process.version, process.arch, process.execPath, ...gypOptions].join("\n"),
  );
  hash.update(readFileSync(join(root, "binding.gyp")));
  hash.update(sources.join("\n"));
  return hash.digest("hex");
}

/**
 * Prints a line on stderr, and on the terminal if npm hides the output of install scripts.
 * @param {string} line
 */
function announce(line) {
  console.error(line);
  if (process.stderr.isTTY || process.env.npm_lifecycle_event !== "install" || process.env.CI) return;
  try {
    writeFileSync("/dev/tty", `${line}\n`);
  } catch {
    // No terminal: npm prints the script's output if it fails.
  }
}

/**
 * Announces each quarter of the compiled files. node-gyp prints a line for each file.
 * @param {string} name
 * @param {number} files
 * @returns {(chunk: Buffer) => void}
 */
function progress(name, files) {
  const started = performance.now();
  let done = 0;
  let quarter = 0;
  return (chunk) => {
    done += chunk.toString().match(/^ +CXX\(target\)/gm)?.length ?? 0;
    // The line of a file is printed when its compilation starts.
    if (done / files < (quarter + 1) / 4) return;
    quarter = Math.floor((4 * done) / files);
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    announce(`${name}: compiling file ${done} of ${files} after ${seconds} s`);
  };
}

function nodeGyp(root, script, command, gypOptions, verbose, onOutput) {
  const options = [...command, "--jobs=max", ...gypOptions];
  // Headers that lie next to node itself are the right ones, and save a download.
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
    child.stdout?.on("data", (chunk) => {
      output.push(chunk);
      onOutput(chunk);
    });
    child.stderr?.on("data", (chunk) => output.push(chunk));
    child.on("close", (status) => resolve({ status, output: Buffer.concat(output).toString() }));
  });
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/**
 * Runs work that writes to a folder. A second process waits for the first: npm may run the script of a package and the script of
 * the package that bundles it at the same time.
 * @template Result
 * @param {string} root
 * @param {() => Result | Promise<Result>} work
 * @returns {Promise<Result>}
 */
export async function locked(root, work) {
  const lock = join(root, "build.lock");
  mkdirSync(root, { recursive: true });
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" });
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    let holder = "";
    try {
      holder = readFileSync(lock, "utf8");
    } catch {
      continue;
    }
    if (holder !== "" && !isRunning(Number(holder))) rmSync(lock, { force: true });
    else await new Promise((resolve) => setTimeout(resolve, 200));
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

/**
 * Builds the addon of a package with a binding.gyp.
 * @param {string} root the package's folder
 * @param {readonly string[]} sources C++ sources, by which a new one is noticed
 * @param {readonly string[]} words --verbose and node-gyp's options
 * @returns a sentence of what was done
 * @throws Error with a `hint`, and the compiler's `output` where there is some
 */
export async function buildAddon(root, sources, words = []) {
  const refuse = (message, hint, output) => Object.assign(new Error(message), { hint, output });
  const verbose = words.includes("--verbose");
  const gypOptions = words.filter((word) => word !== "--verbose");
  const { name } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const tools = "on Debian and Ubuntu: sudo apt-get install g++ make python3";
  for (const program of ["make", process.env.CXX ?? "g++", "python3"]) {
    if (!runs(program))
      throw refuse(`the native addon of ${name} is built from source, and ${program} is not there`, tools);
  }
  const script = findNodeGyp(root);
  if (!script) throw refuse("node-gyp, which comes with npm, was not found", "install npm");
  try {
    createRequire(join(root, "package.json")).resolve("node-addon-api");
  } catch {
    throw refuse("node-addon-api is not installed", "run 'npm ci' in a checkout, else 'npm install' again");
  }
  return locked(root, async () => {
    const started = performance.now();
    const stampFile = join(root, "build/configured-for");
    const key = configurationKey(root, sources, gypOptions);
    const configured =
      existsSync(join(root, "build/Makefile")) &&
      existsSync(stampFile) &&
      readFileSync(stampFile, "utf8") === key;
    if (!configured) rmSync(stampFile, { force: true });
    const command = configured ? ["build"] : ["configure", "build"];
    if (!configured) {
      const cpus = availableParallelism();
      const seconds = Math.ceil((sources.length * SECONDS_PER_FILE) / cpus / 5) * 5;
      announce(
        `Compiling ${name}: ${sources.length} files on ${cpus} CPUs, about ${seconds} s on a PC, longer on a board.`,
      );
    }
    const onOutput = configured ? () => {} : progress(name, sources.length);
    const { status, output } = await nodeGyp(root, script, command, gypOptions, verbose, onOutput);
    if (status !== 0) {
      const hint = "the compiler's first error above names the file; g++ 9 or newer is needed";
      throw refuse(`the native addon of ${name} did not build`, hint, output);
    }
    mkdirSync(dirname(stampFile), { recursive: true });
    writeFileSync(stampFile, key);
    return `native addon of ${name} built in ${((performance.now() - started) / 1000).toFixed(1)} s`;
  });
}

/**
 * Returns whether a published package's prebuilt addon loads on this machine. A checkout has none.
 * @param {string} root
 * @param {string} addon file name
 */
function hasPrebuilt(root, addon) {
  const file = join(root, "prebuilds", `linux-${process.arch}`, addon);
  if (process.env.npm_config_build_from_source || !existsSync(file)) return false;
  const { status, stderr } = spawnSync(process.execPath, ["-e", "require(process.argv[1])", file], {
    encoding: "utf8",
  });
  const reason = /^Error: (.+)/m.exec(stderr)?.[1];
  if (status !== 0) announce(`The prebuilt addon does not load here${reason ? `: ${reason}` : ""}`);
  return status === 0;
}

/**
 * Takes the prebuilt addon of a package if it loads here, else compiles it.
 * @param {string} root the package's folder
 * @param {string} addon file name of the addon
 * @param {() => readonly string[]} listSources
 * @param {readonly string[]} words as for buildAddon()
 * @returns a sentence about the addon
 */
export const provideAddon = async (root, addon, listSources, words = []) =>
  words.length === 0 && hasPrebuilt(root, addon)
    ? `prebuilt ${addon} loads`
    : await buildAddon(root, listSources(), words);

/** Says what went wrong, and what to do, on stderr. */
export function printFailure(error) {
  if (error.output) process.stderr.write(error.output);
  console.error(`error: ${error.message}${error.hint ? `\nhint: ${error.hint}` : ""}`);
}

/** The sources next to addon.cc, which includes the others itself. */
export function addonSources(root = here) {
  const entry = readFileSync(join(root, "native/addon.cc"), "utf8");
  const together = new Set([...entry.matchAll(/^#include "(.+\.cc)"$/gm)].map((match) => match[1]));
  return readdirSync(join(root, "native"))
    .filter((name) => name.endsWith(".cc") && name !== "addon.cc" && !together.has(name))
    .sort()
    .map((name) => `native/${name}`);
}

/** Provides the addon of this package. */
export const provideOwnAddon = (words = []) =>
  provideAddon(here, "v4l2_camera.node", () => ["native/addon.cc", ...addonSources()], words);

if (process.argv[1] !== undefined && pathToFileURL(realpathSync(process.argv[1])).href === import.meta.url) {
  const words = process.argv.slice(2);
  if (words[0] === "--sources") {
    console.log(addonSources().join("\n"));
  } else {
    try {
      console.error(await provideOwnAddon(words));
    } catch (error) {
      printFailure(error);
      process.exitCode = 1;
    }
  }
}
