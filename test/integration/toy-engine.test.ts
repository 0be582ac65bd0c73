// SPDX-License-Identifier: Apache-2.0
// Follows docs/internals/extend-engine.md: a stage and a matcher are a folder and one line, a parameter of a matcher is a line in
// the matcher's own folder. All are added to one copy of the tree, which is built once.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addMatcher } from "../doubles/toys/matcher.js";
import { addParameter } from "../doubles/toys/parameter.js";
import { addStage, addWideStage } from "../doubles/toys/stage.js";
import { TreeCopy } from "../doubles/tree-copy.js";

const PROGRAM = `
  import { createEngine, STAGE_NAMES } from "./dist/cuda/index.js";
  import { loadConfig } from "./dist/edge/config/index.js";
  const compute = async (set) => {
    const { config } = loadConfig({ environment: {}, set: ["board=none", ...set] });
    const engine = createEngine({
      inputWidth: 96, inputHeight: 40, width: 96, height: 40, leftFormat: "GREY", rightFormat: "GREY",
      leftStrideBytes: 96, rightStrideBytes: 96, threads: 1, slots: 2, backend: "cpu",
      match: { algorithm: "sgm", halfResolution: false, minDisparity: 0, numDisparities: 16, parameters: {} },
      refine: config.refine,
    });
    const image = Uint8Array.from({ length: 96 * 40 }, (_, i) => (i * i * 31 + (i >> 5)) % 251);
    await engine.compute(image, image);
    const ran = STAGE_NAMES.filter((_, stage) => !Number.isNaN(engine.stageMilliseconds[stage]));
    const map = [...engine.slots[0].disparityQ4];
    engine.close();
    return { ran, map };
  };
  const off = await compute([]), on = await compute(["refine.toyShift=3"]);
  const valid = off.map.flatMap((d, i) => (d === -32768 ? [] : [i]));
  console.log(JSON.stringify({
    ran: on.ran, idle: off.ran.includes("shift"), valid: valid.length,
    shifted: valid.every((i) => on.map[i] === off.map[i] + 48),
  }));
`;

const [WIDTH, HEIGHT] = [64, 48];
/** 1/16 px by where the pixel is: a red rectangle on blue, brighter in grey than a red of 76 would be automatically. */
const isRed = (x: number, y: number) => x >= 16 && x < 40 && y >= 12 && y < 36;

let tree: TreeCopy;
const changed: Record<string, readonly string[]> = {};
beforeAll(async () => {
  tree = new TreeCopy();
  changed.wide = tree.add(addWideStage);
  changed.stage = tree.add(addStage);
  changed.matcher = tree.add(addMatcher);
  changed.parameter = tree.add(addParameter);
  await tree.build("build");
  const picture = new Uint8Array(3 * WIDTH * HEIGHT);
  for (let y = 0; y < HEIGHT; y++)
    for (let x = 0; x < WIDTH; x++)
      picture.set(isRed(x, y) ? [250, 10, 10] : [10, 90, 90], 3 * (y * WIDTH + x));
  writeFileSync(join(tree.root, "pair.rgb"), picture);
}, 960_000);
afterAll(() => tree.remove());

test("a stage runs at its place, by its setting, and one file outside its folder has changed", () => {
  const { stdout, stderr, status } = tree.evaluate(PROGRAM);
  expect(status, stderr).toBe(0);
  const { ran, idle, valid, shifted } = JSON.parse(stdout);
  expect(ran.indexOf("shift")).toBe(ran.indexOf("median") + 1);
  expect({ idle, shifted }).toEqual({ idle: false, shifted: true });
  expect(valid).toBeGreaterThan(1000);
  expect(changed.stage).toEqual(["cuda/stages.h"]);
});

const RUN = ["run", "--broker", "none", "--frames", "2", "--json", "--set", "engine.backend=cpu"];

test("the program runs the stage", () => {
  const { stdout, stderr, status } = tree.run(...RUN, "--set", "refine.toyShift=2");
  expect(status, stderr).toBe(0);
  const figures = JSON.parse(stdout.trim().split("\n").at(-1)!);
  expect(Object.keys(figures.stages)).toContain("shift");
});

test.each([
  [
    "a setting out of its range",
    "10",
    /refine\.toyShift .*expected a whole number from 0 to 9 \(px\), got 10/,
  ],
  ["a stage that cannot be opened", "8", /Stage shift: Expected a shift that suits the toy, got 8/],
  ["a stage that fails in a frame", "9", /Stage shift: Expected luck, got none/],
])("%s is an error that names it", (_, shift, message) => {
  const { stderr, status } = tree.run(...RUN, "--set", `refine.toyShift=${shift}`);
  expect(status).not.toBe(0);
  expect(stderr).toMatch(message);
});

const LIVE = `
  import { loadConfig } from "./dist/edge/config/index.js";
  import { openRuntime } from "./dist/edge/run/main.js";
  const set = [
    "board=none", "engine.backend=cpu", "outputs.mqtt.broker=none", "outputs.viewer.enabled=false", "power.sensor=none",
    "source.synthetic.width=96", "source.synthetic.height=64", "source.synthetic.rateHz=200", "match.numDisparities=16",
  ];
  const { config } = loadConfig({ environment: {}, set });
  const runtime = await openRuntime(config, undefined, { onNotice: () => {} });
  const ended = runtime.run().then(() => "no error", (error) => error.message);
  const { pipeline, source, reporter } = runtime.parts;
  const frames = async (count) => {
    while (pipeline.frames < count) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await frames(3);
  const refused = await runtime.apply({ "refine.toyShift": 8 }).then(() => "no error", (error) => error.message);
  const { toyShift } = runtime.config.refine;
  await frames(pipeline.frames + 3);
  await runtime.apply({ "refine.toyShift": 9 });
  const failed = await ended;
  const { frames: computed, drops } = reporter.figures("run");
  // A busy machine draws some pairs too late: the source counts these, and not as pairs.
  const ofPairs = Object.entries(drops).filter(([cause]) => !/^(left|right)\\./.test(cause));
  const accounted = ofPairs.reduce((sum, [, count]) => sum + count, computed);
  console.log(JSON.stringify({ refused, toyShift, failed, drops, lost: source.counters().pairs - accounted }));
`;

test("in a running program a stage that cannot be opened changes nothing, one that fails ends it, and no pair is lost", () => {
  const { stdout, stderr, status } = tree.evaluate(LIVE);
  expect(status, stderr).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    refused: expect.stringContaining("Stage shift: Expected a shift that suits the toy, got 8."),
    toyShift: 0,
    failed: expect.stringContaining("Stage shift: Expected luck, got none."),
    drops: { engineFailed: expect.any(Number) },
    lost: 0,
  });
});

test("a stage that leaves another size than the next one reads is refused with both names", () => {
  const wide = [...RUN, "--set", "refine.toyWide=true"];
  const { stderr, status } = tree.run(...wide, "--set", "match.halfResolution=true");
  expect(status).not.toBe(0);
  expect(stderr).toMatch(
    /Stage toyWide: Expected a disparity of \d+x\d+, which upscale reads; it leaves \d+x\d+/,
  );
  // At full resolution both sizes are the same.
  expect(tree.run(...wide, "--set", "match.halfResolution=false").status).toBe(0);
});

const COLOURS = [
  "--source",
  "command",
  "--set",
  "source.command.left=cat pair.rgb",
  "--set",
  "source.command.right=cat pair.rgb",
  "--set",
  "source.command.live=false",
  "--set",
  "source.command.format=RGB8",
  "--set",
  `source.command.width=${WIDTH}`,
  "--set",
  `source.command.height=${HEIGHT}`,
  "--set",
  "engine.backend=cpu",
];
const PLAIN = ["fill=off", "boundary=false", "median=false", "speckleSize=0"].flatMap((set) => [
  "--set",
  `refine.${set}`,
]);
const MATCH = ["run", ...COLOURS, "--algorithm", "toy", "--broker", "none", "--json", ...PLAIN];

test("a matcher runs, and one file outside its folder has changed", () => {
  const { stdout, stderr, status } = tree.run(...MATCH);
  expect(status, stderr).toBe(0);
  const figures = JSON.parse(stdout.trim().split("\n").at(-1)!);
  expect(figures).toMatchObject({ frames: 1, algorithm: "toy", validPercent: 100, drops: {} });
  expect(changed.matcher).toEqual(["cuda/match/matchers.h"]);
}, 120_000);

test("the matcher sees real red: disparity 5 there and 0 elsewhere, at half resolution too", () => {
  const program = `
    import { readFileSync } from "node:fs";
    import { createEngine } from "./dist/cuda/index.js";
    import { loadConfig } from "./dist/edge/config/index.js";
    import { engineOptionsFrom } from "./dist/edge/pipeline/engine-options.js";
    import { uncalibrated } from "./dist/edge/pipeline/geometry.js";
    const [width, height] = [${WIDTH}, ${HEIGHT}];
    const layout = { leftFormat: "RGB8", rightFormat: "RGB8", leftStrideBytes: 3 * width, rightStrideBytes: 3 * width };
    const answer = {};
    for (const [name, ...more] of [["whole"], ["half", "match.halfResolution=true"], ["three", "match.toy.red=3"]]) {
      const plain = ["fill=off", "boundary=false", "median=false", "speckleSize=0"].map((set) => "refine." + set);
      const set = ["board=none", "engine.backend=cpu", "match.algorithm=toy", ...plain, ...more];
      const { config } = loadConfig({ environment: {}, set });
      const source = { description: { width, height, ...layout } };
      const engine = createEngine(engineOptionsFrom(config, source, uncalibrated(width, height), {}));
      const picture = new Uint8Array(readFileSync("pair.rgb"));
      await engine.compute(picture, picture);
      answer[name] = [...engine.slots[0].disparityQ4];
      engine.close();
    }
    console.log(JSON.stringify(answer));
  `;
  const { stdout, stderr, status } = tree.evaluate(program);
  expect(status, stderr).toBe(0);
  const { whole, half, three } = JSON.parse(stdout) as Record<string, number[]>;
  const expected = (red: number) =>
    Array.from({ length: WIDTH * HEIGHT }, (_, i) =>
      isRed(i % WIDTH, Math.floor(i / WIDTH)) ? 16 * red : 0,
    );
  expect(whole).toEqual(expected(5));
  expect(three).toEqual(expected(3));
  // Half the disparity's pixels are twice as wide: 5 of them are 10.
  expect(half![24 * WIDTH + 28]).toBe(160);
  expect(half![4 * WIDTH + 4]).toBe(0);
}, 120_000);

test("the settings of the matcher are checked and explained", () => {
  expect(tree.run("config", "explain", "match.toy.red").stdout).toContain("from 1 to 7 (px)");
  expect(tree.run("run", "--help").stdout).toContain("toy");
  const wrong = tree.run(...MATCH, "--set", "match.toy.red=8");
  expect(wrong.status).toBe(2);
  expect(wrong.stderr).toContain("match.toy.red");
  const unknown = tree.run(...MATCH, "--set", "match.toy.blue=1");
  expect(unknown.status).toBe(2);
  expect(unknown.stderr).toContain("match.toy.blue");
}, 120_000);

test("a parameter of a matcher changes no file outside the matcher's folder", () => {
  const of = (...set: string[]) => {
    // At full rate no frame is dropped, so each run computes the same two.
    const words = [...RUN, "--rate", "max", "--algorithm", "sad", ...set.flatMap((one) => ["--set", one])];
    const { stdout, stderr, status } = tree.run(...words);
    expect(status, stderr).toBe(0);
    return JSON.parse(stdout.trim().split("\n").at(-1)!).matchedPercent as number;
  };
  const wide = of("match.sad.windowWidth=7");
  expect(of("match.sad.toyWidth=7")).toBe(wide);
  expect(of()).not.toBe(wide);
  expect(tree.run("config", "explain", "match.sad.toyWidth").stdout).toContain("from 0 to 7 (px)");
  expect(changed.parameter).toEqual(["cuda/match/sad/sad.cpu.cc"]);
}, 120_000);
