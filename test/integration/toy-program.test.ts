// SPDX-License-Identifier: Apache-2.0
// Follows docs/internals/extend-program.md: adds a source, an output, a command, a setting, a sensor and a board to one copy of the
// tree, which is built once.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunFigures } from "../../edge/run/figures.js";
import { addBoard } from "../doubles/toys/board.js";
import { addCommand } from "../doubles/toys/command.js";
import { addOutput } from "../doubles/toys/output.js";
import { addSensor } from "../doubles/toys/sensor.js";
import { addSetting } from "../doubles/toys/setting.js";
import { addSource } from "../doubles/toys/source.js";
import { TreeCopy } from "../doubles/tree-copy.js";

let tree: TreeCopy;
const changed: Record<string, readonly string[]> = {};
beforeAll(async () => {
  tree = new TreeCopy();
  changed.source = tree.add(addSource);
  changed.output = tree.add(addOutput);
  changed.command = tree.add(addCommand);
  changed.setting = tree.add(addSetting);
  changed.sensor = tree.add(addSensor);
  changed.board = tree.add(addBoard);
  await tree.build("build:ts");
}, 960_000);
afterAll(() => tree?.remove());

const SOURCE = ["run", "--source", "toy", "--broker", "none", "--json", "--set", "match.numDisparities=16"];

describe("a source", () => {
  test("three pairs in, three frames out, and one file outside its folder has changed", () => {
    const { stdout, stderr, status } = tree.run(...SOURCE);
    expect(status, stderr).toBe(0);
    const figures = JSON.parse(stdout.trim().split("\n").at(-1)!);
    expect(figures).toMatchObject({ frames: 3, width: 64, height: 32, drops: {} });
    expect(figures.validPercent).toBeGreaterThan(90);
    expect(changed.source).toEqual(["edge/sources/list.ts"]);
  }, 120_000);

  test("its settings, its name in help and its refusals came with it", () => {
    expect(tree.run("config", "explain", "source.toy.disparity").stdout).toContain("from 0 to 15 (px)");
    expect(tree.run("run", "--help").stdout).toContain("toy");
    const wrong = tree.run(...SOURCE, "--set", "source.toy.disparity=16");
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toContain("source.toy.disparity");
    const left = tree.run(...SOURCE, "--left", "x");
    expect(left.stderr).toMatch(/expected .*"v4l2".* with --left, got "toy"/);
    expect(tree.run(...SOURCE.with(2, "toyy")).stderr).toContain('did you mean "toy"?');
  }, 120_000);
});

const SMALL = ["source.synthetic.width=96", "source.synthetic.height=64", "match.numDisparities=16"];

function run(...words: string[]) {
  const set = SMALL.flatMap((setting) => ["--set", setting]);
  return tree.run("run", ...set, "--frames", "12", "--rate", "40", "--json", ...words);
}

function runFigures(...words: string[]): RunFigures & { outputs: { counter: Record<string, unknown> } } {
  const { stdout, stderr, status } = run(...words);
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

describe("an output", () => {
  test("costs one changed file", () => {
    expect(changed.output).toEqual(["edge/outputs/list.ts"]);
  });

  test("counts every frame, and gets the encoding it asks for", () => {
    const figures = runFigures("--broker", "none", "--set", "outputs.counter.enabled=true");
    expect(figures.outputs.counter).toMatchObject({
      sent: 12,
      bytes: 12 * 2 * figures.width * figures.height,
      problem: null,
    });
    expect(figures.outputs.counter.latencyMs).toEqual(figures.latencyMs);
    expect(figures.outputs.mqtt).toEqual({ available: false, reason: "outputs.mqtt.broker is none" });
  });

  test("is off unless asked for, and its settings are checked like all others", () => {
    expect(runFigures("--broker", "none").outputs.counter).toEqual({
      available: false,
      reason: "outputs.counter.enabled is false",
    });
    const wrong = run("--set", "outputs.counter.maner=good");
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toContain('did you mean "outputs.counter.manner"?');
  });

  test.each([
    ["throws", "failed", 12, "frame failed: it cannot count that far"],
    ["rejects", "failed", 12, "frame failed: it counts later"],
    ["holds", "held", 10, "it holds 2 frames and releases none"],
  ])("one that %s is counted, and MQTT gets every frame", (manner, cause, count, problem) => {
    const figures = runFigures(
      "--set",
      "outputs.counter.enabled=true",
      "--set",
      `outputs.counter.manner=${manner}`,
    );
    expect(figures.frames).toBe(12);
    expect(figures.drops[`counter.${cause}`]).toBe(count);
    expect(figures.outputs.counter).toMatchObject({ sent: 0, problem });
    expect(figures.outputs.mqtt).toMatchObject({ sent: 12, problem: null });
  });

  test("one that cannot be opened is a clear error at the start", () => {
    const ran = run("--set", "outputs.counter.enabled=true", "--set", "outputs.counter.manner=doesNotOpen");
    expect(ran.status).toBe(3);
    expect(ran.stderr).toContain("error: the output counter could not be opened: its pencil is blunt");
    expect(ran.stderr).toMatch(/^hint: /m);
  });
});

describe("a command", () => {
  test("runs, with its flags and its refusals, and one line outside its folder has changed", () => {
    expect(tree.run("toy", "hello").stdout).toBe("hello hello\n");
    expect(JSON.parse(tree.run("toy", "hello", "--times", "3", "--json").stdout)).toEqual({
      text: "hello hello hello",
    });
    const wrong = tree.run("toy", "hello", "--times", "10");
    expect(wrong.status).toBe(2);
    expect(wrong.stderr).toContain('expected --times to be a number from 1 to 9, got "10"');
    expect(tree.run("toy").stderr).toContain("missing required argument 'word'");
    expect(changed.command).toEqual(["edge/commands/list.ts"]);
  }, 120_000);

  test("is in help, completion and the suggestions for a mistyped name", () => {
    expect(tree.run("--help").stdout).toMatch(/^ {2}toy \[options\] <word> +print a word again and again$/m);
    expect(tree.run("toy", "--help").stdout).toMatch(/^ {2}word +word to print$/m);
    for (const shell of ["bash", "fish", "zsh"]) {
      const { stdout } = tree.run("completion", shell);
      expect(stdout).toContain("toy");
      expect(stdout).toMatch(/(?:--|-l )times/);
    }
    expect(tree.run("toyy").stderr).toContain("Did you mean toy?");
  }, 120_000);
});

describe("a setting", () => {
  const START = ["run", "--broker", "none", "--frames", "1", "--set", "match.numDisparities=16"];
  const sources = (stdout: string) => stdout.split("\n").filter((line) => line.startsWith("source ")).length;

  test("has its default, takes a value, and costs its section and its use", () => {
    expect(sources(tree.run(...START).stdout)).toBe(1);
    expect(sources(tree.run(...START, "--set", "log.toyRepeats=3").stdout)).toBe(3);
    expect(tree.run("config", "explain", "log.toyRepeats").stdout).toContain("from 1 to 5");
    expect(changed.setting).toEqual(["edge/config/schema-log.ts", "edge/cli/run/greeting.ts"]);
  }, 120_000);

  test("out of its range is an error that names it", () => {
    const { stderr, status } = tree.run(...START, "--set", "log.toyRepeats=6");
    expect(status).toBe(2);
    expect(stderr).toMatch(/log\.toyRepeats .*expected a whole number from 1 to 5, got 6/);
  }, 120_000);
});

describe("a power sensor", () => {
  test("measures a run when it is chosen, and automatically as a board's sensor", () => {
    for (const sensor of ["toy", "auto"]) {
      const { power } = runFigures("--broker", "none", "--frames", "90", "--set", `power.sensor=${sensor}`);
      expect(power).toMatchObject({ available: true, sensor: "toy", watts: expect.closeTo(2.5, 6) });
    }
    expect(changed.sensor).toEqual(["power/sensors.ts"]);
  }, 120_000);

  test("is a value of the setting and a line of boards", () => {
    expect(tree.run("config", "explain", "power.sensor").stdout).toContain('"toy"');
    const { detected } = JSON.parse(tree.run("boards", "--json").stdout.trim());
    expect(detected.sensors[0]).toMatchObject({ name: "toy", available: true, rails: [{ label: "TOY" }] });
  }, 120_000);
});

describe("a board", () => {
  test("is listed, and its settings apply below the user's", () => {
    const { boards } = JSON.parse(tree.run("boards", "--json").stdout.trim()) as {
      boards: { name: string; title: string }[];
    };
    expect(boards.find(({ name }) => name === "toy")).toMatchObject({ title: "Toy board" });
    const printed = (...words: string[]) =>
      tree.run("config", "--print", "--set", "board=toy", ...words).stdout;
    expect(printed()).toMatch(/match\.numDisparities.* 48 /);
    expect(printed("--set", "match.numDisparities=64")).toMatch(/match\.numDisparities.* 64 /);
    expect(changed.board).toEqual([]);
  }, 120_000);
});
