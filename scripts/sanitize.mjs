// SPDX-License-Identifier: Apache-2.0
// `node scripts/sanitize.mjs [--keep FOLDER] [--out FILE] [vitest's words]`: tests with both addons built under AddressSanitizer and
// UBSan, in a copy of the tree; without words, what `npm test` runs. A folder that is kept has its addons built once. Ends with 1
// where a sanitizer says anything, or a test fails.
import { execFile, execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { cpus, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { nativeSources } from "./native-sources.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const words = process.argv.slice(2);
function taken(name) {
  const at = words.indexOf(name);
  return at < 0 ? undefined : words.splice(at, 2)[1];
}
const out = taken("--out");
const kept = taken("--keep");
const tests = words.length > 0 ? words : ["--project=!long-*"];
const folder = kept ?? mkdtempSync(join(tmpdir(), "depthwatt-sanitize-"));
const copy = join(folder, "tree");
const found = join(folder, "found");
const SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"];
/** The bodies of the matchers in vectors: UBSan takes minutes to compile them. The scalar form of each has both. */
const sanitizersOf = (source) => (/isa_avx/.test(source) ? ["-fsanitize=address"] : SANITIZERS);

/** Sources, what TypeScript made of them, and packages as links to the same files: nothing is built into the project. */
function copyTree() {
  rmSync(copy, { recursive: true, force: true });
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
    if (existsSync(join(root, modules))) execFileSync("cp", ["-a", join(root, modules), join(copy, modules)]);
  for (const built of ["build", "camera/v4l2/build"]) {
    mkdirSync(join(copy, built, "Release"), { recursive: true });
    cpSync(join(root, built, "config.gypi"), join(copy, built, "config.gypi"));
  }
  // The checks ask git what belongs to the project.
  for (const words of [
    ["init", "-q"],
    ["add", "-A"],
  ])
    execFileSync("git", words, { cwd: copy });
}

async function build(addon, base, sources, includes) {
  const config = readFileSync(join(root, base, "build/config.gypi"), "utf8");
  const nodedir = /"nodedir": "([^"]+)"/.exec(config)[1];
  const flags = [
    ...["-fPIC", "-std=c++17", "-O1", "-g1", "-fno-omit-frame-pointer", "-fexceptions", "-pthread"],
    ...["-ffp-contract=off", "-DNAPI_VERSION=8", `-DNODE_GYP_MODULE_NAME=${addon}`],
    ...["-DNAPI_CPP_EXCEPTIONS", "-msse2", "-fvisibility=hidden"],
    ...[join(nodedir, "include/node"), ...includes].map((path) => `-I${path}`),
  ];
  const objects = join(copy, base, "build/objects");
  mkdirSync(objects, { recursive: true });
  const waiting = sources.map((source) => ({
    source,
    object: join(objects, `${source.replaceAll("/", "_")}.o`),
  }));
  const all = waiting.map(({ object }) => object);
  const work = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift())
      await promisify(execFile)(
        "g++",
        [...flags, ...sanitizersOf(one.source), "-c", one.source, "-o", one.object],
        {
          cwd: join(copy, base),
          maxBuffer: 1 << 26,
        },
      );
  };
  await Promise.all(cpus().map(work));
  const to = join(copy, base, "build/Release", `${addon}.node`);
  const link = ["-shared", ...SANITIZERS, "-Wl,-z,nodelete", ...all, "-o", to, "-ldl", "-pthread"];
  await promisify(execFile)("g++", link);
}

/** Programs of others are called as ever: a sanitizer in them finds nothing of ours, and breaks some. */
const FOREIGN = ["g++", "gcc", "cc", "git", "chromium", "gst-launch-1.0", "ffmpeg", "bash", "npm", "tar"];
function shims() {
  const folderOfShims = join(folder, "shims");
  mkdirSync(folderOfShims, { recursive: true });
  for (const name of FOREIGN) {
    const where = spawnSync("which", [name], { encoding: "utf8" }).stdout.trim();
    if (where === "") continue;
    const keeps = name === "bash" || name === "npm" ? "" : "unset LD_PRELOAD\n";
    if (keeps === "") continue;
    writeFileSync(join(folderOfShims, name), `#!/bin/sh\n${keeps}exec ${where} "$@"\n`);
    chmodSync(join(folderOfShims, name), 0o755);
  }
  return folderOfShims;
}

async function buildBoth() {
  copyTree();
  const api = join(root, "node_modules/node-addon-api");
  await build("depthwatt", ".", nativeSources(copy), [".", api]);
  const native = join(copy, "camera/v4l2/native");
  const entry = readFileSync(join(native, "addon.cc"), "utf8");
  const cameraSources = readdirSync(native)
    .filter((name) => name.endsWith(".cc") && !entry.includes(`"${name}"`))
    .map((name) => `native/${name}`);
  await build("v4l2_camera", "camera/v4l2", cameraSources, [api]);
}

const began = Date.now();
const built = ["build/Release/depthwatt.node", "camera/v4l2/build/Release/v4l2_camera.node"];
const isBuilt = built.every((path) => existsSync(join(copy, path)));
if (!isBuilt) await buildBoth();
const builtSeconds = (Date.now() - began) / 1000;
console.error(`both addons built with ${SANITIZERS.join(" ")} in ${builtSeconds.toFixed(0)} s`);

rmSync(found, { recursive: true, force: true });
mkdirSync(found, { recursive: true });
const library = (name) => execFileSync("g++", [`-print-file-name=${name}`], { encoding: "utf8" }).trim();
const results = join(folder, "results.json");
const env = {
  ...process.env,
  PATH: `${shims()}:${process.env.PATH}`,
  LD_PRELOAD: `${library("libasan.so")} ${library("libubsan.so")}`,
  // Node frees little at its end, so leaks are not looked for. A request that cannot be met returns null, as without a sanitizer.
  ASAN_OPTIONS: `detect_leaks=0:allocator_may_return_null=1:log_path=${join(found, "asan")}`,
  UBSAN_OPTIONS: `print_stacktrace=1:log_path=${join(found, "ubsan")}`,
  V4L2_CAMERA_SANITIZE: "address,undefined",
};
const vitest = join(copy, "node_modules/vitest/vitest.mjs");
const room = ["--testTimeout=300000", "--hookTimeout=300000", "--reporter=default", "--reporter=json"];
const ran = spawnSync(
  process.execPath,
  [vitest, "run", "--root", copy, ...room, `--outputFile=${results}`, ...tests],
  { cwd: copy, env, stdio: ["ignore", "inherit", "inherit"] },
);
const reports = readdirSync(found).map((name) => readFileSync(join(found, name), "utf8"));
const told = existsSync(results) ? JSON.parse(readFileSync(results, "utf8")) : undefined;
const failed = (told?.testResults ?? []).flatMap(({ name, message, assertionResults }) => {
  const file = name.slice(copy.length + 1);
  const cases = assertionResults.filter(({ status }) => status === "failed");
  if (cases.length === 0) return message ? [{ file, test: "(the file)", says: message.slice(0, 200) }] : [];
  return cases.map(({ fullName, failureMessages }) => ({
    file,
    test: fullName,
    says: (failureMessages[0] ?? "").split("\n")[0].slice(0, 200),
  }));
});
const report = {
  what: `tests with both addons under ${SANITIZERS[0]}: scripts/sanitize.mjs ${tests.join(" ")}`,
  compiler: execFileSync("g++", ["--version"], { encoding: "utf8" }).split("\n")[0],
  seconds: Math.round((Date.now() - began) / 1000),
  buildSeconds: Math.round(builtSeconds),
  testFiles: told?.testResults.length ?? 0,
  passed: told?.numPassedTests ?? 0,
  failed,
  skipped: told?.numPendingTests ?? 0,
  sanitizerReports: reports.map((text) => text.slice(0, 4000)),
};
if (out !== undefined) writeFileSync(out, `${JSON.stringify(report, undefined, 2)}\n`);
console.log(JSON.stringify(report));
if (kept === undefined) rmSync(folder, { recursive: true, force: true });
if (ran.status !== 0 || reports.length > 0) process.exitCode = 1;
