// SPDX-License-Identifier: Apache-2.0
// ESAW and ESMP against Table IV of Yu et al. 2010: mean of Middlebury v2's twelve figures at most 0.3 above the paper's, with the
// paper's numbers of disparities, through the command's own way of reading and matching.
import { join } from "node:path";
import { expect, test } from "vitest";
import { createEngine } from "../../../cuda/index.js";
import { loadConfig } from "../../../edge/config/index.js";
import { engineMatcher, evaluate, readDataset, readScene } from "../../../edge/eval/index.js";
import { needsData } from "../../doubles/needs.js";

/** Of the paper: 450x375x60 for teddy and cones; tsukuba and venus as they are always given. */
const LABELS: Record<string, number> = { tsukuba: 16, venus: 20, teddy: 60, cones: 60 };
const PLAIN = ["leftRight=false", "speckleSize=0", "fill=off", "boundary=false"].map(
  (set) => `refine.${set}`,
);

needsData("midd_v2/dataset.json").suite("Table IV of Yu et al. 2010", () => {
  test.each([
    ["esaw-5", 9.6, ["match.algorithm=esaw", "match.esaw.steps=5", "match.esaw.basePercent=260"]],
    ["esaw-9", 8.2, ["match.algorithm=esaw"]],
    ["esmp-8", 7.42, ["match.algorithm=esmp"]],
  ])("%s: at most 0.3 above the paper's %f %%", async (_, paper, set) => {
    const { config } = loadConfig({
      environment: {},
      set: ["board=none", "engine.backend=cpu", ...PLAIN, ...set],
    });
    const entries = await readDataset(join(process.env.DEPTHWATT_DATA!, "midd_v2"));
    const scenes = await Promise.all(entries.map((entry) => readScene(entry, true)));
    for (const scene of scenes) {
      expect(scene.format).toBe("RGB8");
      scene.numDisparities = LABELS[scene.name]!;
    }
    const match = engineMatcher({ config, fixedNumDisparities: false, frames: 1, createEngine });
    const { mean } = await evaluate(scenes, match);
    expect(mean.middleburyV2BadPercent).toBeLessThan(paper + 0.3);
    expect(mean.middleburyV2BadPercent).toBeGreaterThan(paper - 0.5);
  });
});
