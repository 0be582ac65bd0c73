// SPDX-License-Identifier: Apache-2.0
// Every test file belongs to one suite, the budgets keep to what `npm test` and `npm run test:all` may take, and a stale build is noticed.
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../../core/index.js";
import { isBuilt, sourcesKey } from "../../scripts/build-stamp.mjs";
import { overBudget, repeatLine } from "../doubles/run-report.js";
import {
  chosenSuites,
  filesAtOnce,
  findSuite,
  LONGEST,
  longestFirst,
  SUITES,
  sharesProcesses,
  testFiles,
} from "../suites.js";

const files = testFiles();
const isLong = ({ name }: { name: string }) => name.startsWith("long-");
const isNightly = ({ name }: { name: string }) => name.startsWith("nightly-");
const isApart = ({ name }: { name: string }) => name.startsWith("apart-");

test("every test file belongs to exactly one suite", () => {
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((path) => findSuite(path) === undefined)).toEqual([]);
  const starts = SUITES.flatMap((suite) => suite.files);
  expect(starts.filter((start, index) => starts.indexOf(start) !== index)).toEqual([]);
  expect(new Set(SUITES.map(({ name }) => name)).size).toBe(SUITES.length);
});

test("what a suite names is there", () => {
  const removed = SUITES.flatMap((suite) => suite.files).filter(
    (start) => !files.some((path) => path.startsWith(start) && findSuite(path)?.files.includes(start)),
  );
  expect(removed).toEqual([]);
});

test("the longest files exist, belong to no short suite and start first; the others keep their order", () => {
  const isShort = (path: string) => sharesProcesses(findSuite(path)!);
  expect(LONGEST.filter((path) => !files.includes(path) || isShort(path))).toEqual([]);
  const [first, second] = LONGEST;
  const paths = ["z.test.ts", second!, "a.test.ts", first!];
  expect(longestFirst(paths, (path) => path)).toEqual([first, second, "z.test.ts", "a.test.ts"]);
});

test("the longest beginning decides", () => {
  expect(findSuite("test/integration/run.test.ts")?.name).toBe("integration");
  expect(findSuite("test/integration/cuda-engine.test.ts")?.name).toBe("long-gpu");
  expect(findSuite("test/elsewhere/x.test.ts")).toBeUndefined();
});

test("a file that replaces a module belongs to a suite whose files do not share a process: add it to the suite mocks", () => {
  const replaces = (path: string) => /^vi\.(mock|doMock)\(/m.test(readFileSync(path, "utf8"));
  const mocking = files.filter((path) => replaces(path));
  expect(mocking.length).toBeGreaterThan(5);
  expect(mocking.filter((path) => sharesProcesses(findSuite(path)!))).toEqual([]);
  expect(files.filter((path) => findSuite(path)?.name === "mocks" && !replaces(path))).toEqual([]);
});

test("the budgets fit: half a minute for build and checks, npm test in 4 minutes, test:all in 40", () => {
  const wallSeconds = (suites: typeof SUITES) =>
    30 + suites.reduce((sum, suite) => sum + suite.budgetSeconds / filesAtOnce(suite), 0);
  const short = SUITES.filter((suite) => !isLong(suite) && !isNightly(suite) && !isApart(suite));
  expect(wallSeconds(short)).toBeLessThanOrEqual(4 * 60);
  expect(wallSeconds(SUITES.filter(isLong))).toBeLessThanOrEqual(40 * 60);
});

test("the scripts choose by the name, and CI runs both halves once", () => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(scripts.test).toMatch(/vitest run '--project=!long-\*'$/);
  expect(scripts["test:all"]).toMatch(/vitest run '--project=long-\*'$/);
  expect(scripts["test:apart"]).toMatch(/vitest run '--project=apart-\*' --no-file-parallelism$/);
  expect(scripts["test:nightly"]).toMatch(/vitest run '--project=!apart-\*' --sequence.shuffle$/);
  const ci = readFileSync(".ci/run", "utf8");
  const steps = ci.match(/^npm .+$/gm);
  expect(steps).toEqual(["npm run test:setup -- --long", "npm ci", "npm test", "npm run test:all"]);
  const onlyIfChanged = [
    ...ci.matchAll(
      /^if \.ci\/changed .+; then\n +(?:nightly\+=\(|npx vitest run )--project=([\w-]+)\)?\nfi$/gm,
    ),
  ];
  expect(onlyIfChanged.map(([, name]) => name)).toEqual(SUITES.filter(isNightly).map(({ name }) => name));
  expect(ci).toMatch(/^if \[ \$\{#nightly\[@\]\} -gt 0 \]; then npx vitest run "\$\{nightly\[@\]\}"; fi$/m);
});

test("CI leaves a nightly suite out only if its files are surely unchanged", () => {
  const repository = mkdtempSync(join(tmpdir(), "depthwatt-changed-"));
  const run = (program: string, ...words: string[]) =>
    spawnSync(program, words, { cwd: repository, env: { ...process.env, CI_BASE: base } }).status;
  let base = "";
  const git = (...words: string[]) => {
    const identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
    expect(run("git", ...identity, ...words)).toBe(0);
  };
  const commit = (path: string) => {
    mkdirSync(dirname(join(repository, path)), { recursive: true });
    writeFileSync(join(repository, path), "");
    git("add", "-A");
    git("commit", "-qm", "change");
  };
  const changed = (...patterns: string[]) => run(resolve(".ci/changed"), ...patterns) === 0;
  git("init", "-q");
  commit("a.ts");
  commit("core/b.h");
  commit("c.ts");
  // The base of an ordinary commit is unknown.
  expect(changed("*.h")).toBe(true);
  base = "HEAD^";
  expect([changed("*.h"), changed("*.ts")]).toEqual([false, true]);
  base = "HEAD^^";
  expect([changed("*.h"), changed("core"), changed("d.ts")]).toEqual([true, true, false]);
  base = "0123456789012345678901234567890123456789";
  expect(changed("*.h")).toBe(true);
  base = "";
  git("checkout", "-qb", "side", "HEAD^");
  commit("side.md");
  git("merge", "-q", "--no-edit", "main");
  expect([changed("c.ts"), changed("side.md")]).toEqual([true, false]);
  rmSync(repository, { recursive: true });
});

const suiteBudget = (name: string) => SUITES.find((suite) => suite.name === name)!.budgetSeconds;

test("a suite apart or nightly is there only for those who ask for it", () => {
  const projects = (words: string[]) => chosenSuites(words).map(({ name }) => name);
  const apart = SUITES.filter((suite) => isApart(suite) || isNightly(suite)).map(({ name }) => name);
  expect(apart.length).toBeGreaterThan(0);
  expect(projects(["run", "--project=!long-*"]).filter((name) => apart.includes(name))).toEqual([]);
  expect(projects(["run", "--project=apart-*"])).toEqual(expect.arrayContaining(apart));
  expect(projects(["run", "--project=!apart-*"])).toEqual(expect.arrayContaining(apart));
  expect(projects(["run", "--project", apart[0]!])).toContain(apart[0]);
  expect(projects(["run", "test/compilers/addon.test.ts"])).toContain("nightly-compilers");
});

test("a failure is printed with the command that repeats it", () => {
  const line = repeatLine("test/a.test.ts", "a suite > draws 3.5 (twice)");
  expect(line).toContain("npx vitest run test/a.test.ts -t 'a suite draws 3\\.5 \\(twice\\)'");
  for (const name of ["DEPTHWATT_SEED", "V4L2_CAMERA_SEED"]) {
    expect(process.env[name]).toMatch(/^\d+$/);
    expect(line).toContain(`${name}=${process.env[name]} `);
  }
});

test("a run says what each suite took, and in CI warns of one beyond its budget", () => {
  const stages = suiteBudget("stages");
  const took = new Map([
    ["stages", stages + 1.2],
    ["unit", 17],
  ]);
  expect(overBudget(took, false)).toEqual([
    `suite    unit 17 s of ${suiteBudget("unit")} s`,
    `suite    stages ${stages + 1} s of ${stages} s`,
  ]);
  expect(overBudget(took, true)).toContain(
    `warning  suite stages took ${stages + 1} s, more than its budget of ${stages} s`,
  );
  expect(overBudget(took, true)).toHaveLength(3);
});

describe("a stale build", () => {
  test("the tests run against the sources as they are", () => {
    expect(isBuilt(packageRoot())).toBe(true);
  });

  test("an edited, a new and a deleted source are noticed; a page and a result are not", () => {
    const root = mkdtempSync(join(tmpdir(), "depthwatt-stamp-"));
    const write = (path: string, text: string) => {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    };
    for (const path of ["core/a.ts", "camera/v4l2/src/b.ts", "cuda/c.inl.h", "board-configs/d.json"])
      write(path, "1");
    const keys = [sourcesKey(root)];
    for (const path of ["core/README.md", "camera/v4l2/dist/b.js", "camera/v4l2/build.lock", "test/e.ts"])
      write(path, "1");
    expect(sourcesKey(root)).toBe(keys[0]);
    for (const path of ["core/a.ts", "camera/v4l2/src/b.ts", "cuda/c.inl.h", "board-configs/d.json"]) {
      write(path, "22");
      keys.push(sourcesKey(root));
    }
    write("edge/new.ts", "1");
    keys.push(sourcesKey(root));
    rmSync(join(root, "core/a.ts"));
    keys.push(sourcesKey(root));
    expect(new Set(keys).size).toBe(7);
    rmSync(root, { recursive: true });
  });

  test("two builds at once follow each other; one that fails leaves the older record", async () => {
    const root = mkdtempSync(join(tmpdir(), "depthwatt-build-"));
    mkdirSync(join(root, "scripts"));
    for (const name of ["build.mjs", "build-stamp.mjs"])
      cpSync(join("scripts", name), join(root, "scripts", name));
    symlinkSync(resolve("node_modules"), join(root, "node_modules"));
    writeFileSync(join(root, "package.json"), JSON.stringify({ scripts: { "build:ts": "echo end >> log" } }));
    writeFileSync(
      join(root, "scripts/build-native.mjs"),
      "import { appendFileSync } from 'node:fs';\nappendFileSync('log', 'begin\\n');\n",
    );
    writeFileSync(join(root, "scripts/facts.mjs"), "");
    const build = () =>
      new Promise<number | null>((done) => {
        spawn(process.execPath, [join(root, "scripts/build.mjs")], { stdio: "ignore" }).on("close", done);
      });
    expect(await Promise.all([build(), build()])).toEqual([0, 0]);
    expect(readFileSync(join(root, "log"), "utf8")).toBe("begin\nend\nbegin\nend\n");
    expect(isBuilt(root)).toBe(true);
    writeFileSync(join(root, "scripts/facts.mjs"), "process.exit(3);\n");
    const before = readFileSync(join(root, "build/built"), "utf8");
    expect(await build()).toBe(1);
    expect(readFileSync(join(root, "build/built"), "utf8")).toBe(before);
    expect(isBuilt(root)).toBe(false);
    rmSync(root, { recursive: true });
  });
});
