// SPDX-License-Identifier: Apache-2.0
// Mutation testing: changes one operator, constant, condition or statement at a time and reports the changes that no test
// notices. It works in a copy of the tree.
//   npm run test:mutate -- [--minutes N] [--seed N] [--all] [--wide] [--out FILE] [FILE...]
// Files: the named files or folders, else those that differ from the branch main; --all takes the whole tree. Mutants are drawn at
// random until the minutes (default 5) are over. A mutant of TypeScript meets the short tests that reach its file over the fewest
// imports, a mutant of C++ those of its folder. --wide runs all short suites for the mutants that survive these.
// It exits with 0 whether or not mutants survive: the report is for people.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix, resolve } from "node:path";
import ts from "typescript";
import { describeRun, formatResult } from "../../bench/shared/result-file.mjs";
import { copyTree, root } from "../sanitize/build.mjs";
import { mutated, nativeMutants, typescriptMutants } from "./mutants.mjs";

const words = process.argv.slice(2);
const flag = (name) => words.includes(name) && words.splice(words.indexOf(name), 1).length > 0;
function option(name, fallback) {
  const at = words.indexOf(name);
  return at < 0 ? fallback : words.splice(at, 2)[1];
}
const [all, wide] = [flag("--all"), flag("--wide")];
const minutes = Number(option("--minutes", "5"));
const seed = Number(option("--seed", String(Date.now() % 1_000_000_007)));
const out = option("--out");
const unknown = words.find((word) => word.startsWith("-"));
if (unknown !== undefined || !(minutes > 0) || !Number.isInteger(seed)) {
  const problem = unknown === undefined ? "--minutes and --seed take numbers" : `unknown option ${unknown}`;
  console.error(
    `error: ${problem}\nhint: npm run test:mutate -- [--minutes N] [--seed N] [--all] [--wide] [--out FILE] [FILE...]`,
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

/** Returns vitest's words for the tests that are near a C++ file, the nearest first. */
function nativeTests(file) {
  if (file.startsWith("camera/v4l2/")) return ["camera/v4l2/test/"];
  if (file.startsWith("power/")) return ["test/unit/power/"];
  if (file.startsWith("camera/")) return ["test/unit/camera/", "test/unit/scene"];
  const stages = ["test/stages/", "test/golden/engine.test.ts", "test/integration/engine.test.ts"];
  const engine = [
    "test/integration/adaptation.test.ts",
    "test/integration/region.test.ts",
    "test/integration/energy-figures.test.ts",
  ];
  const unit = ["test/unit/camera/", "test/unit/matchers.test.ts"];
  return [
    ...stages,
    ...(/^cuda\/(engine|cpu|[\w.]+$)/.test(file) ? engine : []),
    ...(file.startsWith("core/") ? unit : []),
  ];
}

const folder = mkdtempSync(join(tmpdir(), "depthwatt-mutate-"));
// As deep as the project, so that the compiler is called with the same relative paths and objects are kept.
const depth = (path) => path.split("/").filter(Boolean).length;
const levels = Math.max(0, depth(root) - depth(folder) - 1);
const copy = join(folder, ...Array.from({ length: levels }, (_, level) => `level-${level}`), "tree");
const end = () => rmSync(folder, { recursive: true, force: true });
process.on("exit", end);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(130));

/** @returns {number | null} vitest's exit status; null for a timeout */
function runTests(testWords, timeoutMs) {
  const script = join(copy, "node_modules/vitest/vitest.mjs");
  const options = [
    "--root",
    copy,
    "--config",
    join(folder, "vitest.config.mjs"),
    "--bail=1",
    "--passWithNoTests",
  ];
  const ran = spawnSync(process.execPath, [script, ...testWords, ...options], {
    cwd: copy,
    env: { ...process.env, NO_COLOR: "1" },
    encoding: "utf8",
    timeout: timeoutMs,
    maxBuffer: 1 << 28,
    killSignal: "SIGKILL",
  });
  return ran.status;
}

/** Builds what the tests of a mutant load. Returns whether the compiler accepted it. */
function build(file) {
  const words = isNative(file) ? [join(copy, "scripts/build-native.mjs")] : ["run", "--silent", "build:ts"];
  const program = isNative(file) ? process.execPath : "npm";
  return spawnSync(program, words, { cwd: copy, encoding: "utf8", maxBuffer: 1 << 28 }).status === 0;
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
copyTree(copy);
for (const made of ["build", "camera/v4l2/build"]) {
  for (const name of readdirSync(join(root, made)).filter((name) => !["emulated", "coverage"].includes(name)))
    cpSync(join(root, made, name), join(copy, made, name), { recursive: true, preserveTimestamps: true });
}
const own = JSON.stringify(join(copy, "vitest.config.ts"));
writeFileSync(
  join(folder, "vitest.config.mjs"),
  `import own from ${own};\nexport default { ...own, test: { ...own.test, globalSetup: [], reporters: ["dot"], retry: 0 } };\n`,
);
const accepts = files.some((file) => !isNative(file)) ? typeChecker() : undefined;
if (files.some(isNative) && !build("x.cc")) {
  console.error("error: the addon does not build without a mutant\nhint: run 'npm run build'");
  process.exit(1);
}

/** Returns a map from each module to those that import it. Paths are from the root. */
function importers() {
  const map = new Map();
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

/** Returns the tests of the short suites that reach a file over the fewest imports, at most eight. */
function nearestTests(file) {
  const seen = new Set([file]);
  for (let level = [file]; level.length > 0; ) {
    const above = [...new Set(level.flatMap((path) => imported.get(path) ?? []))].filter(
      (path) => !seen.has(path),
    );
    for (const path of above) seen.add(path);
    const tests = above.filter((path) => path.endsWith(".test.ts"));
    if (tests.length > 0) return tests.slice(0, 8);
    level = above;
  }
  return [];
}
const imported = importers();

const testWords = (file) =>
  isNative(file)
    ? ["run", "--project=!long-*", ...nativeTests(file)]
    : ["run", "--project=!long-*", ...nearestTests(file)];
const WIDE = ["run", "--project=!long-*"];
/** Seconds that the tests of a file take without a mutant; undefined if they fail. */
const baselines = new Map();
function baseline(file) {
  const words = testWords(file);
  if (!isNative(file) && words.length === 2) return undefined;
  const key = words.join(" ");
  if (!baselines.has(key)) {
    const began = performance.now();
    baselines.set(
      key,
      runTests(testWords(file), 600_000) === 0 ? (performance.now() - began) / 1000 : undefined,
    );
  }
  return baselines.get(key);
}

const counts = { noticed: 0, survived: 0, refused: 0, unusable: 0 };
const survivors = [];
const began = performance.now();
for (const mutant of shuffled(mutants)) {
  if (performance.now() - began > 60_000 * minutes) break;
  const { file, line, kind } = mutant;
  const text = texts.get(file);
  const changed = mutated(text, mutant);
  const path = join(copy, file);
  const show = (result) => console.error(`${result.padEnd(9)} ${file}:${line} ${kind}`);
  const restore = () => writeFileSync(path, text);
  if (!isNative(file) && !accepts(file, changed)) {
    counts.refused++;
    continue;
  }
  const seconds = baseline(file);
  if (seconds === undefined) {
    counts.unusable++;
    show("unusable");
    continue;
  }
  writeFileSync(path, changed);
  if (isNative(file) && !build(file)) {
    counts.refused++;
    restore();
    continue;
  }
  let noticed = runTests(testWords(file), Math.round(1000 * (30 + 4 * seconds))) !== 0;
  if (!noticed && wide) noticed = (!isNative(file) && !build(file)) || runTests(WIDE, 1_800_000) !== 0;
  restore();
  if (noticed) counts.noticed++;
  else {
    counts.survived++;
    const sourceLine = (of) => of.split("\n")[line - 1].trim();
    survivors.push({ place: `${file}:${line}`, kind, before: sourceLine(text), after: sourceLine(changed) });
  }
  show(noticed ? "noticed" : "survived");
}
if (files.some(isNative)) build("x.cc");

const judged = counts.noticed + counts.survived;
const report = {
  what: `mutation testing, ${wide ? "all short suites" : "the tests near each file"}: npm run test:mutate`,
  ...describeRun(),
  seed,
  minutes: Math.round((performance.now() - began) / 6000) / 10,
  files: files.length,
  mutants: mutants.length,
  judgedPercent: Math.round((1000 * judged) / mutants.length) / 10,
  noticedPercent: judged === 0 ? 0 : Math.round((1000 * counts.noticed) / judged) / 10,
  ...counts,
  survivors,
  rows: [{ kind: "measured", ...counts }],
};
for (const { place, before, after } of survivors)
  console.log(`survived  ${place}\n  - ${before}\n  + ${after}`);
console.log(
  `${counts.noticed} of ${judged} mutants noticed (${report.noticedPercent} %), ${counts.refused} refused by the compiler`,
);
if (out !== undefined) writeFileSync(resolve(out), formatResult(report));
