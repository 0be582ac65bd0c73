// SPDX-License-Identifier: Apache-2.0
// Recordings for tests: read by a reader that is not ours, and written by hand.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { CdrWriter } from "@foxglove/cdr";
import { McapStreamReader, McapWriter } from "@mcap/core";
import { imagePrefix, writeImage } from "../../edge/mcap/messages.js";
import { PYTHON } from "./needs.js";

export interface ReadTopic {
  schema: string;
  encoding: string;
  metadata: Record<string, string>;
  count: number;
  /** Times of recording, ns. */
  first: string;
  last: string;
  stamps: string[];
  hashes: string[];
  width?: number;
  height?: number;
  pixels?: string;
  newest?: Record<string, unknown>;
  k?: number[];
  p?: number[];
  d?: number[];
  frame?: string;
  step?: number;
  fields?: { name: string; offset: number; type: number; count: number }[];
  dense?: number;
  places?: number[][];
  /** By the child's frame: x, y, z, and a quaternion. */
  transforms?: Record<string, { parent: string; place: number[] }>;
}

export interface ReadRecording {
  profile: string;
  attachments: Record<string, string>;
  topics: Record<string, ReadTopic>;
  schemas: Record<string, { name: string; encoding: string; data: string }>;
  chunks: number;
  /** Bytes behind the last whole record; of files that are walked from the beginning. */
  left: number;
}

/** By read_mcap.py, which knows the specification and nothing of depthwatt. @param cut walks the records, without the summary */
export function readIndependently(file: string, cut = false): ReadRecording {
  const words = ["test/doubles/read_mcap.py", ...(cut ? ["--no-summary"] : []), file];
  const text = execFileSync(PYTHON, words, { encoding: "utf8", maxBuffer: 1 << 28 });
  return JSON.parse(text) as ReadRecording;
}

export const findTopic = ({ topics }: ReadRecording, ending: string): ReadTopic => {
  const names = Object.keys(topics).filter((name) => name.endsWith(ending));
  if (names.length !== 1)
    throw new Error(`expected one topic ending in ${ending}, got ${Object.keys(topics)}`);
  return topics[names[0]!]!;
};

export interface ForeignMessage {
  topic: string;
  /** ROS' name of the message's type, such as sensor_msgs/msg/Image. */
  schema: string;
  data: Uint8Array;
  /** Nanoseconds. */
  logTime: bigint;
}

type WriterOptions = Omit<ConstructorParameters<typeof McapWriter>[0], "writable">;

/** Writes a file by the official writer, as another program would leave it. */
export async function writeForeignMessages(
  file: string,
  messages: readonly ForeignMessage[],
  {
    profile = "ros2",
    encoding = "cdr",
    ...options
  }: WriterOptions & Partial<Record<"profile" | "encoding", string>> = {},
): Promise<void> {
  const handle = await open(file, "w");
  let position = 0n;
  const writable = {
    position: () => position,
    write: async (bytes: Uint8Array) => {
      await handle.write(bytes);
      position += BigInt(bytes.length);
    },
  };
  const writer = new McapWriter({ writable, ...options });
  await writer.start({ profile, library: "a test" });
  const channels = new Map<string, number>();
  for (const [sequence, { topic, schema, data, logTime }] of messages.entries()) {
    if (!channels.has(topic)) {
      const schemaId = await writer.registerSchema({
        name: schema,
        encoding: "ros2msg",
        data: new Uint8Array(),
      });
      const channel = { schemaId, topic, messageEncoding: encoding, metadata: new Map<string, string>() };
      channels.set(topic, await writer.registerChannel(channel));
    }
    await writer.addMessage({
      channelId: channels.get(topic)!,
      sequence,
      logTime,
      publishTime: logTime,
      data,
    });
  }
  await writer.end();
  await handle.close();
}

/** Writes three equal messages of one topic. */
export function writeForeign(
  file: string,
  {
    topic,
    schema,
    data,
    profile,
    encoding,
  }: Record<"profile" | "schema" | "encoding" | "topic", string> & { data: Uint8Array },
  useChunks = true,
): Promise<void> {
  const messages = [0n, 1n, 2n].map((logTime) => ({ topic, schema, data, logTime }));
  return writeForeignMessages(file, messages, { profile, encoding, useChunks });
}

/** A sensor_msgs Image whose pixels all have one value. */
export function imageMessage(
  image: { width: number; height: number; stampNs: bigint } & Partial<{
    encoding: string;
    strideBytes: number;
    bytes: number;
    value: number;
  }>,
): Uint8Array {
  const { width, height, stampNs, encoding = "mono8", strideBytes = width, value = 0 } = image;
  const head = imagePrefix({ frameId: "side", width, height, encoding, strideBytes });
  const body = new Uint8Array(image.bytes ?? strideBytes * height).fill(value);
  const data = new Uint8Array(head.length + body.length);
  writeImage(data, 0, head, head.length - 4, stampNs, body);
  return data;
}

/** A sensor_msgs CompressedImage. */
export const compressedMessage = (stampNs: bigint, picture: Uint8Array): Uint8Array =>
  new CdrWriter()
    .int32(Number(stampNs / 1_000_000_000n))
    .uint32(Number(stampNs % 1_000_000_000n))
    .string("side")
    .string("png")
    .uint8Array(picture, true).data;

/** Reads the JSON messages of a recording without compression, with the reader of the format's authors, by the end of their topic. */
export function recordedDocuments(file: string): Map<string, unknown[]> {
  const reader = new McapStreamReader();
  reader.append(readFileSync(file));
  const channels = new Map<number, unknown[]>();
  const documents = new Map<string, unknown[]>();
  for (let record = reader.nextRecord(); record !== undefined; record = reader.nextRecord()) {
    if (record.type === "Channel" && record.messageEncoding === "json") {
      const name = record.topic.split("/").at(-1)!;
      channels.set(record.id, documents.get(name) ?? []);
      documents.set(name, channels.get(record.id)!);
    } else if (record.type === "Message")
      channels.get(record.channelId)?.push(JSON.parse(Buffer.from(record.data).toString()));
  }
  return documents;
}
