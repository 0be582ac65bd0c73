// SPDX-License-Identifier: Apache-2.0
// Recordings for tests: read by a reader that is not ours, and written by hand.
import { execFileSync } from "node:child_process";
import { McapWriter } from "@mcap/core";
import { open } from "node:fs/promises";
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

export const topicOf = ({ topics }: ReadRecording, ending: string): ReadTopic => {
  const names = Object.keys(topics).filter((name) => name.endsWith(ending));
  if (names.length !== 1)
    throw new Error(`expected one topic ending in ${ending}, got ${Object.keys(topics)}`);
  return topics[names[0]!]!;
};

/** A file by the official writer, as another program would leave it. */
export async function writeForeign(
  file: string,
  {
    profile,
    schema,
    encoding,
    topic,
    data,
  }: Record<"profile" | "schema" | "encoding" | "topic", string> & { data: Uint8Array },
  useChunks = true,
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
  const writer = new McapWriter({ writable, useChunks });
  await writer.start({ profile, library: "a test" });
  const schemaId = await writer.registerSchema({ name: schema, encoding: "ros2msg", data: new Uint8Array() });
  const channelId = await writer.registerChannel({
    schemaId,
    topic,
    messageEncoding: encoding,
    metadata: new Map(),
  });
  for (let sequence = 0; sequence < 3; sequence++)
    await writer.addMessage({ channelId, sequence, logTime: BigInt(sequence), publishTime: 0n, data });
  await writer.end();
  await handle.close();
}
