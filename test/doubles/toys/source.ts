// SPDX-License-Identifier: Apache-2.0
// A toy source: its folder and one line in edge/sources/list.ts.
import type { TreeCopy } from "../tree-copy.js";

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

function toyPairs(disparity: number): PairSource {
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
  open: async ({ disparity }) => ({ source: toyPairs(disparity) }),
});
`;

export function addSource(tree: TreeCopy): void {
  tree.put("edge/sources/toy/settings.ts", SETTINGS);
  tree.put("edge/sources/toy/open.ts", OPEN);
  const next = "export { v4l2 }";
  tree.replace("edge/sources/list.ts", next, `export { toy } from "./toy/open.js";\n${next}`);
}
