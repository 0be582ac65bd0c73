// SPDX-License-Identifier: Apache-2.0
// A copy of the project whose addons are built with AddressSanitizer and UBSan, and the environment in which they are loaded.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { addonUnits } from "../../scripts/native-sources.mjs";
import { run } from "./end.mjs";

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"];
const isVectors = (source) => /isa_(avx|neon)/.test(source);
/** UBSan takes minutes to compile the bodies of the matchers in vectors. The scalar form of each has both. */
const chooseSanitizers = (source) => (isVectors(source) ? ["-fsanitize=address"] : SANITIZERS);

/** Addon -> where it lies, its sources and what they include next to their own folder and Node. */
export const ADDONS = {
  depthwatt: { base: ".", sources: addonUnits, includes: ["."] },
  v4l2_camera: { base: "camera/v4l2", sources: cameraSources, includes: [] },
};

function cameraSources(base) {
  const native = join(base, "native");
  const entry = readFileSync(join(native, "addon.cc"), "utf8");
  return readdirSync(native)
    .filter((name) => name.endsWith(".cc") && !entry.includes(`"${name}"`))
    .map((name) => `native/${name}`);
}

export const addonPath = (addon) => join(ADDONS[addon].base, "build/Release", `${addon}.node`);

/** Runs a program to its end. @throws Error with its output if it fails */
async function runOrThrow(program, words, options = {}) {
  const { status, output } = await run(program, words, options);
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${output.slice(-4000)}`);
}

/**
 * Copies sources, what TypeScript made of them, the packages, and the addons as they were built: nothing is built into the
 * project. If it fails, it removes the copy.
 */
export async function copyTree(copy) {
  rmSync(copy, { recursive: true, force: true });
  try {
    await copyEverything(copy);
  } catch (error) {
    rmSync(copy, { recursive: true, force: true });
    throw error;
  }
}

async function copyEverything(copy) {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  for (const path of listed.split("\0").filter(Boolean))
    if (existsSync(join(root, path)))
      cpSync(join(root, path), join(copy, path), { preserveTimestamps: true });
  for (const made of ["dist", "camera/v4l2/dist", "clients/javascript/dist"])
    cpSync(join(root, made), join(copy, made), { recursive: true, preserveTimestamps: true });
  for (const modules of ["node_modules", "camera/v4l2/node_modules"])
    if (existsSync(join(root, modules)))
      await runOrThrow("cp", ["-a", join(root, modules), join(copy, modules)]);
  for (const [addon, { base }] of Object.entries(ADDONS)) {
    cpSync(join(root, addonPath(addon)), join(copy, addonPath(addon)));
    cpSync(join(root, base, "build/config.gypi"), join(copy, base, "build/config.gypi"));
  }
  // The checks ask git what belongs to the project.
  for (const words of [
    ["init", "-q"],
    ["add", "-A"],
  ])
    await runOrThrow("git", words, { cwd: copy });
}

/**
 * Builds an addon in the copy, as many files at a time as there are CPUs. With `quick` the bodies in vectors are the ordinary build's:
 * nothing watches them, and they are the half of the time that it takes. The scalar ones are then not optimised, which takes UBSan
 * two minutes.
 */
export async function buildAddon(copy, addon, { quick = false } = {}) {
  const { base, sources, includes } = ADDONS[addon];
  const config = readFileSync(join(root, base, "build/config.gypi"), "utf8");
  const nodedir = /"nodedir": "([^"]+)"/.exec(config)[1];
  const api = join(root, "node_modules/node-addon-api");
  const flags = [
    ...["-fPIC", "-std=c++17", "-O1", "-g1", "-fno-omit-frame-pointer", "-fexceptions", "-pthread"],
    ...["-ffp-contract=off", "-DNAPI_VERSION=8", `-DNODE_GYP_MODULE_NAME=${addon}`],
    ...["-DNAPI_CPP_EXCEPTIONS", "-msse2", "-fvisibility=hidden"],
    ...[join(nodedir, "include/node"), ...includes, api].map((path) => `-I${path}`),
  ];
  const level = (source) => (quick && source.includes("isa_scalar") ? ["-O0"] : []);
  const objects = join(copy, base, "build/objects");
  mkdirSync(objects, { recursive: true });
  const isBuilt = (source) => quick && isVectors(source) && existsSync(ordinaryObject(addon, source));
  const all = sources(join(copy, base));
  const [ordinary, own] = [all.filter(isBuilt), all.filter((source) => !isBuilt(source))];
  // The longest jobs come first, so that no CPU idles at the end.
  own.sort((a, b) => Number(b.includes("isa_")) - Number(a.includes("isa_")));
  const waiting = own.map((source) => ({
    source,
    object: join(objects, `${source.replaceAll("/", "_")}.o`),
  }));
  const watched = waiting.map(({ object }) => object);
  const work = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
      await runOrThrow(
        "g++",
        [...flags, ...level(one.source), ...chooseSanitizers(one.source), "-c", one.source, "-o", one.object],
        { cwd: join(copy, base) },
      );
  };
  await Promise.all(cpus().map(work));
  // The linker takes the first of equal inline functions: those that are watched.
  const linked = [...watched, ...ordinary.map((source) => ordinaryObject(addon, source))];
  const to = join(copy, addonPath(addon));
  const words = ["-shared", ...SANITIZERS, "-Wl,-z,nodelete", ...linked, "-o", to, "-ldl", "-pthread"];
  await runOrThrow("g++", words);
}

function ordinaryObject(addon, source) {
  return join(root, ADDONS[addon].base, "build/Release/obj.target", addon, source.replace(/\.cc$/, ".o"));
}

/** The environment that loads such an addon; reports of the sanitizers become files in `found`. */
export function sanitizerEnvironment(found) {
  const library = (name) => {
    const path = execFileSync("g++", [`-print-file-name=${name}`], { encoding: "utf8" }).trim();
    // The compiler prints the bare name of a library that it does not have.
    if (path !== name) return path;
    const hint = "run 'npm run test:setup'";
    throw Object.assign(new Error(`expected g++ to have ${name}, found none`), { hint });
  };
  return {
    LD_PRELOAD: `${library("libasan.so")} ${library("libubsan.so")}`,
    // Node frees little at its end, so leaks are not looked for. A request that cannot be met returns null, as without a sanitizer.
    ASAN_OPTIONS: `detect_leaks=0:allocator_may_return_null=1:log_path=${join(found, "asan")}`,
    UBSAN_OPTIONS: `print_stacktrace=1:log_path=${join(found, "ubsan")}`,
    // The driver in memory of the cameras' tests is built with the same flags.
    V4L2_CAMERA_SANITIZE: "address,undefined",
  };
}
