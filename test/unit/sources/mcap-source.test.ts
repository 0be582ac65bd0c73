// SPDX-License-Identifier: Apache-2.0
// Pairs of a recording as a source delivers them: times, numbers, laps, drops, and what it says of itself.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { FramePair } from "../../../camera/index.js";
import { lossWords, type McapSourceSettings, openMcapSource } from "../../../edge/sources/mcap/source.js";
import { type ForeignMessage, imageMessage, writeForeignMessages } from "../../doubles/recordings.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-mcap-source-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MS = 1_000_000n;
const START_NS = 1000n * MS;
type Image = Partial<Parameters<typeof imageMessage>[0]>;

let files = 0;
/** Pairs of 4 x 2 pixels, 100 ms apart, the right image 2 ms later; `change` changes single images. */
async function record(
  pairs: number,
  change: (side: "left" | "right", pair: number) => Image = () => ({}),
  loggedAt = (pair: number) => START_NS + BigInt(pair) * 100n * MS,
): Promise<string> {
  const file = join(folder, `r${files++}.mcap`);
  const messages = Array.from({ length: pairs }, (_, pair) =>
    (["left", "right"] as const).map((side): ForeignMessage => {
      const stampNs = START_NS + BigInt(pair) * 100n * MS + (side === "left" ? 0n : 2n * MS);
      const image = { width: 4, height: 2, stampNs, value: pair, ...change(side, pair) };
      const schema = "sensor_msgs/msg/Image";
      return { topic: `/${side}/image_raw`, schema, data: imageMessage(image), logTime: loggedAt(pair) };
    }),
  );
  await writeForeignMessages(file, messages.flat());
  return file;
}

const open = (file: string, more: Partial<McapSourceSettings> = {}) =>
  openMcapSource({ file, startSeconds: 0, speed: "max", loop: false, ...more });

/** Plays until the end, an error, or so many pairs, each given back at once. */
async function play(file: string, more: Partial<McapSourceSettings> = {}, limit = Number.POSITIVE_INFINITY) {
  const { source, warnings } = await open(file, more);
  const pairs: FramePair[] = [];
  const heard: string[] = [];
  const error = await new Promise<Error | undefined>((resolve) =>
    source.start({
      onPair: (pair) => {
        pairs.push(pair);
        pair.release();
        if (pairs.length === limit) resolve(undefined);
      },
      onDegraded: () => {},
      onWarning: (text) => heard.push(text.replace(`${file}: `, "")),
      onEnd: () => resolve(undefined),
      onError: resolve,
    }),
  );
  await source.stop();
  return { source, warnings, pairs, heard, error, counters: source.counters() };
}

test("a pair has both images with their own times and numbers", async () => {
  const { pairs, counters, warnings } = await play(await record(2));
  const image = { width: 4, height: 2, strideBytes: 4, format: "GREY" };
  expect(pairs).toEqual(
    [0, 1].map((pair) => ({
      left: {
        ...image,
        data: new Uint8Array(8).fill(pair),
        timestampNs: START_NS + BigInt(pair) * 100n * MS,
        sequence: 2 * pair,
      },
      right: {
        ...image,
        data: new Uint8Array(8).fill(pair),
        timestampNs: START_NS + BigInt(pair) * 100n * MS + 2n * MS,
        sequence: 2 * pair + 1,
      },
      clock: "file",
      release: expect.any(Function) as () => void,
    })),
  );
  expect(counters).toEqual({
    pairs: 2,
    dropsLeft: {},
    dropsRight: {},
    skewMsMean: 2,
    skewMsP99: 2,
    driftPpm: undefined,
  });
  expect(warnings).toEqual([]);
  expect(pairs[0]!.release).toThrow(expect.objectContaining({ code: "INTERNAL" }));
});

test.each<[Partial<McapSourceSettings>, string, number | undefined]>([
  [{}, "as fast as they are taken", undefined],
  [{ speed: 1 }, "as recorded", 10],
  [{ speed: 2.5, loop: true }, "2.5 times as fast, looped", 25],
])("with %j it plays %s", async (more, words, rateHz) => {
  const { source } = await open(await record(3), more);
  const { title, ...description } = source.description;
  expect(title).toMatch(new RegExp(`^r\\d+\\.mcap, 4x2, ${words}$`));
  expect(description).toEqual({
    width: 4,
    height: 2,
    leftFormat: "GREY",
    rightFormat: "GREY",
    leftStrideBytes: 4,
    rightStrideBytes: 4,
    rateHz,
    clock: "file",
  });
  await source.stop();
});

test("times and numbers rise from lap to lap, by a period and by one", async () => {
  const { pairs } = await play(await record(3), { loop: true }, 8);
  expect(pairs.map(({ left }) => [(left.timestampNs - START_NS) / MS, left.sequence])).toEqual([
    [0n, 0],
    [100n, 2],
    [200n, 4],
    [300n, 5],
    [400n, 7],
    [500n, 9],
    [600n, 10],
    [700n, 12],
  ]);
  expect(pairs[4]!.right).toMatchObject({ timestampNs: START_NS + 402n * MS, sequence: 8 });
});

test("laps that begin later continue from their own first pair", async () => {
  const { pairs } = await play(await record(4), { loop: true, startSeconds: 0.1 }, 5);
  expect(pairs.map(({ left }) => [(left.timestampNs - START_NS) / MS, left.sequence])).toEqual([
    [100n, 2],
    [200n, 4],
    [300n, 6],
    // A period after the last one, and the next number.
    [400n, 7],
    [500n, 9],
  ]);
});

test.each([
  [1, [0, 100, 200]],
  [2.5, [0, 40, 80]],
])("at %d times the speed pairs come on time", async (speed, expected) => {
  const { source } = await open(await record(3), { speed });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    const times: number[] = [];
    let isOver = false;
    source.start({
      onPair: (pair) => {
        times.push(performance.now());
        pair.release();
      },
      onDegraded: () => {},
      onEnd: () => {
        isOver = true;
      },
      onError: () => {},
    });
    while (!isOver) {
      // The file is read in real time; the clock stands meanwhile.
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      vi.advanceTimersByTime(times.length === 0 ? 0 : 5);
    }
    expect(times.map((ms) => Math.round(ms - times[0]!))).toEqual(expected);
  } finally {
    vi.useRealTimers();
    await source.stop();
  }
});

test("a recording of one message time has 30 pairs a second in its laps, and no rate", async () => {
  const file = await record(1);
  const { pairs, source } = await play(file, { loop: true, speed: 100 }, 3);
  expect(source.description.rateHz).toBeUndefined();
  expect(pairs.map(({ left }) => Number(left.timestampNs - START_NS))).toEqual([0, 33_333_333, 66_666_666]);
});

test("it begins at the named second of the recording", async () => {
  const file = await record(5);
  const from = async (startSeconds: number) => (await play(file, { startSeconds })).pairs[0]!.left.sequence;
  expect([await from(0), await from(0.1), await from(0.100_000_001), await from(0.4)]).toEqual([0, 2, 4, 8]);
  await expect(open(file, { startSeconds: 0.5 })).rejects.toMatchObject({
    code: "SOURCE_EMPTY",
    message: `${file}: expected an image pair from 0.5 s on, found none`,
    hint: "'depthwatt convert' counts what it holds and what cannot be read.",
  });
  // The first reason is named.
  const unread = await record(2, (side, pair) =>
    side === "left" ? { encoding: pair === 0 ? "32FC1" : "64FC1" } : {},
  );
  await expect(open(unread)).rejects.toMatchObject({
    code: "SOURCE_EMPTY",
    message: expect.stringMatching(
      /from 0 s on, found none: \/left\/image_raw: expected one of .*found "32FC1"$/,
    ),
  });
});

test("a consumer holds two pairs at most, and the end waits for what it holds", async () => {
  const { source } = await open(await record(4));
  const held: FramePair[] = [];
  const ended: string[] = [];
  source.start({
    onPair: (pair) => held.push(pair),
    onDegraded: () => {},
    onEnd: () => ended.push("end"),
    onError: () => ended.push("error"),
  });
  expect(() => source.start({} as never)).toThrow(expect.objectContaining({ code: "INTERNAL" }));
  const settle = async () => {
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const until = async (count: number) => {
    while (held.length < count) await settle();
  };
  await until(2);
  await settle();
  expect(held.map(({ left }) => left.sequence)).toEqual([0, 2]);
  held[0]!.release();
  await until(3);
  await settle();
  expect(held.map(({ left }) => left.sequence)).toEqual([0, 2, 4]);
  let isStopped = false;
  const stopped = source.stop().then(() => (isStopped = true));
  await settle();
  held[1]!.release();
  await settle();
  expect(isStopped).toBe(false);
  held[2]!.release();
  await stopped;
  // A source that is stopped reports no end.
  expect([held.length, ended]).toEqual([3, []]);
});

test.each<["left" | "right", Image]>([
  ["left", { width: 5 }],
  ["left", { height: 3 }],
  ["left", { encoding: "bayer_rggb8" }],
  ["left", { strideBytes: 6 }],
  ["right", { width: 5 }],
  ["right", { height: 3 }],
  ["right", { encoding: "bayer_rggb8" }],
  ["right", { strideBytes: 6 }],
])("a %s image that changes to %j is dropped with its partner", async (changed, image) => {
  const file = await record(3, (side, pair) => (side === changed && pair === 1 ? image : {}));
  const { pairs, counters, error } = await play(file);
  expect(pairs.map(({ left }) => left.sequence)).toEqual([0, 4]);
  const drops = { [changed]: { wrongSize: 1 } };
  expect(counters).toMatchObject({
    pairs: 2,
    dropsLeft: drops.left ?? { partnerLost: 1 },
    dropsRight: drops.right ?? { partnerLost: 1 },
  });
  expect(error).toBeUndefined();
});

test.each([
  ["left", { width: 5 }, "5x2 and 4x2"],
  ["right", { height: 3 }, "4x2 and 4x3"],
] as const)("images of two sizes are refused: the %s one with %j", async (changed, image, sizes) => {
  const file = await record(1, (side) => (side === changed ? image : {}));
  await expect(open(file)).rejects.toMatchObject({
    code: "IMAGE_SIZE_MISMATCH",
    message: `${file}: expected left and right images of one size, found ${sizes}`,
  });
});

test("the first ten messages that cannot be read are reported, all are counted", async () => {
  const file = await record(14, (side, pair) => (side === "left" && pair > 0 ? { encoding: "32FC1" } : {}));
  const { heard, counters, pairs } = await play(file);
  expect(pairs).toHaveLength(1);
  expect(heard).toHaveLength(10);
  expect(heard[0]).toMatch(/^\/left\/image_raw: expected one of .*found "32FC1"$/);
  expect(counters).toMatchObject({ dropsLeft: { unreadable: 13 }, dropsRight: { partnerLost: 13 } });
});

test("topics are chosen by name, and times of recording are reported", async () => {
  const file = await record(2, () => ({ stampNs: 0n }));
  const { pairs, warnings } = await play(file, {
    leftTopic: "/right/image_raw",
    rightTopic: "/left/image_raw",
  });
  expect(pairs.map(({ left, right }) => [left.sequence, right.sequence])).toEqual([
    [1, 0],
    [3, 2],
  ]);
  expect(warnings).toEqual([`${file}: capture times are 0, so the times of recording are used`]);
});

describe("what was lost", () => {
  const none = {
    index: undefined,
    bytes: 0,
    chunks: 0,
    reason: undefined,
    messages: new Map<number, number>(),
  };
  test.each([
    [none, undefined],
    [{ ...none, bytes: 1 }, "1 bytes belong to no whole record"],
    [{ ...none, index: "no footer" }, "it has no usable index (no footer), so a new one was made"],
    [
      {
        index: "no footer",
        bytes: 7,
        chunks: 1,
        reason: "a CRC",
        messages: new Map([
          [0, 4],
          [1, 3],
        ]),
      },
      "it has no usable index (no footer), so a new one was made; 7 bytes belong to no whole record; " +
        "1 damaged chunks with 7 messages are left out (a CRC)",
    ],
  ])("%j", (loss, words) => expect(lossWords(loss)).toBe(words));
});
