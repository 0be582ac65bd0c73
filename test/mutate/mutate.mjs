// SPDX-License-Identifier: Apache-2.0
// Mutation testing: changes one operator, constant, condition or statement at a time and reports the changes that no test
// notices. It works in a copy of the tree.
//   npm run test:mutate -- [--minutes N] [--count N] [--seed N] [--all] [--related | --wide] [--out FILE] [FILE...]
// Files: the named files or folders, else those that differ from the branch main; --all takes the whole tree. Mutants are drawn at
// random until the minutes (default 5) are over. A mutant of TypeScript meets the short tests that name an export of its file, or
// those that reach it over the fewest imports; a mutant of C++ those of its folder, for up to a minute. --related then builds the
// program and runs the next 16 tests that reach the file; --wide runs all short suites for the mutants that survive the nearest
// tests. --count ends after so many judged mutants. With --out, the file is written after each mutant, and a later call with the
// same seed continues its draw.
// It exits with 0 whether or not mutants survive: the report is for people.
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, posix, resolve } from "node:path";
import ts from "typescript";
import { describeRun, formatResult } from "../../bench/shared/result-file.mjs";
import { copyTree, root } from "../sanitize/build.mjs";
import { endCleanly, run, writeWhole } from "../sanitize/end.mjs";
import { mutated, nativeMutants, typescriptMutants } from "./mutants.mjs";

const words = process.argv.slice(2);
const flag = (name) => words.includes(name) && words.splice(words.indexOf(name), 1).length > 0;
function option(name, fallback) {
  const at = words.indexOf(name);
  return at < 0 ? fallback : words.splice(at, 2)[1];
}
const [all, related, wide] = [flag("--all"), flag("--related"), flag("--wide")];
const minutes = Number(option("--minutes", "5"));
const count = Number(option("--count", "1000000"));
const seed = Number(option("--seed", String(Date.now() % 1_000_000_007)));
const out = option("--out");
const unknown = words.find((word) => word.startsWith("-"));
if (unknown !== undefined || !(minutes > 0) || !(count > 0) || !Number.isInteger(seed)) {
  const problem =
    unknown === undefined ? "--minutes, --count and --seed take numbers" : `unknown option ${unknown}`;
  console.error(
    `error: ${problem}\nhint: npm run test:mutate -- [--minutes N] [--count N] [--seed N] [--all] [--related | --wide] [--out FILE] [FILE...]`,
  );
  process.exit(2);
}

const SOURCE = /^(core|camera|cuda|edge|power|clients\/javascript\/src)\/.*\.(ts|cc|h)$/;
/** Generated, or no behaviour: declarations, contracts, what only a GPU or the foreign CPU runs. */
const NOT_MUTATED =
  /\/(test|dist|build|node_modules|contracts)\/|\.d\.ts$|cuda\/facts\.ts|cuda\/(gpu|check|device)\/|_neon|_main\.cc|\.node\.inl\.h|index\.ts$/;

const git = (...command) =>
  execFileSync("git", command, { cwd: root, encoding: "utf8" }).split("\n").filter(Boolean);

/** Returns the files to mutate: paths from the root. */
function chosenFiles() {
  const listed = git("ls-files", "--cached", "--others", "--exclude-standard").filter(
    (path) => SOURCE.test(path) && !NOT_MUTATED.test(path),
  );
  if (words.length > 0) {
    const named = words.map((word) => word.replace(/^\.\//, "").replace(/\/$/, ""));
    const absent = named.find((path) => !listed.some((one) => one === path || one.startsWith(`${path}/`)));
    if (absent !== undefined) {
      console.error(
        `error: ${absent} is not a source that can be mutated\nhint: name TypeScript or C++ files or folders`,
      );
      process.exit(2);
    }
    return listed.filter((path) => named.some((one) => one === path || path.startsWith(`${one}/`)));
  }
  if (all) return listed;
  const changed = new Set([...git("diff", "--name-only", "main..."), ...git("diff", "--name-only", "HEAD")]);
  return listed.filter((path) => changed.has(path));
}

/** Draws without replacement: xorshift32 from the seed. */
function shuffled(list) {
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state;
  };
  const mixed = [...list];
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = next() % (i + 1);
    [mixed[i], mixed[j]] = [mixed[j], mixed[i]];
  }
  return mixed;
}

const isNative = (file) => !file.endsWith(".ts");

/** Returns groups of vitest's words for the tests that are near a C++ file, the nearest first. */
function nativeGroups(file) {
  if (file.startsWith("camera/v4l2/")) return [["camera/v4l2/test/"]];
  if (file.startsWith("power/")) return [["test/unit/power/"]];
  const camera = ["test/unit/camera/", "test/unit/scene"];
  if (file.startsWith("camera/")) return [[...camera, "test/unit/health"]];
  const own = posix.basename(file).split(".")[0].replaceAll("_", "-");
  const nearest = existsSync(join(root, `test/stages/${own}.test.ts`))
    ? [[`test/stages/${own}.test.ts`]]
    : [];
  const engine = [
    "test/golden/engine.test.ts",
    ...[
      "engine",
      "adaptation",
      "region",
      "energy-figures",
      "half-resolution",
      "native-arguments",
      "temporal",
    ].map((name) => `test/integration/${name}.test.ts`),
  ];
  const groups = /^cuda\/(engine|cpu|[\w.]+$)/.test(file)
    ? [engine, ["test/stages/"]]
    : [["test/stages/"], engine];
  return [...nearest, ...groups, ...(file.startsWith("core/") ? [camera] : [])];
}

function earlierReport() {
  if (out === undefined || !existsSync(out)) return undefined;
  try {
    return JSON.parse(readFileSync(out, "utf8"));
  } catch (error) {
    console.error(
      `error: --out: ${out} holds no report: ${error.message}\nhint: remove it, or name another file`,
    );
    process.exit(2);
  }
}
const kept = earlierReport();

const folder = mkdtempSync(join(tmpdir(), "depthwatt-mutate-"));
// As deep as the project, so that the compiler is called with the same relative paths and objects are kept.
const depth = (path) => path.split("/").filter(Boolean).length;
const levels = Math.max(0, depth(root) - depth(folder) - 1);
const copy = join(folder, ...Array.from({ length: levels }, (_, level) => `level-${level}`), "tree");
endCleanly(() => rmSync(folder, { recursive: true, force: true }));

/** Throws an error if the disk is nearly full: tests that fail for this reason would count as mutants noticed. */
function requireSpace() {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < 1 << 28)
    throw Object.assign(new Error(`expected 256 MB free on the disk of ${folder}`), { code: "ENOSPC" });
}

/** @returns {Promise<number | null>} vitest's exit status; null for a timeout */
async function runTests(testWords, timeoutMs) {
  const script = join(copy, "node_modules/vitest/vitest.mjs");
  const options = [
    "--root",
    copy,
    "--config",
    join(folder, "vitest.config.mjs"),
    "--bail=1",
    "--passWithNoTests",
  ];
  const env = { ...process.env, NO_COLOR: "1" };
  const how = { cwd: copy, env, timeoutMs };
  const { status } = await run(process.execPath, [script, ...testWords, ...options], how);
  requireSpace();
  return status;
}

/** Builds what the tests of a mutant load. Returns whether the compiler accepted it. */
async function build(file) {
  const words = isNative(file) ? [join(copy, "scripts/build-native.mjs")] : ["run", "--silent", "build:ts"];
  const program = isNative(file) ? process.execPath : "npm";
  const { status } = await run(program, words, { cwd: copy });
  requireSpace();
  return status === 0;
}

/** Returns a function that asks whether the compiler accepts a TypeScript file with this text. */
function typeChecker() {
  const configPath = join(copy, "tsconfig.json");
  const { config } = ts.readConfigFile(configPath, ts.sys.readFile);
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, copy);
  const changed = new Map();
  let version = 0;
  const service = ts.createLanguageService({
    getScriptFileNames: () => fileNames,
    getScriptVersion: (path) => String(changed.get(path)?.version ?? 0),
    getScriptSnapshot: (path) => {
      const text = changed.get(path)?.text ?? ts.sys.readFile(path);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => copy,
    getCompilationSettings: () => ({ ...options, noEmit: true, incremental: false }),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
  });
  return (file, text) => {
    const path = join(copy, file);
    // Its own package with its own settings.
    if (!fileNames.includes(path)) return true;
    changed.set(path, { text, version: ++version });
    const problems = [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)];
    changed.set(path, { text: readFileSync(path, "utf8"), version: ++version });
    return problems.length === 0;
  };
}

const files = chosenFiles();
if (files.length === 0) {
  console.log("No TypeScript or C++ source differs from the branch main. Name files, or use --all.");
  process.exit(0);
}
const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));
const mutants = files.flatMap((file) =>
  (isNative(file) ? nativeMutants : typescriptMutants)(texts.get(file)).map((mutant) => ({
    file,
    ...mutant,
  })),
);
console.error(`${mutants.length} mutants of ${files.length} files, seed ${seed}, ${minutes} minutes`);
// The commit of the copied tree: one that follows while this runs changes nothing in the copy.
const { commit } = describeRun();
await copyTree(copy);
for (const made of ["build", "camera/v4l2/build"]) {
  for (const name of readdirSync(join(root, made)).filter(
    (name) => !["emulated", "arm64", "coverage"].includes(name),
  ))
    cpSync(join(root, made, name), join(copy, made, name), { recursive: true, preserveTimestamps: true });
}
const own = JSON.stringify(join(copy, "vitest.config.ts"));
writeFileSync(
  join(folder, "vitest.config.mjs"),
  `import own from ${own};\nexport default { ...own, test: { ...own.test, globalSetup: [], reporters: ["dot"], retry: 0 } };\n`,
);
const accepts = files.some((file) => !isNative(file)) ? typeChecker() : undefined;
if (files.some(isNative) && !(await build("x.cc"))) {
  console.error("error: the addon does not build without a mutant\nhint: run 'npm run build'");
  process.exit(1);
}

/** Returns a map from each module to those that import it. Paths are from the root. */
function importers() {
  const map = new Map();
  // Tests that start the built program import its helper.
  map.set("edge/cli/main.ts", ["test/doubles/program.ts"]);
  const modules = git("ls-files", "*.ts", "*.tsx", "*.mjs");
  for (const path of modules.filter((name) => existsSync(join(root, name)))) {
    const text = readFileSync(join(root, path), "utf8");
    for (const [, name] of text.matchAll(/(?:from|import\() ?"([^"]+)"/g)) {
      const target = name.startsWith(".")
        ? posix.join(posix.dirname(path), name).replace(/\.js$/, ".ts")
        : { "v4l2-camera": "camera/v4l2/src/index.ts", "v4l2-camera/parts": "camera/v4l2/src/parts.ts" }[
            name
          ];
      if (target !== undefined) map.set(target, [...(map.get(target) ?? []), path]);
    }
  }
  return map;
}

/** Without those of the architecture, which test the tools. */
const SHORT_TEST =
  /^(test\/(unit|stages|golden|integration|hostile|viewer)|camera\/v4l2\/test)\/.*\.test\.ts$/;

/** Returns how many folders and names of a file's path the path of a test has too. */
function likeness(file, test) {
  const parts = new Set(test.split(/[/.]/));
  return file.split(/[/.]/).filter((part) => parts.has(part)).length;
}

/**
 * Returns the tests of the short suites that reach a file: first those that name one of its exports, then a list for each number of
 * imports between them, the fewest first. Many files are imported by way of an index, so the most alike paths come first in a list.
 */
function reachingTests(file) {
  const seen = new Set([file]);
  const levels = [];
  for (let level = [file]; level.length > 0; ) {
    level = [...new Set(level.flatMap((path) => imported.get(path) ?? []))].filter((path) => !seen.has(path));
    for (const path of level) seen.add(path);
    const tests = level
      .filter((path) => SHORT_TEST.test(path))
      .sort((one, other) => likeness(file, other) - likeness(file, one));
    levels.push(tests);
  }
  const exports = texts.get(file).matchAll(/^export (?:\w+ )*?(?:class|const|function|let)\*? (\w+)/gm);
  const names = [...exports].map(([, name]) => `\\b${name}\\b`);
  const pattern = new RegExp(names.join("|"));
  const naming = levels
    .flat()
    .filter((test) => names.length > 0 && pattern.test(readFileSync(join(root, test), "utf8")));
  const others = levels.map((level) => level.filter((test) => !naming.includes(test)));
  return [naming, ...others].filter((level) => level.length > 0);
}
const imported = importers();
const GROUP = 8;
const MAX_MS = 60_000;

/** Returns the tests that are to notice a mutant of the file, in groups that run one after the other. */
function testGroups(file) {
  if (isNative(file)) return nativeGroups(file);
  const levels = reachingTests(file);
  if (!related) return levels.slice(0, 1).map((tests) => tests.slice(0, GROUP));
  const tests = levels.flat().slice(0, 3 * GROUP);
  return Array.from({ length: Math.ceil(tests.length / GROUP) }, (_, at) =>
    tests.slice(GROUP * at, GROUP * (at + 1)),
  );
}

const commandWords = (tests) => ["run", "--project=!long-*", ...tests];
const WIDE = commandWords([]);
/** Milliseconds that groups of tests take when they pass; infinite for a group that fails without a mutant. */
const durations = new Map();

/** @returns {Promise<number | null>} vitest's exit status; null for a timeout */
async function runGroup(tests, timeoutMs) {
  const key = tests.join(" ");
  const before = performance.now();
  const status = await runTests(commandWords(tests), timeoutMs);
  if (status === 0) durations.set(key, Math.min(durations.get(key) ?? Infinity, performance.now() - before));
  return status;
}

/**
 * Runs the groups one after the other for a minute. Returns whether one fails or hangs because of the mutant; undefined if no
 * group passes without it.
 */
async function isNoticed(groups, mutant) {
  const began = performance.now();
  let verdict;
  for (const [at, tests] of groups.entries()) {
    // The program is built once the tests that import the file have passed.
    if (at === 1 && !(await mutant.buildProgram())) return true;
    const leftMs = Math.round(MAX_MS - (performance.now() - began));
    const key = tests.join(" ");
    if (leftMs < 1000) break;
    if (durations.get(key) === Infinity) continue;
    const status = await runGroup(tests, leftMs);
    if (status === 0) {
      verdict = false;
      continue;
    }
    if (!durations.has(key)) {
      const wasBuilt = await mutant.restore();
      if ((await runGroup(tests, 2 * MAX_MS)) !== 0) {
        durations.set(key, Infinity);
        console.error(`fail without a mutant, not used: ${key}`);
      }
      await mutant.apply();
      if (wasBuilt) await mutant.buildProgram();
      if (durations.get(key) === Infinity) continue;
    }
    // A timeout proves nothing about a group that needs about as long without a mutant.
    if (status !== null || 2 * durations.get(key) < leftMs) return true;
    verdict = false;
  }
  return verdict;
}

const isContinued = kept?.seed === seed && kept.mutants === mutants.length;
const counts = isContinued ? kept.counts : { noticed: 0, survived: 0, refused: 0, unusable: 0 };
const survivors = isContinued ? kept.survivors : [];
let drawn = isContinued ? kept.drawn : 0;
function writeReport() {
  const judged = counts.noticed + counts.survived;
  const report = {
    what: `mutation testing, ${wide ? "all short suites" : related ? "the short tests that reach each file" : "the tests near each file"}: npm run test:mutate`,
    ...describeRun(),
    commit,
    seed,
    minutes: Math.round((performance.now() - began) / 6000) / 10,
    files: files.length,
    mutants: mutants.length,
    judgedPercent: Math.round((1000 * judged) / mutants.length) / 10,
    noticedPercent: judged === 0 ? 0 : Math.round((1000 * counts.noticed) / judged) / 10,
    drawn,
    counts,
    survivors,
    rows: [{ kind: "measured", ...counts }],
  };
  if (out !== undefined) writeWhole(resolve(out), formatResult(report));
  return report;
}

const began = performance.now();
for (const mutant of shuffled(mutants).slice(drawn)) {
  if (performance.now() - began > 60_000 * minutes || counts.noticed + counts.survived >= count) break;
  drawn++;
  const { file, line, kind } = mutant;
  const text = texts.get(file);
  const changed = mutated(text, mutant);
  const path = join(copy, file);
  const show = (result) => console.error(`${result.padEnd(9)} ${file}:${line} ${kind}`);
  let isBuilt = false;
  const place = {
    /** Returns whether the compiler accepts the mutant. */
    apply: async () => {
      writeFileSync(path, changed);
      return !isNative(file) || place.buildProgram();
    },
    buildProgram: async () => {
      if (isBuilt) return true;
      isBuilt = true;
      return build(file);
    },
    /** Returns whether the mutant was in the built program. */
    restore: async () => {
      const wasBuilt = isBuilt;
      writeFileSync(path, text);
      if (isBuilt) await build(file);
      isBuilt = false;
      return wasBuilt;
    },
  };
  if ((!isNative(file) && !accepts(file, changed)) || !(await place.apply())) {
    await place.restore();
    counts.refused++;
    continue;
  }
  let noticed = await isNoticed(testGroups(file), place);
  if (noticed === false && wide)
    noticed = !(await place.buildProgram()) || (await runTests(WIDE, 1_800_000)) !== 0;
  await place.restore();
  if (noticed === undefined) {
    counts.unusable++;
    show("unusable");
    continue;
  }
  if (noticed) counts.noticed++;
  else {
    counts.survived++;
    const sourceLine = (of) => of.split("\n")[line - 1].trim();
    survivors.push({ place: `${file}:${line}`, kind, before: sourceLine(text), after: sourceLine(changed) });
  }
  show(noticed ? "noticed" : "survived");
  writeReport();
}

for (const { place, before, after } of survivors)
  console.log(`survived  ${place}\n  - ${before}\n  + ${after}`);
console.log(
  `${counts.noticed} of ${counts.noticed + counts.survived} mutants noticed (${writeReport().noticedPercent} %), ${counts.refused} refused by the compiler`,
);
