// SPDX-License-Identifier: Apache-2.0
// `node test/fuzz/fuzz.mjs [--seconds N] [--jobs N] [--out FILE] [target...]`: every fuzz target for N seconds (600), one after the other or
// `--jobs` at a time, with what each executed, reached and found; the report is written again after each. Ends with 1 where one has found
// something or did not run. A target whose test counts tries instead of seconds runs again and again, each time with another seed, until
// the time is over. `--keep FOLDER` takes what libFuzzer found, `--programs FOLDER` has its programs (test/fuzz/libfuzzer.mjs), and
// `--commit NAME` names the tree where git does not.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { fuzzArguments } from "./arguments.mjs";
import { reportTargets } from "./report.mjs";
import { TARGETS } from "./targets.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const words = fuzzArguments(
  TARGETS.map(({ name }) => name),
  { keep: { type: "string" }, programs: { type: "string" } },
);
const { seconds, keep, programs } = words;
if (keep !== undefined) mkdirSync(keep, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), "depthwatt-fuzz-report-"));

/** One run of the tests of a target. The shell says what they took of the CPU. */
async function once({ name, file, test, counted, reached }, seed, index) {
  const lines = join(folder, `${name}-${index}.jsonl`);
  const vitest = [join(root, "node_modules/vitest/vitest.mjs"), "run", file, "-t", test];
  const room = [`--testTimeout=${120_000 + 4000 * seconds}`, `--hookTimeout=120000`];
  const env = {
    ...process.env,
    FUZZ_SECONDS: String(seconds),
    FUZZ_REPORT: lines,
    ...(keep !== undefined && { FUZZ_KEEP: resolve(keep) }),
    ...(programs !== undefined && { FUZZ_PROGRAMS: resolve(programs) }),
    DEPTHWATT_SEED: String(seed),
    V4L2_CAMERA_SEED: String(seed),
    ...(reached !== undefined && {
      NODE_OPTIONS: `--import ${join(root, "test/fuzz/reached.mjs")}`,
      FUZZ_REACHED: reached.join(" "),
    }),
    ...(counted !== undefined && { DEPTHWATT_HOSTILE_COUNT: String(counted) }),
  };
  const began = performance.now();
  const script = '"$@"; code=$?; times >&2; exit $code';
  const child = spawn("bash", ["-c", script, "bash", process.execPath, ...vitest, ...room], {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise((done) => child.once("close", done));
  const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  const [user, system] = /(\S+) (\S+)\s*$/.exec(stderr.trimEnd())?.slice(1).map(inSeconds) ?? [0, 0];
  const reported = existsSync(lines)
    ? readFileSync(lines, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];
  return {
    ok: status === 0,
    reported,
    wall: (performance.now() - began) / 1000,
    cpu: user + system,
    says: `${stdout}${stderr}`,
  };
}

/** "1m2.345s", as bash prints it. */
function inSeconds(text) {
  const [, minutes, rest] = /(\d+)m([\d.]+)s/.exec(text) ?? [0, 0, 0];
  return 60 * Number(minutes) + Number(rest);
}

/** A refused call is counted under the name without that word, if there is such a name. */
function countExecutions({ executions, counts = {} }, of) {
  if (executions !== undefined) return executions;
  const outcome = (name) => name.endsWith(" refused") && counts[name.slice(0, -8)] !== undefined;
  const names = of ?? Object.keys(counts).filter((name) => !outcome(name));
  return names.reduce((sum, name) => sum + (counts[name] ?? 0), 0);
}

async function runTarget(target) {
  const began = performance.now();
  const runs = [];
  const left = () => seconds - (performance.now() - began) / 1000;
  let seed = Date.now() % 1_000_000_007;
  const first = seed;
  do {
    runs.push(await once(target, seed++, runs.length));
  } while (target.counted !== undefined && left() > 0 && runs.at(-1).ok);
  const reported = runs.flatMap((run) => run.reported);
  const failed = runs.find(({ ok }) => !ok);
  return {
    target: target.name,
    reads: target.reads,
    tool: target.tool,
    askedSeconds: seconds,
    wallSeconds: Math.round(runs.reduce((sum, { wall }) => sum + wall, 0)),
    cpuSeconds: Math.round(runs.reduce((sum, { cpu }) => sum + cpu, 0)),
    runs: runs.length,
    seed: first,
    executions: reported.reduce((sum, one) => sum + countExecutions(one, target.of), 0),
    // Counters restart with each run: the best one.
    coverage:
      reported
        .map(({ coverage }) => coverage)
        .filter(Boolean)
        .sort((a, b) => Number.parseFloat(a) - Number.parseFloat(b))
        .at(-1) ?? "not counted",
    detail: reported.slice(0, 4),
    findings: failed === undefined ? [] : [failed.says.slice(-6000)],
  };
}

await reportTargets({
  what: "fuzz targets: test/fuzz/fuzz.mjs",
  targets: TARGETS.filter(({ name }) => words.chosen.includes(name)),
  words,
  run: runTarget,
  formatRow: ({ target, executions, wallSeconds, cpuSeconds, coverage }) =>
    `${target}: ${executions} executions in ${wallSeconds} s (${cpuSeconds} s of CPU), ${coverage}`,
});
rmSync(folder, { recursive: true, force: true });
