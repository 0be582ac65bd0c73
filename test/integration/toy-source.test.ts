// SPDX-License-Identifier: Apache-2.0
// A source of one's own, as CONTRIBUTING says: a folder and a line in the list, then `depthwatt run --source toy`.
import { afterAll, beforeAll, expect, test } from "vitest";
import { TreeCopy } from "../doubles/tree-copy.js";

const SETTINGS = `// SPDX-License-Identifier: Apache-2.0
// Settings of the toy.
import { z } from "zod";
import { section, setting } from "../../contracts/setting.js";

export const toySettings = section("Three pairs, constructed.", {
  disparity: setting(z.int().min(0).max(15), {
    default: 5,
    unit: "px",
    description: "How far the pattern stands further left in the right image.",
  }),
});
`;

const OPEN = `// SPDX-License-Identifier: Apache-2.0
// The source "toy": three pairs of a pattern that the right camera sees further left.
import { greyPairLayout, type PairSource, type RawImage } from "../../../camera/index.js";
import { defineSource } from "../../contracts/source.js";
import { toySettings } from "./settings.js";

const WIDTH = 64;
const HEIGHT = 32;

const grey = (x: number, y: number) => ((x * 7919 + y * 104729) ^ (x * y)) & 255;

function camera(shift: number, sequence: number): RawImage {
  const data = new Uint8Array(WIDTH * HEIGHT);
  for (let at = 0; at < data.length; at++) data[at] = grey((at % WIDTH) + shift, Math.floor(at / WIDTH));
  const timestampNs = process.hrtime.bigint();
  return { data, width: WIDTH, height: HEIGHT, strideBytes: WIDTH, format: "GREY", timestampNs, sequence };
}

function pairsOf(disparity: number): PairSource {
  let pairs = 0;
  let held = 0;
  let stopped = false;
  let idle = () => {};
  return {
    description: { title: "toy", ...greyPairLayout(WIDTH, HEIGHT), rateHz: undefined, clock: "monotonic" },
    start(events) {
      const next = () => {
        if (stopped) return;
        if (pairs === 3) return events.onEnd();
        held++;
        const sequence = pairs++;
        const release = () => {
          if (--held === 0) idle();
          setImmediate(next);
        };
        events.onPair({ left: camera(0, sequence), right: camera(disparity, sequence), clock: "monotonic", release });
      };
      setImmediate(next);
    },
    async stop() {
      stopped = true;
      if (held > 0) await new Promise<void>((resolve) => (idle = resolve));
    },
    counters: () => ({
      pairs, dropsLeft: {}, dropsRight: {}, skewMsMean: 0, skewMsP99: 0, driftPpm: undefined,
    }),
  };
}

export const toy = defineSource({
  summary: "three constructed pairs",
  settings: toySettings,
  open: async ({ disparity }) => ({ source: pairsOf(disparity) }),
});
`;

let tree: TreeCopy;
beforeAll(async () => {
  tree = new TreeCopy();
  tree.put("edge/sources/toy/settings.ts", SETTINGS);
  tree.put("edge/sources/toy/open.ts", OPEN);
  tree.replace(
    "edge/sources/list.ts",
    "export { synthetic }",
    'export { toy } from "./toy/open.js";\nexport { synthetic }',
  );
  await tree.build("build:ts");
}, 960_000);
afterAll(() => tree.remove());

const RUN = ["run", "--source", "toy", "--broker", "none", "--json", "--set", "match.numDisparities=16"];

test("three pairs in, three frames out, and one file outside its folder has changed", () => {
  const { stdout, stderr, status } = tree.run(...RUN);
  expect(status, stderr).toBe(0);
  const figures = JSON.parse(stdout.trim().split("\n").at(-1)!);
  expect(figures).toMatchObject({ frames: 3, width: 64, height: 32, drops: {} });
  expect(figures.validPercent).toBeGreaterThan(90);
  expect(tree.changed).toEqual(["edge/sources/list.ts"]);
}, 120_000);

test("its settings, its name in help and its refusals came with it", () => {
  expect(tree.run("config", "explain", "source.toy.disparity").stdout).toContain("from 0 to 15 (px)");
  expect(tree.run("run", "--help").stdout).toContain("toy");
  const wrong = tree.run(...RUN, "--set", "source.toy.disparity=16");
  expect(wrong.status).toBe(2);
  expect(wrong.stderr).toContain("source.toy.disparity");
  const left = tree.run(...RUN, "--left", "x");
  expect(left.stderr).toContain('expected "command", "replay" or "v4l2" beside --left, got "toy"');
  expect(tree.run(...RUN.with(2, "toyy")).stderr).toContain('did you mean "toy"?');
}, 120_000);
