// SPDX-License-Identifier: Apache-2.0
// The frame format does not change: the writer makes the bytes that are committed, and the reader reads them. PNG files are those
// of a library, which may pack them otherwise one day; of them only the reader is held.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { decodeBody } from "../../clients/javascript/src/decode.js";
import { crc32 } from "../../core/frame/crc32.js";
import { parseFrame } from "../../core/frame/payload.js";
import { goldenFrames } from "./frame-cases.mjs";

interface Golden {
  name: string;
  countsCrc: number;
  base64: string;
}
const committed = JSON.parse(readFileSync(new URL("frames.json", import.meta.url), "utf8")) as Golden[];

test("every frame is written as it was, and read as it was meant", async () => {
  const frames = await goldenFrames();
  expect(frames.map(({ name }) => name)).toEqual(committed.map(({ name }) => name));
  for (const [index, { name, message, countsCrc }] of frames.entries()) {
    const golden = committed[index]!;
    const bytes = Buffer.from(golden.base64, "base64");
    if (!name.includes("png")) expect(Buffer.from(message).equals(bytes), name).toBe(true);
    const { header, body } = parseFrame(bytes);
    expect(header.reduction, name).toBe(
      name.endsWith("half") || name.includes("twice") ? 2 : name.endsWith("quarter") ? 4 : 1,
    );
    // Points are not packed: their body is what was meant.
    const counts = header.stream === "points" ? Uint8Array.from(body) : decodeBody(header, body);
    if (header.encoding !== "voxels")
      expect(crc32(new Uint8Array(counts.buffer)), name).toBe(golden.countsCrc);
    expect(countsCrc, name).toBe(golden.countsCrc);
  }
});
