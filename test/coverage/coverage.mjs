// SPDX-License-Identifier: Apache-2.0
// Measures which code the short suites run: TypeScript with V8, C++ with gcov in a copy of the tree.
//   npm run test:coverage -- [--typescript | --native] [--raise] [--add] [vitest's words]
// Without words it runs what `npm test` runs. Writes build/coverage/report.json and prints the files with the most that no test
// runs. It exits with 1 if a share is below floor.json; --raise writes higher shares there, lower ones never. --add adds to the
// coverage of earlier runs, so suites can be run one after the other and an interrupted measurement can be continued. Programs
// and workers that tests start from dist count too, unless a test kills them.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { gunzipSync } from "node:zlib";
import { recordBuild, sourcesKey } from "../../scripts/build-stamp.mjs";
import { copyTree, root } from "../sanitize/build.mjs";
import { endCleanly, run, writeWhole } from "../sanitize/end.mjs";
import { readProgramCoverage } from "./programs.mjs";
import { lineShare, mergeLines, shortfalls, typescriptShares } from "./shares.mjs";

const words = process.argv.slice(2);
const flag = (name) => words.includes(name) && words.splice(words.indexOf(name), 1).length > 0;
const [onlyTypescript, onlyNative, raise, add] = ["--typescript", "--native", "--raise", "--add"].map(flag);
const tests = words.length > 0 ? words : ["--project=!long-*"];
const out = join(root, "build/coverage");
const FLOOR = join(root, "test/coverage/floor.json");
const SOURCES = "{core,camera,cuda,edge,power,clients}/**/*.{ts,tsx}";
const OUTPUT = ["ignore", "inherit", "inherit"];
const NOT_SOURCES = ["**/dist/**", "**/test/**", "**/*.d.ts", "**/node_modules/**"];

/** Folders that are removed at the end: of a run that was not completed, and of gcov. */
const unfinished = new Set();
let isPageReadable = false;
endCleanly(
  () => {
    for (const folder of unfinished) rmSync(folder, { recursive: true, force: true });
  },
  () => {
    if (isPageReadable) buildPage();
  },
);

function buildPage(...flags) {
  isPageReadable = flags.includes("--readable");
  execFileSync(process.execPath, ["scripts/build-page.mjs", ...flags], { cwd: root });
}

function stop(message, hint) {
  console.error(`error: ${message}\nhint: ${hint}`);
  process.exit(2);
}

async function runTests(folder, more, env = process.env) {
  const script = join(root, "node_modules/vitest/vitest.mjs");
  const options = { cwd: folder, env, stdio: OUTPUT };
  return (await run(process.execPath, [script, "run", ...tests, ...more], options)).status;
}

async function measureTypescript() {
  try {
    createRequire(import.meta.url).resolve("@vitest/coverage-v8");
  } catch {
    stop("the package @vitest/coverage-v8 is not installed", "run 'npm ci'");
  }
  if (!add) rmSync(join(out, "typescript"), { recursive: true, force: true });
  const folder = join(out, "typescript", String(Date.now()));
  const programs = join(folder, "programs");
  const more = [
    "--config=test/coverage/vitest.config.ts",
    `--root=${root}`,
    "--coverage.enabled",
    "--coverage.provider=v8",
    `--coverage.include=${SOURCES}`,
    ...NOT_SOURCES.map((pattern) => `--coverage.exclude=${pattern}`),
    "--coverage.reporter=json",
    "--coverage.reportOnFailure",
    `--coverage.reportsDirectory=${folder}`,
  ];
  unfinished.add(folder);
  buildPage("--readable");
  const status = await runTests(root, more, { ...process.env, PROGRAM_COVERAGE: programs });
  writeWhole(join(folder, "programs.json"), JSON.stringify(await readProgramCoverage(programs, root)));
  unfinished.delete(folder);
  buildPage();
  const read = (file) =>
    readdirSync(join(out, "typescript"))
      .map((name) => join(out, "typescript", name, file))
      .filter((path) => existsSync(path))
      .map((path) => JSON.parse(readFileSync(path, "utf8")));
  const maps = read("coverage-final.json");
  if (maps.length === 0) stop("vitest wrote no coverage", "read its messages above; is the disk full?");
  return { status, ...typescriptShares(maps, root, read("programs.json").flat()) };
}

/** Returns the lines of the copy's sources with their counts, from every counter file. */
function readCounters(copy) {
  const counters = readdirSync(copy, { recursive: true })
    .filter((name) => name.endsWith(".gcda"))
    .map((name) => join(copy, name));
  if (counters.length === 0) stop("no test loaded the addon with counters", "read the messages above");
  const lines = new Map();
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-gcov-"));
  unfinished.add(folder);
  for (const path of counters) {
    execFileSync("gcov", ["--json-format", path], { cwd: folder, stdio: "ignore" });
    for (const name of readdirSync(folder)) {
      const { current_working_directory: from, files } = JSON.parse(
        gunzipSync(readFileSync(join(folder, name))),
      );
      for (const { file, lines: counted } of files) {
        const own = relative(copy, join(file.startsWith("/") ? "" : from, file));
        if (/^(core|camera|cuda|power)\//.test(own)) mergeLines(lines, own, counted);
      }
      rmSync(join(folder, name));
    }
  }
  return lines;
}

/** Returns a hash of what the addons are built from. */
function hashNativeSources() {
  const patterns = ["core", "camera", "clients", "cuda", "power"].flatMap((top) => [
    `${top}/*.cc`,
    `${top}/*.h`,
  ]);
  const hash = createHash("sha256");
  for (const path of execFileSync("git", ["ls-files", "*.gyp", "addon.cc", ...patterns], {
    cwd: root,
    encoding: "utf8",
  }).split("\n"))
    if (path !== "") hash.update(path).update(readFileSync(join(root, path)));
  return hash.digest("hex");
}

/** Copies the tree and builds the addons with counters, which are kept there from run to run. */
async function buildWithCounters(copy) {
  await copyTree(copy);
  // Not atomic, which takes longer: threads that lose some counts of a line do not lose the line.
  const env = { ...process.env, CXXFLAGS: "--coverage", LDFLAGS: "--coverage" };
  const words = ["scripts/build-native.mjs"];
  const built = await run(process.execPath, words, { cwd: copy, env, stdio: OUTPUT });
  if (built.status !== 0) stop("the addon did not build with counters", "read the compiler's messages above");
  recordBuild(copy, sourcesKey(copy));
}

async function measureNative() {
  if (spawnSync("gcov", ["--version"]).status !== 0)
    stop("gcov is not installed", "sudo apt-get install gcc");
  const copy = join(out, "native");
  const [sources, kept] = [hashNativeSources(), join(copy, "sources")];
  if (!add || !existsSync(kept)) {
    await buildWithCounters(copy);
    writeWhole(kept, sources);
  } else if (readFileSync(kept, "utf8") !== sources) {
    stop("C++ sources have changed since the run that --add would add to", "run without --add first");
  } else {
    for (const tests of ["test", "camera/v4l2/test"])
      cpSync(join(root, tests), join(copy, tests), { recursive: true, preserveTimestamps: true });
  }
  // Forks are ended before they write their counters. Threads cannot change the process's folder or the variables that C++ reads:
  // tests that do fail here, and are judged by the run for TypeScript.
  await runTests(copy, ["--root", copy, "--pool=threads"]);
  return lineShare(readCounters(copy));
}

const report = {};
if (!onlyNative) report.typescript = await measureTypescript();
if (!onlyTypescript) report.native = await measureNative();
writeWhole(join(out, "report.json"), `${JSON.stringify(report, null, 1)}\n`);
for (const [language, { status = 0, files, ...shares }] of Object.entries(report)) {
  const figures = Object.entries(shares).map(([name, percent]) => `${name} ${percent} %`);
  console.log(`${language}: ${figures.join(", ")}${status === 0 ? "" : ", but tests failed"}`);
  for (const { file, missing, percent } of files.slice(0, 15))
    console.log(`  ${file}: ${missing} not run (${percent} % run)`);
}
const floor = JSON.parse(readFileSync(FLOOR, "utf8"));
const below = shortfalls(report, floor);
for (const line of below) console.error(line);
if (raise) {
  for (const [language, shares] of Object.entries(floor))
    for (const name of Object.keys(shares))
      shares[name] = Math.max(shares[name], report[language]?.[name] ?? 0);
  writeWhole(FLOOR, `${JSON.stringify(floor, null, 2)}\n`);
}
const failed = Object.values(report).some(({ status = 0 }) => status !== 0);
process.exitCode = below.length > 0 || failed ? 1 : 0;
