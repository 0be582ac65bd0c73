// SPDX-License-Identifier: Apache-2.0
// The image pairs of a recording: which two topics hold them, and which message of one belongs to which of the other.
import type { Channel } from "@mcap/core";
import { Pairer, pairWindowNs } from "../../camera/index.js";
import { DepthwattError, isDepthwattError } from "../../core/index.js";
import { type DecodedImage, decodeImage, type ImageKind, imageKind, parseCaptureTime } from "./images.js";
import type { Recording } from "./recording.js";

/** Messages of one camera that may wait for the other: recorders write their topics in bursts. */
const MAX_WAITING = 32;

export interface ImageTopic {
  channel: Channel;
  kind: ImageKind;
}

export interface PairTopics {
  left: ImageTopic;
  right: ImageTopic;
}

export interface RecordedPair {
  left: DecodedImage & { sequence: number };
  right: DecodedImage & { sequence: number };
}

export type Side = "left" | "right";

export interface PairEvents {
  onDrop(side: Side, cause: "unmatched" | "unreadable" | "partnerLost"): void;
  /** A message that cannot be read. */
  onBad(error: Error): void;
  /** A message without a capture time: the time of recording takes its place. */
  onLogTime?(): void;
}

/** Topics of images, as a person would choose among them. */
export function imageTopics(recording: Recording): ImageTopic[] {
  return [...recording.channels.values()].flatMap((channel) => {
    const kind = imageKind(channel, recording.schemas.get(channel.schemaId));
    return kind ? [{ channel, kind }] : [];
  });
}

const wrong = (file: string, expected: string, found: string) =>
  new DepthwattError("SOURCE_UNREADABLE", `${file}: expected ${expected}, found ${found}`, {
    hint: "Name the topics with source.mcap.leftTopic and source.mcap.rightTopic; 'depthwatt record --inputs' records both.",
    context: { file },
  });

/**
 * The named topics, or the only ones that can be meant: .../left/image_raw and .../right/image_raw.
 * @throws DepthwattError SOURCE_UNREADABLE: another profile, no such topics, several
 */
export function pairTopics(recording: Recording, names: { left?: string; right?: string } = {}): PairTopics {
  const { file, profile } = recording;
  const all = imageTopics(recording);
  if (profile !== "ros2" && all.length === 0) {
    const encodings = new Set([...recording.channels.values()].map(({ messageEncoding }) => messageEncoding));
    const found = `the profile "${profile}" with ${[...encodings].join(", ") || "no"} messages`;
    throw wrong(file, "the profile ros2 with cdr messages", found);
  }
  const listed = all.map(({ channel }) => channel.topic).join(", ") || "no topic of images";
  const pick = (side: Side): ImageTopic => {
    const fitting =
      names[side] === undefined
        ? all.filter(({ channel }) =>
            new RegExp(`(^|/)${side}/image(_raw|_color)?(/compressed)?$`).test(channel.topic),
          )
        : all.filter(({ channel }) => channel.topic === names[side]);
    if (fitting.length === 1) return fitting[0]!;
    const expected = names[side] ?? `one topic that ends in ${side}/image_raw`;
    throw wrong(
      file,
      expected,
      fitting.length === 0 ? listed : fitting.map(({ channel }) => channel.topic).join(", "),
    );
  };
  return { left: pick("left"), right: pick("right") };
}

interface Stamped {
  timestampNs: bigint;
  sequence: number;
  message: Uint8Array;
}

/** Nanoseconds between two messages of a topic, on the average; undefined where that cannot be known. */
export function periodNs(recording: Recording, { channel }: ImageTopic): number | undefined {
  const { startNs, endNs, counts } = recording;
  const messages = counts?.get(channel.id);
  if (startNs === undefined || endNs === undefined || messages === undefined || messages < 2n)
    return undefined;
  return Number((endNs - startNs) / (messages - 1n));
}

/** Pairs from `fromNs` on, by the time of recording. */
export async function* recordedPairs(
  recording: Recording,
  topics: PairTopics,
  fromNs: bigint,
  events: PairEvents,
): AsyncGenerator<RecordedPair> {
  const ready: [Stamped, Stamped][] = [];
  const period = periodNs(recording, topics.left);
  const pairer = new Pairer<Stamped>(
    pairWindowNs(period, period, undefined),
    {
      onPair: (left, right) => ready.push([left, right]),
      onUnpaired: (side) => events.onDrop(side, "unmatched"),
    },
    MAX_WAITING,
  );
  const channels = new Set([topics.left.channel.id, topics.right.channel.id]);
  for await (const message of recording.messages({ channels, fromNs })) {
    const { channelId, data, sequence } = message;
    const side = channelId === topics.left.channel.id ? "left" : "right";
    try {
      const { timeNs, isLogTime } = parseCaptureTime(message);
      if (isLogTime) events.onLogTime?.();
      pairer.push(side, { timestampNs: timeNs, sequence, message: data });
    } catch (error) {
      events.onDrop(side, "unreadable");
      events.onBad(error as Error);
    }
    for (const [left, right] of ready.splice(0)) {
      const pair = await decodePair(left, right, topics, events);
      if (pair) yield pair;
    }
  }
  pairer.clear();
}

async function decodePair(
  left: Stamped,
  right: Stamped,
  topics: PairTopics,
  events: PairEvents,
): Promise<RecordedPair | undefined> {
  const read = (side: Side, { message, sequence, timestampNs }: Stamped) =>
    decodeImage(topics[side].kind, message, topics[side].channel).then(
      (image) => ({ ...image, stampNs: timestampNs, sequence }),
      (error: Error) => error,
    );
  const [first, second] = await Promise.all([read("left", left), read("right", right)]);
  if (!(first instanceof Error) && !(second instanceof Error)) return { left: first, right: second };
  const bad = (first instanceof Error ? first : second) as Error;
  if (!isDepthwattError(bad) || bad.code === "IMAGE_LIBRARY_MISSING") throw bad;
  events.onDrop("left", first instanceof Error ? "unreadable" : "partnerLost");
  events.onDrop("right", second instanceof Error ? "unreadable" : "partnerLost");
  events.onBad(bad);
  return undefined;
}
