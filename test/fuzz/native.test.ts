// SPDX-License-Identifier: Apache-2.0
// The native fuzz targets: with g++ and a driver of our own everywhere, with libFuzzer of clang 19 where its Debian is cached
// (npm run test:setup -- --long), or its programs are in FUZZ_PROGRAMS. FUZZ_SECONDS: for how long each.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, expect, test } from "vitest";
import { reportFuzz } from "../doubles/fuzz-report.js";
import { needs } from "../doubles/needs.js";
import {
  buildLibFuzzer,
  FLAGS,
  inRoot,
  libFuzzerRoot,
  NATIVE_TARGETS,
  type NativeTarget,
} from "./libfuzzer.mjs";

const seconds = Number(process.env.FUZZ_SECONDS ?? 10);
const seed = Number(process.env.DEPTHWATT_SEED ?? Date.now() % 1_000_000_007);
const project = resolve(import.meta.dirname, "../..");
/** Without a time limit: a call of the last one opens a camera and waits for its thread. */
const FEWEST_CALLS = { frame: 500, rvl: 500, v4l2: 20 } as const;
const names = Object.keys(NATIVE_TARGETS) as NativeTarget[];

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});
const corpusFolder = (target: NativeTarget) => join(project, "test/fuzz/corpus", target);
const time = 60_000 + 3000 * seconds;

needs("toolchain").suite("with g++ and a driver", () => {
  test.each(names)(
    "%s: sanitizers find nothing",
    (target) => {
      const folder = mkdtempSync(join(tmpdir(), "depthwatt-fuzz-"));
      cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
      const program = join(folder, "fuzz");
      const sources = [...NATIVE_TARGETS[target], "test/fuzz/native/driver_main.cc"];
      const flags = [...FLAGS, "-fsanitize=address,undefined"];
      execFileSync("g++", [...flags, ...sources, "-o", program, "-pthread", "-ldl"], { cwd: project });
      const corpus = readdirSync(corpusFolder(target)).map((name) => join(corpusFolder(target), name));
      expect(corpus.length).toBeGreaterThan(2);
      const ran = spawnSync(program, [String(seconds), String(seed), ...corpus], { encoding: "utf8" });
      expect(ran.status, `seed ${seed}: ${ran.stderr.slice(0, 4000)}`).toBe(0);
      const calls = Number(/(\d+) calls/.exec(ran.stdout)?.[1]);
      expect(calls).toBeGreaterThan(FEWEST_CALLS[target]);
      reportFuzz(`${target}, own driver`, { executions: calls, seed });
    },
    time,
  );
});

/** Programs that test/fuzz/libfuzzer.mjs built beforehand, for a machine without that clang. */
const programs = process.env.FUZZ_PROGRAMS;
test.for(names)(
  "%s with libFuzzer: nothing is found, and the corpus still reaches the code",
  { timeout: time },
  (target, context) => {
    const root = libFuzzerRoot();
    if (programs === undefined && root === undefined)
      return context.skip("needs root and clang 19 with libFuzzer (npm run test:setup -- --long)");
    const folder = mkdtempSync(join(programs === undefined ? join(root!, "tmp") : tmpdir(), "fuzz-"));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    cpSync(corpusFolder(target), join(folder, "corpus"), { recursive: true });
    mkdirSync(join(folder, "grown"));
    if (programs === undefined) buildLibFuzzer(root!, target, folder);
    const fuzzer = ["-max_len=8192", "-detect_leaks=0", "-print_final_stats=1", "grown", "corpus"];
    const words = [`-max_total_time=${seconds}`, `-seed=${seed % 2 ** 31}`, ...fuzzer];
    const [file, given] =
      programs === undefined
        ? inRoot(root!, folder, ["./fuzz", ...words])
        : ([join(resolve(programs), target), words] as const);
    const ran = spawnSync(file, given, {
      cwd: folder,
      encoding: "utf8",
      // The root has no /proc, which the search for leaks needs; the other build looks for them.
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", ASAN_OPTIONS: "detect_leaks=0" },
      maxBuffer: 1 << 26,
    });
    keepFinds(target, folder);
    expect(ran.status, `seed ${seed}: ${ran.stderr.slice(-4000)}`).toBe(0);
    const [, calls] = /stat::number_of_executed_units: (\d+)/.exec(ran.stderr) ?? [];
    const [, byCorpus] = /INITED cov: (\d+)/.exec(ran.stderr) ?? [];
    const [, reached, features] = /DONE\s+cov: (\d+) ft: (\d+)/.exec(ran.stderr) ?? [];
    const [, all] = /INFO: Loaded 1 modules\s+\((\d+) inline 8-bit counters\)/.exec(ran.stderr) ?? [];
    expect(Number(calls)).toBeGreaterThan(FEWEST_CALLS[target]);
    expect(Number(byCorpus)).toBeGreaterThan(20);
    const coverage = `${reached} of ${all} edges, ${byCorpus} by the corpus alone`;
    const corpus = {
      given: readdirSync(join(folder, "corpus")).length,
      grown: readdirSync(join(folder, "grown")).length,
    };
    reportFuzz(`${target}, libFuzzer`, {
      executions: Number(calls),
      coverage,
      features: Number(features),
      corpus,
      seed,
    });
  },
);

/** Inputs that reach more than the corpus does, and those that end the program, where FUZZ_KEEP names a folder. */
function keepFinds(target: NativeTarget, folder: string): void {
  const keep = process.env.FUZZ_KEEP;
  if (keep === undefined) return;
  cpSync(join(folder, "grown"), join(keep, target), { recursive: true });
  for (const name of readdirSync(folder).filter((name) => /^(crash|leak|oom|timeout|slow-unit)-/.test(name)))
    cpSync(join(folder, name), join(keep, `${target}-${name}`));
}
