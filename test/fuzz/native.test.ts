// SPDX-License-Identifier: Apache-2.0
// The native fuzz targets: with g++ and a driver of our own everywhere, with libFuzzer of clang 19 where its Debian is cached
// (npm run test:setup -- --long). FUZZ_SECONDS: for how long each.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, test } from "vitest";
import { cachedDebian } from "../../scripts/debian-compilers.mjs";
import { needs } from "../doubles/needs.js";
import { told } from "../doubles/told.js";

const seconds = Number(process.env.FUZZ_SECONDS ?? 10);
const seed = Number(process.env.DEPTHWATT_SEED ?? Date.now() % 1_000_000_007);
const project = resolve(import.meta.dirname, "../..");
const NEEDS_NODE = [
  "addon.cc",
  "arguments.cc",
  "binding.cc",
  "call.cc",
  "camera_handle.cc",
  "convert.cc",
  "status_error.cc",
];
/** What capture does without Node, and the driver in memory. */
const CAPTURE = [
  ...readdirSync(join(project, "camera/v4l2/native"))
    .filter((name) => name.endsWith(".cc") && !NEEDS_NODE.includes(name))
    .map((name) => `camera/v4l2/native/${name}`),
  "camera/v4l2/test/fake-video/fake_driver.cc",
  "camera/v4l2/test/fake-video/fake_settings.cc",
];
const TARGETS = {
  frame: ["test/fuzz/native/frame_target.cc"],
  rvl: ["test/fuzz/native/rvl_target.cc", "cuda/encode/rvl/rvl.cc", "cuda/encode/rvl/rvl.ref.cc"],
  v4l2: ["camera/v4l2/test/v4l2_target_main.cc", ...CAPTURE],
} as const;
/** In whatever time: a call of the last one opens a camera and waits for its thread. */
const FEWEST_CALLS = { frame: 500, rvl: 500, v4l2: 20 } as const;
type Target = keyof typeof TARGETS;
const names = Object.keys(TARGETS) as Target[];
const FLAGS = ["-std=c++17", "-O1", "-g", "-fno-sanitize-recover=all"];

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});
const corpusOf = (target: Target) => join(project, "test/fuzz/corpus", target);
const time = 60_000 + 3000 * seconds;

needs("toolchain").suite("with g++ and a driver", () => {
  test.each(names)(
    "%s: sanitizers find nothing",
    (target) => {
      const folder = mkdtempSync(join(tmpdir(), "depthwatt-fuzz-"));
      cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
      const program = join(folder, "fuzz");
      const sources = [...TARGETS[target], "test/fuzz/native/driver_main.cc"];
      const flags = [...FLAGS, "-fsanitize=address,undefined"];
      execFileSync("g++", [...flags, ...sources, "-o", program, "-pthread", "-ldl"], { cwd: project });
      const corpus = readdirSync(corpusOf(target)).map((name) => join(corpusOf(target), name));
      expect(corpus.length).toBeGreaterThan(2);
      const ran = spawnSync(program, [String(seconds), String(seed), ...corpus], { encoding: "utf8" });
      expect(ran.status, `seed ${seed}: ${ran.stderr.slice(0, 4000)}`).toBe(0);
      const calls = Number(/(\d+) calls/.exec(ran.stdout)?.[1]);
      expect(calls).toBeGreaterThan(FEWEST_CALLS[target]);
      told(`${target}, own driver`, { executions: calls, seed });
    },
    time,
  );
});

const FUZZER = "usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.fuzzer-x86_64.a";
test.for(names)(
  "%s with libFuzzer: nothing is found, and the corpus still reaches the code",
  { timeout: time },
  (target, context) => {
    const root = cachedDebian("trixie");
    if (process.getuid?.() !== 0 || root === undefined || !existsSync(join(root, FUZZER)))
      return context.skip("needs root and clang 19 with libFuzzer (npm run test:setup -- --long)");
    const folder = mkdtempSync(join(root, "tmp/fuzz-"));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    for (const part of [
      "cuda/encode/rvl",
      "clients/cpp",
      "core",
      "camera/v4l2/native",
      "camera/v4l2/test/fake-video",
      "camera/v4l2/test/v4l2_target_main.cc",
      "test/fuzz/native",
    ])
      cpSync(join(project, part), join(folder, part), { recursive: true });
    cpSync(corpusOf(target), join(folder, "corpus"), { recursive: true });
    mkdirSync(join(folder, "grown"));
    const inside = folder.slice(root.length);
    const flags = [...FLAGS, "-fsanitize=fuzzer,address,undefined"].join(" ");
    const build = `cd ${inside} && clang++-19 ${flags} ${[...TARGETS[target], "test/fuzz/native/no_leak_search.cc"].join(" ")} -o fuzz -pthread -ldl`;
    const run = `./fuzz -max_total_time=${seconds} -seed=${seed % 2 ** 31} -max_len=8192 -detect_leaks=0 -print_final_stats=1 grown corpus`;
    const ran = spawnSync("chroot", [root, "/bin/sh", "-c", `${build} && ${run}`], {
      encoding: "utf8",
      // The root has no /proc, which the search for leaks needs; the other build looks for them.
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", ASAN_OPTIONS: "detect_leaks=0" },
      maxBuffer: 1 << 26,
    });
    expect(ran.status, `seed ${seed}: ${ran.stderr.slice(-4000)}`).toBe(0);
    const [, calls] = /stat::number_of_executed_units: (\d+)/.exec(ran.stderr) ?? [];
    const [, byCorpus] = /INITED cov: (\d+)/.exec(ran.stderr) ?? [];
    const [, reached] = /DONE\s+cov: (\d+)/.exec(ran.stderr) ?? [];
    const [, all] = /INFO: Loaded 1 modules\s+\((\d+) inline 8-bit counters\)/.exec(ran.stderr) ?? [];
    expect(Number(calls)).toBeGreaterThan(FEWEST_CALLS[target]);
    expect(Number(byCorpus)).toBeGreaterThan(20);
    const coverage = `${reached} of ${all} edges, ${byCorpus} by the corpus alone`;
    told(`${target}, libFuzzer`, { executions: Number(calls), coverage, seed });
    const keep = process.env.FUZZ_KEEP;
    if (keep !== undefined) cpSync(join(folder, "grown"), join(keep, target), { recursive: true });
  },
);
