// SPDX-License-Identifier: Apache-2.0
// The package's own suite with an addon and a driver in memory that AddressSanitizer and UBSan watch.
import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";

const here = import.meta.dirname;
const project = resolve(here, "../../..");
const folder = mkdtempSync(join(tmpdir(), "v4l2-camera-sanitized-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SUITE = ["camera", "open", "planes", "bad-days", "stereo", "hostile"];

/** A copy of the package, whose addon is built with the sanitizers. */
async function sanitizedPackage(): Promise<string> {
  const copy = join(folder, "camera/v4l2");
  for (const part of ["src", "native", "test", "package.json", "binding.gyp"])
    cpSync(join(here, "..", part), join(copy, part), { recursive: true });
  symlinkSync(join(project, "node_modules"), join(folder, "node_modules"));
  cpSync(join(project, "tsconfig.json"), join(folder, "tsconfig.json"));
  cpSync(join(project, "test/doubles"), join(folder, "test/doubles"), { recursive: true });
  cpSync(join(project, "scripts/test-packages.json"), join(folder, "scripts/test-packages.json"));
  cpSync(join(here, "../build/config.gypi"), join(copy, "build/config.gypi"));
  const config = readFileSync(join(here, "../build/config.gypi"), "utf8");
  const nodedir = /"nodedir": "([^"]+)"/.exec(config)![1]!;
  const api = dirname(createRequire(import.meta.url).resolve("node-addon-api"));
  const entry = readFileSync(join(copy, "native/addon.cc"), "utf8");
  const sources = readdirSync(join(copy, "native"))
    .filter((name) => name.endsWith(".cc") && !entry.includes(`"${name}"`))
    .map((name) => join(copy, "native", name));
  const words = ["-shared", "-fPIC", "-std=c++17", "-O1", "-g", "-fexceptions", "-pthread"];
  const defines = ["-DNAPI_VERSION=8", "-DNODE_GYP_MODULE_NAME=v4l2_camera", "-DNAPI_CPP_EXCEPTIONS"];
  const out = join(copy, "build/Release/v4l2_camera.node");
  execFileSync("mkdir", ["-p", dirname(out)]);
  const sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"];
  const includes = [join(nodedir, "include/node"), api].map((path) => `-I${path}`);
  await promisify(execFile)("g++", [
    ...words,
    ...sanitizers,
    ...defines,
    ...includes,
    ...sources,
    "-o",
    out,
    "-ldl",
  ]);
  return copy;
}

test("AddressSanitizer and UBSan find nothing in the suite", { timeout: 280_000 }, async () => {
  const copy = await sanitizedPackage();
  const library = (name: string) =>
    execFileSync("g++", [`-print-file-name=${name}`], { encoding: "utf8" }).trim();
  const env = {
    ...process.env,
    LD_PRELOAD: `${library("libasan.so")} ${library("libubsan.so")}`,
    // Node frees little at its end.
    ASAN_OPTIONS: `detect_leaks=0:log_path=${join(folder, "found")}`,
    UBSAN_OPTIONS: `print_stacktrace=1:log_path=${join(folder, "found")}`,
    NO_COLOR: "1",
    FORCE_COLOR: "0",
    // The driver in memory is built with the same flags.
    V4L2_CAMERA_SANITIZE: "address,undefined",
  };
  const vitest = join(project, "node_modules/vitest/vitest.mjs");
  const files = SUITE.map((name) => join(copy, "test", `${name}.test.ts`));
  const ran = await promisify(execFile)(
    process.execPath,
    [
      vitest,
      "run",
      "--root",
      copy,
      "--pool=forks",
      "--maxWorkers=1",
      "--testTimeout=60000",
      "--hookTimeout=60000",
      ...files,
    ],
    { cwd: copy, env, maxBuffer: 1 << 26, timeout: 270_000 },
  ).catch((error: { stdout: string; stderr: string }) => error);
  const text = `${ran.stdout}${ran.stderr}`;
  // Files and not the output: a process that ends at its end takes its last words with it.
  const found = readdirSync(folder).filter((name) => name.startsWith("found"));
  expect(found.map((name) => readFileSync(join(folder, name), "utf8").slice(0, 6000)).join("\n")).toBe("");
  expect(text, text.slice(-4000)).toMatch(new RegExp(`Test Files.*${SUITE.length} passed`));
  expect(text).toMatch(/Tests.* \d{2,} passed/);
});
