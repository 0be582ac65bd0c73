// SPDX-License-Identifier: Apache-2.0
// `npm run bench:pipeline`: times `depthwatt run` on the synthetic scene, as fast as it goes, and writes a result file.
//   npm run bench:pipeline -- [--frames N] [--machine NAME] [--set key=value]...
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, getPriority, loadavg, release, totalmem } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { scriptArguments } from "../../scripts/arguments.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const { values } = scriptArguments({
  options: {
    frames: { type: "string", default: "100" },
    machine: { type: "string" },
    set: { type: "string", multiple: true, default: [] },
  },
});

const POINTS = [
  { width: 640, height: 480, numDisparities: 64, paths: 4 },
  { width: 640, height: 480, numDisparities: 128, paths: 4 },
  { width: 640, height: 480, numDisparities: 128, paths: 8 },
  { width: 1280, height: 720, numDisparities: 128, paths: 4 },
];

const git = (...words) => execFileSync("git", words, { cwd: root, encoding: "utf8" }).trim();
const optional = (read) => {
  try {
    return read().trim();
  } catch {
    return null;
  }
};

function run(point) {
  const settings = {
    "source.synthetic.width": point.width,
    "source.synthetic.height": point.height,
    "match.numDisparities": point.numDisparities,
    "match.sgm.paths": point.paths,
  };
  const set = [...Object.entries(settings).map(([key, value]) => `${key}=${value}`), ...values.set];
  const words = ["run", "--rate", "max", "--frames", values.frames, "--broker", "none", "--json"];
  const program = [join(root, "dist/edge/cli/main.js"), ...words, ...set.flatMap((item) => ["--set", item])];
  const result = spawnSync(process.execPath, program, { encoding: "utf8", maxBuffer: 1 << 26 });
  if (result.status !== 0) {
    process.stderr.write(result.stderr);
    process.exit(result.status ?? 1);
  }
  return JSON.parse(result.stdout.trim().split("\n").at(-1));
}

const cpu = cpus()[0]?.model.trim() ?? "unknown CPU";
const machine = values.machine ?? `${cpu} ${cpus().length} cores`.toLowerCase().replace(/[^a-z0-9]+/g, "-");
const before = loadavg()[0];
const rows = [];
for (const point of POINTS) {
  const { fps, stages, backend, instructionSet, algorithm, frames, validPercent, power } = run(point);
  const engineMs = Object.values(stages).reduce((sum, stage) => sum + stage.p50Ms, 0);
  const megaDisparities = (point.width * point.height * point.numDisparities) / 1e6;
  const row = {
    ...point,
    algorithm,
    backend,
    instructionSet,
    frames,
    fps,
    engineMs,
    stages,
    validPercent,
    power,
  };
  rows.push({ ...row, megaDisparitiesPerSecond: (megaDisparities * 1000) / engineMs, evidence: "measured" });
  const name = `${point.width}x${point.height}, ${point.numDisparities} disparities, ${point.paths} paths`;
  console.log(
    `${name}: ${engineMs.toFixed(2)} ms in the engine, ${fps.toFixed(1)} fps with the scene rendered beside it`,
  );
}

const dirty = git("status", "--porcelain", "--untracked-files=no") !== "";
const commit = `${git("rev-parse", "--short", "HEAD")}${dirty ? "-dirty" : ""}`;
const date = new Date().toISOString().slice(0, 10);
const result = {
  what: "depthwatt run --rate max on the synthetic scene; engineMs is the sum of the stages' medians, fps includes rendering",
  machine: {
    name: machine,
    processor: cpu,
    cores: cpus().length,
    memoryBytes: totalmem(),
    kernel: release(),
  },
  commit,
  date,
  toolchain: {
    node: process.version,
    compiler: optional(() => execFileSync("g++", ["--version"], { encoding: "utf8" }).split("\n")[0]),
  },
  powerMode: optional(() => readFileSync("/sys/firmware/acpi/platform_profile", "utf8")),
  clocks: optional(() => readFileSync("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "utf8")),
  // Niceness: below 0, other programs had to stand back.
  load: { before, after: loadavg()[0], priority: getPriority() },
  rows,
};
const file = join("bench/results", machine, `${date}-${commit}-pipeline.json`);
mkdirSync(dirname(join(root, file)), { recursive: true });
writeFileSync(join(root, file), `${JSON.stringify(result, null, 2)}\n`);
console.log(file);
