// SPDX-License-Identifier: Apache-2.0
// Which topics of a recording hold the pairs, which messages belong together, and the reports about the others.
import { describe, expect, test } from "vitest";
import {
  imageTopics,
  pairTopics,
  periodNs,
  type RecordedPair,
  recordedPairs,
} from "../../../edge/mcap/pairs.js";
import type { Message, Recording } from "../../../edge/mcap/recording.js";
import { imageMessage } from "../../doubles/recordings.js";

const IMAGE = "sensor_msgs/msg/Image";
const MS = 1_000_000n;

/** A recording of these topics, with the given messages. A topic's name may have its schema behind a blank. */
function recordingOf(
  topics: readonly string[],
  more: Partial<Recording> & { list?: Partial<Message>[] } = {},
) {
  const asked: unknown[] = [];
  const encoding = more.profile === "ros1" ? "ros1" : "cdr";
  const channels = topics.map((words, id) => {
    const [topic] = words.split(" ");
    return [id, { id, schemaId: id + 1, topic, messageEncoding: encoding, metadata: new Map() }] as const;
  });
  const schemas = topics.map((words, id) => {
    const [, name = IMAGE] = words.split(" ");
    return [id + 1, { id: id + 1, name, encoding: "ros2msg", data: new Uint8Array() }] as const;
  });
  const recording = {
    file: "a.mcap",
    profile: "ros2",
    channels: new Map(channels),
    schemas: new Map(schemas),
    startNs: undefined,
    endNs: undefined,
    counts: undefined,
    async *messages(options: unknown) {
      asked.push(options);
      yield* more.list ?? [];
    },
    ...more,
  } as unknown as Recording;
  return { recording, asked };
}

describe("topics", () => {
  const choose = (topics: readonly string[], names?: { left?: string; right?: string }, more = {}) => {
    const { left, right } = pairTopics(recordingOf(topics, more).recording, names);
    return [left.channel.topic, left.kind, right.channel.topic, right.kind];
  };

  test.each([
    [["left/image_raw", "right/image_raw"]],
    [["/left/image", "/right/image_color"]],
    [["/left/image_raw", "/right/image_raw", "/depth/image_rect", "/leftover/image", "/a_left/image_raw"]],
  ])("of %j those that end in a side's image are the pair", (topics) => {
    expect(choose(topics)).toEqual([topics[0], "Image", topics[1], "Image"]);
  });

  test("compressed ones too, and any by their whole names", () => {
    const compressed = "sensor_msgs/msg/CompressedImage";
    const topics = [`/x/left/image_raw/compressed ${compressed}`, "/x/right/image_raw", "/left2", "/right2"];
    expect(choose(topics)).toEqual([
      "/x/left/image_raw/compressed",
      "CompressedImage",
      "/x/right/image_raw",
      "Image",
    ]);
    expect(choose(topics, { left: "/left2" })[0]).toBe("/left2");
    expect(choose(topics, { right: "/right2" })[2]).toBe("/right2");
    expect(imageTopics(recordingOf([...topics, "/imu sensor_msgs/msg/Imu"]).recording)).toHaveLength(4);
    // Another profile may hold ROS 2 messages all the same.
    expect(choose(topics, {}, { profile: "" })).toHaveLength(4);
  });

  test.each<[string[], object, object, string]>([
    [["/a"], {}, {}, "one topic that ends in left/image_raw, found /a"],
    [["/left/image"], {}, {}, "one topic that ends in right/image_raw, found /left/image"],
    [
      ["/a/left/image", "/b/left/image", "/c"],
      {},
      {},
      "one topic that ends in left/image_raw, found /a/left/image, /b/left/image",
    ],
    [["/left/image", "/right/image"], { left: "/none" }, {}, "/none, found /left/image, /right/image"],
    [["/imu sensor_msgs/msg/Imu"], {}, {}, "one topic that ends in left/image_raw, found no topic of images"],
    [
      ["/left/image"],
      {},
      { profile: "ros1" },
      'the profile ros2 with cdr messages, found the profile "ros1" with ros1 messages',
    ],
    [[], {}, { profile: "" }, 'the profile ros2 with cdr messages, found the profile "" with no messages'],
  ])("%j with the names %j is refused, profile %j", (topics, names, more, message) => {
    expect(() => choose(topics, names, more)).toThrow(
      expect.objectContaining({ code: "SOURCE_UNREADABLE", message: `a.mcap: expected ${message}` }),
    );
  });

  test.each<[bigint | undefined, bigint | undefined, bigint | undefined, number | undefined]>([
    [1000n, 1900n, 10n, 100],
    [1000n, 1900n, 2n, 900],
    [1000n, 1900n, 1n, undefined],
    [1000n, 1900n, undefined, undefined],
    [undefined, 1900n, 10n, undefined],
    [1000n, undefined, 10n, undefined],
  ])("from %s to %s with %s messages, the period is %s", (startNs, endNs, count, period) => {
    const counts = new Map(count === undefined ? [] : [[0, count]]);
    const { recording } = recordingOf(["/left/image", "/right/image"], { startNs, endNs, counts });
    expect(periodNs(recording, pairTopics(recording).left)).toBe(period);
  });

  test("without an index, there is no period", () => {
    const { recording } = recordingOf(["/left/image", "/right/image"], { startNs: 0n, endNs: 9n });
    expect(periodNs(recording, pairTopics(recording).left)).toBeUndefined();
  });
});

describe("pairs", () => {
  /** The message number `sequence` of a side: a pixel of that value, captured at that millisecond. */
  const message = (
    side: "left" | "right",
    sequence: number,
    ms: bigint,
    more: object = {},
  ): Partial<Message> => ({
    channelId: side === "left" ? 0 : 1,
    sequence,
    logTime: 5n,
    data: imageMessage({ width: 1, height: 1, stampNs: ms * MS, value: sequence, ...more }),
  });
  async function read(list: Partial<Message>[], onLogTime = true) {
    // 10 Hz: images up to half a period apart are a pair.
    const counts = new Map([[0, 11n]]);
    const span = { startNs: 0n, endNs: 1000n * MS, counts };
    const { recording, asked } = recordingOf(["/left/image", "/right/image"], { ...span, list });
    const events: string[] = [];
    const pairs: RecordedPair[] = [];
    const heard = {
      onDrop: (side: string, cause: string) => events.push(`${side} ${cause}`),
      onBad: ({ message: text }: Error) => events.push(text),
      ...(onLogTime && { onLogTime: () => events.push("no capture time") }),
    };
    for await (const pair of recordedPairs(recording, pairTopics(recording), 7n, heard)) pairs.push(pair);
    expect(asked).toEqual([{ channels: new Set([0, 1]), fromNs: 7n }]);
    return { pairs, events, numbers: pairs.map(({ left, right }) => [left.sequence, right.sequence]) };
  }

  test("the nearest in time, whole, each with its own time and number", async () => {
    const { pairs, events } = await read([message("left", 3, 100n), message("right", 8, 104n)]);
    const image = { width: 1, height: 1, strideBytes: 1, format: "GREY" };
    expect(pairs).toEqual([
      {
        left: { ...image, stampNs: 100n * MS, sequence: 3, data: Uint8Array.of(3) },
        right: { ...image, stampNs: 104n * MS, sequence: 8, data: Uint8Array.of(8) },
      },
    ]);
    expect(events).toEqual([]);
  });

  test("one without a partner is a drop, also at the end of the recording", async () => {
    const { numbers, events } = await read([
      message("left", 1, 100n),
      message("left", 2, 200n),
      message("right", 2, 200n),
      message("left", 3, 300n),
    ]);
    expect(numbers).toEqual([[2, 2]]);
    expect(events).toEqual(["left unmatched", "left unmatched"]);
  });

  test("a message that is damaged, and one whose image is, with what happens to its partner", async () => {
    const broken = { ...message("left", 1, 100n), data: new Uint8Array(3) };
    const { numbers, events } = await read([
      broken,
      message("left", 2, 200n, { encoding: "32FC1" }),
      message("right", 2, 200n),
      message("left", 3, 300n),
      message("right", 3, 300n, { width: 0, bytes: 1 }),
      message("left", 4, 400n),
      message("right", 4, 400n),
    ]);
    expect(numbers).toEqual([[4, 4]]);
    expect(events).toEqual([
      "left unreadable",
      expect.stringMatching(/^a message with damage/),
      "left unreadable",
      "right partnerLost",
      expect.stringMatching(/found "32FC1"$/),
      "left partnerLost",
      "right unreadable",
      "a message with a size of 0x1",
    ]);
  });

  test("messages without a capture time are paired by the time of recording", async () => {
    const list = [
      message("left", 1, 0n),
      message("right", 1, 0n),
      message("left", 2, 100n),
      message("right", 2, 100n),
    ];
    const { pairs, events } = await read(list);
    expect(pairs.map(({ left, right }) => [left.stampNs, right.stampNs])).toEqual([
      [5n, 5n],
      [100n * MS, 100n * MS],
    ]);
    expect(events).toEqual(["no capture time", "no capture time"]);
    expect((await read(list, false)).numbers).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });
});
