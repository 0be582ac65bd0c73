// SPDX-License-Identifier: Apache-2.0
// Recordings of other programs whose image messages are valid MCAP and doubtful ROS: what is damaged is skipped and counted, and
// the reason is named.
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readEnginePicture } from "../../../camera/index.js";
import { toFolders } from "../../../edge/commands/convert/to-folders.js";
import { openRecording } from "../../../edge/mcap/recording.js";
import { openMcapSource } from "../../../edge/sources/mcap/source.js";
import { type ForeignMessage, imageMessage, writeForeignMessages } from "../../doubles/recordings.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-foreign-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const place = (...names: string[]) => join(folder, ...names);
const START_NS = 1_700_000_000_000_000_000n;
const PAIRS = 6;
type Image = Partial<Parameters<typeof imageMessage>[0]>;

/** Pairs of 24x8 at 10 Hz; `image` changes single ones. */
function pairs(
  image: (side: "left" | "right", pair: number) => Image | Uint8Array = () => ({}),
): ForeignMessage[] {
  return Array.from({ length: PAIRS }, (_, pair) =>
    (["left", "right"] as const).map((side) => {
      const logTime = START_NS + BigInt(pair) * 100_000_000n;
      const changed = image(side, pair);
      const data =
        changed instanceof Uint8Array
          ? changed
          : imageMessage({ width: 24, height: 8, stampNs: logTime, value: 10 * pair, ...changed });
      return { topic: `/${side}/image_raw`, schema: "sensor_msgs/msg/Image", data, logTime };
    }),
  ).flat();
}

const openSource = (file: string) => openMcapSource({ file, startSeconds: 0, speed: "max", loop: false });

async function convert(name: string, layout: "folder" | "euroc" = "folder") {
  const recording = await openRecording(place(`${name}.mcap`));
  const skips: string[] = [];
  try {
    const events = { onProgress: () => {}, onSkip: (text: string) => skips.push(text) };
    const { written, kept, skipped } = await toFolders(recording, place(name), layout, events);
    return { written, kept, skipped, skips };
  } finally {
    await recording.close();
  }
}

const imagesIn = (...names: string[]) => (existsSync(place(...names)) ? readdirSync(place(...names)) : []);

test.each([0, 10, 23])(
  "a step of %i bytes for rows of 24 is damage, for convert and run",
  async (strideBytes) => {
    const name = `step-${strideBytes}`;
    await writeForeignMessages(
      place(`${name}.mcap`),
      pairs((side, pair) => (side === "left" && pair > 0 ? { strideBytes, bytes: 192 } : {})),
    );
    const { written, skipped, skips } = await convert(name);
    expect({ written, skipped }).toEqual({ written: PAIRS + 1, skipped: { unreadable: PAIRS - 1 } });
    expect(skips[0]).toContain(`a step of ${strideBytes} bytes for rows of 24 bytes`);
    expect(imagesIn(name, "left")).toHaveLength(1);
    const { source } = await openSource(place(`${name}.mcap`));
    await new Promise<void>((resolve, reject) =>
      source.start({
        onPair: ({ release }) => release(),
        onDegraded: () => {},
        onEnd: resolve,
        onError: reject,
      }),
    );
    expect(source.counters()).toMatchObject({ pairs: 1, dropsLeft: { unreadable: PAIRS - 1 } });
    await source.stop();
  },
);

test("chroma that NV12 lacks is damage", async () => {
  await writeForeignMessages(
    place("nv12.mcap"),
    pairs((_, pair) => ({ encoding: "nv12", bytes: pair === 0 ? 24 * 12 : 24 * 8 })),
  );
  expect(await convert("nv12")).toMatchObject({ written: 2, skipped: { unreadable: 2 * (PAIRS - 1) } });
});

test("colours whose rows have gaps keep their columns", async () => {
  await writeForeignMessages(
    place("gaps.mcap"),
    pairs(() => {
      const message = imageMessage({ width: 3, height: 4, stampNs: 1n, encoding: "rgb8", strideBytes: 16 });
      const pixels = message.subarray(message.length - 64);
      for (let y = 0; y < 4; y++) pixels.fill(50 * y + 1, 16 * y, 16 * y + 9);
      return message;
    }),
  );
  await convert("gaps");
  const { data } = await readEnginePicture(place("gaps/left/1.png"), true);
  expect([...data]).toEqual([1, 51, 101, 151].flatMap((value) => Array<number>(9).fill(value)));
});

test("first images of two sizes are named as such", async () => {
  await writeForeignMessages(
    place("sizes.mcap"),
    pairs((side) => (side === "right" ? { width: 32 } : {})),
  );
  await expect(openSource(place("sizes.mcap"))).rejects.toMatchObject({
    code: "IMAGE_SIZE_MISMATCH",
    message: expect.stringContaining("found 24x8 and 32x8") as string,
  });
});
