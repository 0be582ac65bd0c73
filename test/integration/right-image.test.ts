// SPDX-License-Identifier: Apache-2.0
// The rectified right image: from the engine, bit for bit the stage's in every row, with nothing else changed; and as the stream
// right, switched on and off in a running system.
import { describe, expect, test } from "vitest";
import { createEngine, type FrameResult } from "../../cuda/index.js";
import { until } from "../doubles/frames.js";
import { startSmallRun } from "../doubles/small-run.js";
import { native, variants } from "../doubles/stages.js";
import { engineCases, hashResult } from "../golden/engine-cases.mjs";

const rectify = native.stages.rectify as unknown as (call: object) => string;

const CASES = Object.keys(engineCases).filter((name) => !/denoise|vertical|moving|rows/i.test(name));

async function computeFrame(name: string, instructionSet: string, rightGrey: boolean) {
  const { options, pair } = engineCases[name]!;
  const engine = createEngine({
    ...options,
    backend: "cpu",
    instructionSet: instructionSet as never,
    ...(rightGrey && { rightGrey }),
  });
  try {
    let result: FrameResult | undefined;
    for (let i = 0; i < 2; i++) result = await engine.compute(pair.left, pair.right);
    const slot = engine.slots[0]!;
    return { hash: hashResult(slot, result!), right: slot.right.slice() };
  } finally {
    engine.close();
  }
}

describe.each(variants)("an engine, %s", (instructionSet) => {
  test.each(CASES)("%s: the right image is the stage's, and nothing else changes", async (name) => {
    const { options, pair } = engineCases[name]!;
    const plain = await computeFrame(name, instructionSet, false);
    const kept = await computeFrame(name, instructionSet, true);
    expect(plain.right).toHaveLength(0);
    expect(kept.hash).toBe(plain.hash);
    const expected = new Uint8Array(options.width * options.height);
    rectify({
      variant: "reference",
      format: options.rightFormat,
      inputWidth: options.inputWidth,
      inputHeight: options.inputHeight,
      width: options.width,
      height: options.height,
      strideBytes: options.rightStrideBytes,
      image: pair.right,
      map: options.rightMap,
      blackLevel: options.blackLevel,
      grey: expected,
    });
    expect(new Set(expected).size).toBeGreaterThan(8);
    expect(Buffer.compare(kept.right, expected)).toBe(0);
  });
});

test("the stream right has the right camera's image, live, and ends again", async () => {
  const run = await startSmallRun(
    ["left", "right", "disparity"],
    "source.synthetic.rateHz=30",
    "outputs.mqtt.left.enabled=true",
    "outputs.mqtt.disparity.enabled=true",
    "outputs.mqtt.disparity.encoding=raw",
    "outputs.mqtt.right.encoding=png",
  );
  const { runtime, newest, waitFor } = run;
  try {
    await waitFor("left");
    expect(newest("right")).toBeUndefined();
    await runtime.apply({ "outputs.mqtt.right.enabled": true });
    const packed = await waitFor("right", { encoding: "png" });
    expect(packed.header).toMatchObject({ element: "u8", quantity: "greyValue", width: 160, height: 96 });
    await runtime.apply({ "outputs.mqtt.right.encoding": "jpeg" });
    expect([...(await waitFor("right", { encoding: "jpeg" })).body.subarray(0, 2)]).toEqual([0xff, 0xd8]);
    await runtime.apply({ "outputs.mqtt.right.encoding": "raw" });
    await waitFor("right", { encoding: "raw" });
    const three = () => ["left", "right", "disparity"].map(newest);
    await until(
      "three streams of one moment",
      () =>
        three().every(Boolean) && new Set(three().map((frame) => frame!.header.leftTimestampNs)).size === 1,
      20_000,
    );
    const [left, right, disparity] = three().map((frame) => frame!.values());
    // The right image has the pixel x at x - d, within the noise of the cameras.
    let [alike, compared] = [0, 0];
    for (let y = 0; y < 96; y++)
      for (let x = 0; x < 160; x++) {
        const d = disparity![160 * y + x]!;
        if (Number.isNaN(d) || x - d < 0) continue;
        compared++;
        if (Math.abs(left![160 * y + x]! - right![160 * y + Math.round(x - d)]!) <= 24) alike++;
      }
    expect(compared).toBeGreaterThan(5000);
    expect(alike / compared).toBeGreaterThan(0.8);
    await runtime.apply({ "outputs.mqtt.right.enabled": false });
    const capturedNs = (name: string) => newest(name)!.header.leftTimestampNs;
    await until(
      "ten frames after the last right image",
      () => capturedNs("left") - capturedNs("right") > 333_000_000n,
      20_000,
    );
  } finally {
    await run.close();
  }
}, 60_000);
