// SPDX-License-Identifier: Apache-2.0
// ESAW and ESMP against Table IV of Yu et al. 2010: mean of Middlebury v2's twelve figures at most 0.3 above the paper's, with the
// paper's numbers of disparities, through the command's own way of reading and matching; and with what the paper does not have.
import { join } from "node:path";
import { expect, test } from "vitest";
import { createEngine } from "../../../cuda/index.js";
import { loadConfig } from "../../../edge/config/index.js";
import { engineMatcher, evaluate, readDataset, readScene } from "../../../edge/eval/index.js";
import { needsData } from "../../doubles/needs.js";

/** The paper's sizes: 450x375x60 for teddy and cones; tsukuba and venus with their usual ones. */
const LABELS: Record<string, number> = { tsukuba: 16, venus: 20, teddy: 60, cones: 60 };
const PLAIN = ["leftRight=false", "speckleSize=0", "fill=off", "boundary=false"].map(
  (set) => `refine.${set}`,
);

/** Middlebury v2's mean of twelve figures. */
async function badPercent(set: string[]): Promise<number | null> {
  const { config } = loadConfig({
    environment: {},
    set: ["board=none", "engine.backend=cpu", ...set],
  });
  const entries = await readDataset(join(process.env.DEPTHWATT_DATA!, "midd_v2"));
  const scenes = await Promise.all(entries.map((entry) => readScene(entry, true)));
  for (const scene of scenes) {
    expect(scene.format).toBe("RGB8");
    scene.numDisparities = LABELS[scene.name]!;
  }
  const match = engineMatcher({ config, fixedNumDisparities: false, frames: 1, createEngine });
  const { mean } = await evaluate(scenes, match);
  return mean.middleburyV2BadPercent;
}

needsData("midd_v2/dataset.json").suite("Table IV of Yu et al. 2010", () => {
  test.each([
    ["esaw-5", 9.6, ["match.algorithm=esaw", "match.esaw.steps=5", "match.esaw.basePercent=260"]],
    ["esaw-9", 8.2, ["match.algorithm=esaw"]],
    ["esmp-8", 7.42, ["match.algorithm=esmp"]],
  ])("%s: at most 0.3 above the paper's %f %%", async (_, paper, set) => {
    const percent = await badPercent([...PLAIN, ...set]);
    expect(percent).toBeLessThan(paper + 0.3);
    expect(percent).toBeGreaterThan(paper - 0.5);
  });

  const gradients = (matcher: string) => [
    `${matcher}.gradientTruncation=4`,
    `${matcher}.gradientPercent=400`,
  ];
  const esaw = ["match.algorithm=esaw", ...gradients("match.esaw")];
  // Proportions of the paper's, and small enough for gradients next to them.
  const esmp = ["lambdaThousandths=99", "slopeThousandths=660", "capTenThousandths=248"].map(
    (set) => `match.esmp.${set}`,
  );
  test.each([
    ["esaw-5", 7.7, [...esaw, "match.esaw.steps=5", "match.esaw.basePercent=260"]],
    ["esaw-9", 6.6, esaw],
    ["esmp-8", 5.9, ["match.algorithm=esmp", ...gradients("match.esmp"), ...esmp]],
  ])("%s with gradients, left-right check, filling and borders: at most %f %%", async (_, goal, set) => {
    expect(await badPercent(["refine.speckleSize=0", ...set])).toBeLessThan(goal);
  });
});
