// SPDX-License-Identifier: Apache-2.0
// A matcher added as CONTRIBUTING says: a folder and a line in one list, then `depthwatt run --algorithm toy`. It asks for
// colours and finds disparity 5 where the left pixel is red.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TreeCopy } from "../doubles/tree-copy.js";

const DESCRIPTION = "Disparity of what is red.";

const CPU = `// SPDX-License-Identifier: Apache-2.0
// The toy on the CPU.
#include "../matcher.h"

namespace depthwatt {
namespace {

constexpr Setting kParameters[] = {wholeNumber("red", 1, 7, 5, "px", "${DESCRIPTION}")};
constexpr MatcherFacts kFacts = {"toy", "red or not", ImagesNeeded::kGreyAndRgb, false, kParameters, 1,
                                 {nullptr, 0, 0, nullptr, 4}, nullptr};

class Toy final : public CpuMatcher {
 public:
  explicit Toy(const MatchTask& task) : red_(task.matcher.at("red")) {}
  void compute(const MatcherImages& images, const MatcherResult& result) override {
    for (int32_t y = 0; y < images.leftRgb.height; ++y) {
      for (int32_t x = 0; x < images.leftRgb.width; ++x) {
        const Rgb8 pixel = images.leftRgb.row(y)[x];
        const bool red = pixel.red > 200 && pixel.green < 60 && pixel.blue < 60;
        result.disparityQ4.row(y)[x] = static_cast<int16_t>(red ? 16 * red_ : 0);
        result.confidence.row(y)[x] = 255;
      }
    }
  }
  size_t workspaceBytes() const override { return 0; }

 private:
  const int32_t red_;
};

}  // namespace

const MatcherFacts& toyFacts() { return kFacts; }

Status openToyOnCpu(const MatchTask& task, InstructionSet, Workers&, std::unique_ptr<CpuMatcher>* opened) {
  opened->reset(new Toy(task));
  return {};
}

}  // namespace depthwatt
`;

const [WIDTH, HEIGHT] = [64, 48];
/** 1/16 px by where the pixel is: a red rectangle on blue, brighter in grey than a red of 76 would be by itself. */
const isRed = (x: number, y: number) => x >= 16 && x < 40 && y >= 12 && y < 36;

let tree: TreeCopy;
beforeAll(async () => {
  tree = new TreeCopy();
  tree.put("cuda/match/toy/toy.cpu.cc", CPU);
  const last = readFileSync(join(tree.root, "cuda/match/matchers.h"), "utf8").match(
    / {2}MATCHER\(\w+, \w+\)\n/,
  )![0];
  tree.replace("cuda/match/matchers.h", last, `${last.trimEnd()} \\\n  MATCHER(toy, Toy)\n`);
  await tree.build("build");
  const picture = new Uint8Array(3 * WIDTH * HEIGHT);
  for (let y = 0; y < HEIGHT; y++)
    for (let x = 0; x < WIDTH; x++)
      picture.set(isRed(x, y) ? [250, 10, 10] : [10, 90, 90], 3 * (y * WIDTH + x));
  writeFileSync(join(tree.root, "pair.rgb"), picture);
}, 960_000);
afterAll(() => tree.remove());

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
const RUN = ["run", ...COLOURS, "--algorithm", "toy", "--broker", "none", "--json", ...PLAIN];

test("it runs, and one file outside its folder has changed", () => {
  const { stdout, stderr, status } = tree.run(...RUN);
  expect(status, stderr).toBe(0);
  const figures = JSON.parse(stdout.trim().split("\n").at(-1)!);
  expect(figures).toMatchObject({ frames: 1, algorithm: "toy", validPercent: 100, drops: {} });
  expect(tree.changed).toEqual(["cuda/match/matchers.h"]);
}, 120_000);

test("it sees real red: disparity 5 there and 0 elsewhere, at half resolution too", () => {
  const program = `
    import { readFileSync } from "node:fs";
    import { createEngine } from "./dist/cuda/index.js";
    import { loadConfig } from "./dist/edge/config/index.js";
    import { engineOptionsOf } from "./dist/edge/pipeline/engine-options.js";
    import { uncalibrated } from "./dist/edge/pipeline/geometry.js";
    const [width, height] = [${WIDTH}, ${HEIGHT}];
    const layout = { leftFormat: "RGB8", rightFormat: "RGB8", leftStrideBytes: 3 * width, rightStrideBytes: 3 * width };
    const answer = {};
    for (const [name, ...more] of [["whole"], ["half", "match.halfResolution=true"], ["three", "match.toy.red=3"]]) {
      const plain = ["fill=off", "boundary=false", "median=false", "speckleSize=0"].map((set) => "refine." + set);
      const set = ["board=none", "engine.backend=cpu", "match.algorithm=toy", ...plain, ...more];
      const { config } = loadConfig({ environment: {}, set });
      const source = { description: { width, height, ...layout } };
      const engine = createEngine(engineOptionsOf(config, source, uncalibrated(width, height), {}));
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

test("its settings came with it, and so did its refusals", () => {
  expect(tree.run("config", "explain", "match.toy.red").stdout).toContain("from 1 to 7 (px)");
  expect(tree.run("run", "--help").stdout).toContain("toy");
  const wrong = tree.run(...RUN, "--set", "match.toy.red=8");
  expect(wrong.status).toBe(2);
  expect(wrong.stderr).toContain("match.toy.red");
  const unknown = tree.run(...RUN, "--set", "match.toy.blue=1");
  expect(unknown.status).toBe(2);
  expect(unknown.stderr).toContain("match.toy.blue");
}, 120_000);
