// SPDX-License-Identifier: Apache-2.0
// A stage that runs several times in every frame, to find what it costs: the result stays what it was, and the stage really
// runs so often.
import { describe, expect, test } from "vitest";
import { type EngineOptions, STAGE_NAMES } from "../../cuda/index.js";
import { runInProcess } from "../doubles/command-line.js";
import { computeFrame, engineOptions } from "../doubles/engine-call.js";
import { runProgram } from "../doubles/program.js";
import { expectSameImage } from "../doubles/stages.js";
import { layeredPair } from "../doubles/stereo-pair.js";

const pair = layeredPair(160, 90, 3);
const geometry = { focalPixels: 400, baselineMetres: 0.12, disparityOffsetPixels: 0 };

const repeatOptions = (halfResolution: boolean, more: Partial<EngineOptions> = {}): EngineOptions => {
  const base = engineOptions(pair);
  const region = { x: 30, y: 11, width: 100, height: 60 };
  return {
    ...base,
    geometry,
    region,
    encodeDepth: "rvl",
    match: { ...base.match, halfResolution },
    ...more,
  };
};

describe.each(STAGE_NAMES)("%s, repeated", (stage) => {
  test("changes nothing in any result", async () => {
    for (const halfResolution of [true, false]) {
      const once = await computeFrame(pair, repeatOptions(halfResolution));
      if (!once.stages.includes(stage)) continue;
      const often = await computeFrame(
        pair,
        repeatOptions(halfResolution, { repeatStage: { stage, times: 4 } }),
      );
      for (const image of ["disparityQ4", "confidence", "depthMillimetres", "left"] as const)
        expectSameImage(often[image], once[image], pair.width, `half ${halfResolution}, ${image}`);
      expect(often.result).toEqual(once.result);
      expect(often.stages).toEqual(once.stages);
    }
  });
});

test.each([0, -1, 10_001])("%i runs are refused", async (times) => {
  const options = repeatOptions(false, { repeatStage: { stage: "median", times } });
  await expect(computeFrame(pair, options)).rejects.toMatchObject({
    code: "ENGINE_PARAMETER",
    message: `Expected 1 to 10000 runs of a repeated stage, got ${times}.`,
  });
});

describe("depthwatt bench --repeat-stage", () => {
  const size = ["--width", "320", "--height", "240", "--num-disparities", "32", "--frames", "15"];
  const words = ["bench", ...size, "--threads", "1", "--backend", "cpu", "--json"];
  const bench = (...more: string[]) => runInProcess([...words, ...more]);

  test("the stage's time is that of all its runs, and the figures say which stage it was", async () => {
    const once = JSON.parse((await bench()).stdout);
    const often = JSON.parse((await runProgram([...words, "--repeat-stage", "median=200"])).stdout);
    expect(once.repeatedStage).toBeNull();
    expect(often.repeatedStage).toEqual({ stage: "median", times: 200 });
    // Two hundred runs against one; a busy machine may take most of that, not a twentieth part.
    expect(often.stages.median).toBeGreaterThan(10 * once.stages.median);
    expect(often.medianMs).toBeGreaterThanOrEqual(often.stages.median);
  });

  test("a stage that does not exist or does not run is refused by name", async () => {
    const unknown = await bench("--repeat-stage", "medain=3");
    expect(unknown.code).not.toBe(0);
    expect(unknown.stderr).toContain('got "medain=3"');
    const off = await bench("--repeat-stage", "upscale=3");
    expect(off.code).not.toBe(0);
    expect(off.stderr).toContain(
      "upscale does not run with these settings; these do: rectify, match, speckle",
    );
  });
});
