// SPDX-License-Identifier: Apache-2.0
// The left image in colours: from the engine, bit for bit the stage's, with nothing else changed; and as the stream left.
import { describe, expect, test } from "vitest";
import { createEngine, type FrameResult } from "../../cuda/index.js";
import { startSmallRun } from "../doubles/small-run.js";
import { native, Random, variants } from "../doubles/stages.js";
import { engineCases, hashResult } from "../golden/engine-cases.mjs";

const rectify = native.stages.rectify as unknown as (call: object) => string;

/** Golden cases whose images have colours, and one that has none. */
const CASES = [
  "from YUYV, rectified",
  "esaw",
  "esaw of 5 rounds from YUYV, rectified",
  "esmp",
  "sad of 9 x 5 from YUYV, rectified",
  "a region at half resolution",
  "esaw of grey, in a region at half resolution",
] as const;

async function computeFrame(name: string, instructionSet: string, leftRgb: boolean) {
  const { options, pair } = engineCases[name]!;
  const engine = createEngine({
    ...options,
    backend: "cpu",
    instructionSet: instructionSet as never,
    ...(leftRgb && { leftRgb }),
  });
  try {
    let result: FrameResult | undefined;
    for (let i = 0; i < 2; i++) result = await engine.compute(pair.left, pair.right);
    const slot = engine.slots[0]!;
    return { hash: hashResult(slot, result!), rgb: slot.leftRgb.slice(), left: slot.left.slice() };
  } finally {
    engine.close();
  }
}

describe.each(variants)("an engine, %s", (instructionSet) => {
  test.each(CASES)("%s: colours are the stage's, and nothing else changes", async (name) => {
    const { options, pair } = engineCases[name]!;
    const plain = await computeFrame(name, instructionSet, false);
    const coloured = await computeFrame(name, instructionSet, true);
    expect(plain.rgb).toHaveLength(0);
    expect(coloured.hash).toBe(plain.hash);
    const expected = new Uint8Array(3 * options.width * options.height);
    if (options.leftFormat === "GREY")
      for (const [i, grey] of coloured.left.entries()) expected.fill(grey, 3 * i, 3 * i + 3);
    else
      rectify({
        variant: "reference",
        format: options.leftFormat,
        inputWidth: options.inputWidth,
        inputHeight: options.inputHeight,
        width: options.width,
        height: options.height,
        strideBytes: options.leftStrideBytes,
        image: pair.left,
        map: options.leftMap,
        rgb: expected,
      });
    expect(Buffer.compare(coloured.rgb, expected)).toBe(0);
  });

  test("sgm of RGB8 images has colours in every row, for every region", async () => {
    const random = new Random(11);
    const [width, height] = [61, 23];
    const image = random.fill(new Uint8Array(3 * width * height), 0, 255);
    const { options } = engineCases["a region"]!;
    const engine = createEngine({
      ...options,
      inputWidth: width,
      inputHeight: height,
      width,
      height,
      leftFormat: "RGB8",
      rightFormat: "RGB8",
      leftStrideBytes: 3 * width,
      rightStrideBytes: 3 * width,
      region: { x: 30, y: 9, width: 20, height: 5 },
      backend: "cpu",
      instructionSet: instructionSet as never,
      leftRgb: true,
    });
    try {
      await engine.compute(image, image);
      expect(Buffer.compare(engine.slots[0]!.leftRgb, image)).toBe(0);
    } finally {
      engine.close();
    }
  });
});

test("the stream left has colours where the source has, live, and grey again", async () => {
  const run = await startSmallRun(
    ["left"],
    "source.synthetic.rateHz=30",
    "outputs.mqtt.left.enabled=true",
    "outputs.mqtt.left.encoding=png",
  );
  const { runtime, waitFor } = run;
  try {
    expect((await waitFor("left", { element: "u8" })).counts()).toHaveLength(160 * 96);
    await runtime.apply({ "outputs.mqtt.left.colours": true });
    const colours = await waitFor("left", { element: "rgb8" });
    expect(colours.header.quantity).toBe("colourValue");
    const counts = colours.counts();
    expect(counts).toHaveLength(3 * 160 * 96);
    let coloured = 0;
    for (let i = 0; i < counts.length; i += 3) if (Math.abs(counts[i]! - counts[i + 2]!) > 8) coloured++;
    expect(coloured).toBeGreaterThan(160);
    await runtime.apply({ "outputs.mqtt.left.encoding": "raw" });
    expect((await waitFor("left", { element: "rgb8", encoding: "raw" })).body).toHaveLength(3 * 160 * 96);
    await runtime.apply({ "outputs.mqtt.left.colours": false });
    expect((await waitFor("left", { element: "u8" })).header.quantity).toBe("greyValue");
  } finally {
    await run.close();
  }
}, 60_000);
