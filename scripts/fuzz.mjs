// SPDX-License-Identifier: Apache-2.0
// `node scripts/fuzz.mjs [--seconds N] [--out FILE] [target...]`: every fuzz target for N seconds (600), one after the other, with what
// each executed, reached and found; the report is written again after each. Ends with 1 where one has found something. A target whose
// test counts tries instead of seconds runs again and again, each time with another seed, until the time is over.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { TARGETS } from "./fuzz/targets.mjs";
import { fuzzWords } from "./fuzz/words.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { seconds, out, chosen: names } = fuzzWords(TARGETS.map(({ name }) => name));
const chosen = TARGETS.filter(({ name }) => names.includes(name));
const folder = mkdtempSync(join(tmpdir(), "depthwatt-fuzz-report-"));
const git = (...asked) => execFileSync("git", asked, { cwd: root, encoding: "utf8" }).trim();

/** One run of the tests of a target. The shell says what they took of the CPU. */
function once({ file, test, counted, reached }, forSeconds, seed, index) {
  const lines = join(folder, `${index}.jsonl`);
  const vitest = [join(root, "node_modules/vitest/vitest.mjs"), "run", file, "-t", test];
  const room = [`--testTimeout=${120_000 + 4000 * seconds}`, `--hookTimeout=120000`];
  const env = {
    ...process.env,
    FUZZ_SECONDS: String(forSeconds),
    FUZZ_REPORT: lines,
    DEPTHWATT_SEED: String(seed),
    V4L2_CAMERA_SEED: String(seed),
    ...(reached !== undefined && {
      NODE_OPTIONS: `--import ${join(root, "scripts/fuzz/reached.mjs")}`,
      FUZZ_REACHED: reached.join(" "),
    }),
    ...(counted !== undefined && { DEPTHWATT_HOSTILE_COUNT: String(counted) }),
  };
  const began = performance.now();
  const script = '"$@"; code=$?; times >&2; exit $code';
  const ran = spawnSync("bash", ["-c", script, "bash", process.execPath, ...vitest, ...room], {
    cwd: root,
    env,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  const [user, system] = /(\S+) (\S+)\s*$/.exec(ran.stderr.trimEnd())?.slice(1).map(inSeconds) ?? [0, 0];
  const told = existsSync(lines)
    ? readFileSync(lines, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];
  return {
    ok: ran.status === 0,
    told,
    wall: (performance.now() - began) / 1000,
    cpu: user + system,
    says: `${ran.stdout}${ran.stderr}`,
  };
}

/** "1m2.345s", as bash prints it. */
function inSeconds(text) {
  const [, minutes, rest] = /(\d+)m([\d.]+)s/.exec(text) ?? [0, 0, 0];
  return 60 * Number(minutes) + Number(rest);
}

/** What is counted as refused was called under the name without that word, where there is such a name. */
function executionsOf({ executions, counts = {} }, of) {
  if (executions !== undefined) return executions;
  const outcome = (name) => name.endsWith(" refused") && counts[name.slice(0, -8)] !== undefined;
  const names = of ?? Object.keys(counts).filter((name) => !outcome(name));
  return names.reduce((sum, name) => sum + (counts[name] ?? 0), 0);
}

function runTarget(target, which) {
  const began = performance.now();
  const runs = [];
  const left = () => seconds - (performance.now() - began) / 1000;
  let seed = Date.now() % 1_000_000_007;
  const first = seed;
  do {
    runs.push(once(target, seconds, seed++, `${which}-${runs.length}`));
  } while (target.counted !== undefined && left() > 0 && runs.at(-1).ok);
  const told = runs.flatMap((run) => run.told);
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
    executions: told.reduce((sum, one) => sum + executionsOf(one, target.of), 0),
    // Counters begin anew with each run: the best one.
    coverage:
      told
        .map(({ coverage }) => coverage)
        .filter(Boolean)
        .sort()
        .at(-1) ?? "not counted",
    detail: told.slice(0, 4),
    findings: failed === undefined ? [] : [failed.says.slice(-6000)],
  };
}

const began = new Date();
const rows = [];
for (const [which, target] of chosen.entries()) {
  const row = runTarget(target, which);
  rows.push(row);
  console.log(
    `${row.findings.length === 0 ? "ok  " : "BAD "} ${row.target}: ${row.executions} executions in ${row.wallSeconds} s (${row.cpuSeconds} s of CPU), ${row.coverage}`,
  );
  const report = {
    what: "fuzz targets, one after the other: scripts/fuzz.mjs",
    commit: git("rev-parse", "--short", "HEAD"),
    began: began.toISOString(),
    ended: new Date().toISOString(),
    cpu: `${cpus()[0]?.model}, ${cpus().length} cores`,
    load: loadavg().map((one) => Math.round(one * 10) / 10),
    rows,
  };
  if (out !== undefined) {
    writeFileSync(`${out}.part`, `${JSON.stringify(report, undefined, 2)}\n`);
    cpSync(`${out}.part`, out);
    rmSync(`${out}.part`);
  }
}
rmSync(folder, { recursive: true, force: true });
if (rows.some(({ findings }) => findings.length > 0)) process.exitCode = 1;
