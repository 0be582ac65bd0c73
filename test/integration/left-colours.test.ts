// SPDX-License-Identifier: Apache-2.0
// The left image in colours: from the engine, bit for bit the stage's, with nothing else changed; and as the stream left.
import { describe, expect, test } from "vitest";
import { connectConsumer, type ReceivedFrame } from "../../clients/javascript/src/index.js";
import { createEngine, type FrameResult } from "../../cuda/index.js";
import { startTrialBroker } from "../../edge/broker/trial-broker.js";
import { loadConfig } from "../../edge/config/index.js";
import { openRuntime } from "../../edge/run/main.js";
import { until } from "../doubles/frames.js";
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
  const broker = await startTrialBroker({});
  const { config } = loadConfig({
    set: [
      "board=none",
      "power.sensor=none",
      "source.synthetic.width=160",
      "source.synthetic.height=96",
      "source.synthetic.rateHz=30",
      "match.numDisparities=32",
      "outputs.viewer.enabled=false",
      `outputs.mqtt.broker=${broker.url}`,
      "outputs.mqtt.left.enabled=true",
      "outputs.mqtt.left.encoding=png",
    ],
    environment: {},
  });
  const runtime = await openRuntime(config, undefined, { onNotice: () => {} });
  const ended = runtime.run();
  const newest = new Map<string, ReceivedFrame>();
  const consumer = connectConsumer(broker.url, {
    device: config.device,
    base: config.base,
    streams: ["left"],
  });
  consumer.on("frame", (frame) => newest.set(frame.stream, frame));
  const waitForLeft = async (element: string) => {
    await until(`a left image of ${element}`, () => newest.get("left")?.header.element === element, 20_000);
    return newest.get("left")!;
  };
  try {
    expect((await waitForLeft("u8")).counts()).toHaveLength(160 * 96);
    await runtime.apply({ "outputs.mqtt.left.colours": true });
    const colours = await waitForLeft("rgb8");
    expect(colours.header.quantity).toBe("colourValue");
    const counts = colours.counts();
    expect(counts).toHaveLength(3 * 160 * 96);
    let coloured = 0;
    for (let i = 0; i < counts.length; i += 3) if (Math.abs(counts[i]! - counts[i + 2]!) > 8) coloured++;
    expect(coloured).toBeGreaterThan(160);
    await runtime.apply({ "outputs.mqtt.left.encoding": "raw" });
    await until("raw colours", () => newest.get("left")?.header.encoding === "raw", 20_000);
    expect((await waitForLeft("rgb8")).body).toHaveLength(3 * 160 * 96);
    await runtime.apply({ "outputs.mqtt.left.colours": false });
    expect((await waitForLeft("u8")).header.quantity).toBe("greyValue");
  } finally {
    await consumer.close();
    runtime.stop();
    await ended;
    await broker.close();
  }
}, 60_000);
