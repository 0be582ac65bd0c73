// SPDX-License-Identifier: Apache-2.0
// Fig. 7 of Yu et al. 2010: on a ramp of disparities from 0 to 64 ESAW errs about twice as often as ESMP, with b as it is printed.
import { join } from "node:path";
import { expect, test } from "vitest";
import { rampFigures } from "../../../bench/papers/exponential-ramp.mjs";
import { needsData } from "../../doubles/needs.js";

needsData("midd_v2/dataset.json").suite("the ramp of Fig. 7", () => {
  test("ESAW's error is about twice ESMP's", async () => {
    const scenes = ["cones", "teddy", "tsukuba", "venus"];
    const all = await Promise.all(
      scenes.map((scene) => rampFigures(join(process.env.DEPTHWATT_DATA!, "midd_v2", scene, "left.png"))),
    );
    const mean = (name: string) => all.reduce((sum, { figures }) => sum + figures[name]!, 0) / all.length;
    const ratio = mean("esaw-9") / mean("esmp-8, b 2.80 as printed");
    expect(ratio).toBeGreaterThan(1.6);
    expect(ratio).toBeLessThan(2.4);
    for (const { figures } of all)
      expect(figures["esmp-8, b 2.80 as printed"]).toBeLessThan(figures["esaw-9"]!);
  }, 60_000);
});
