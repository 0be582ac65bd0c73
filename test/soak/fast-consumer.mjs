// SPDX-License-Identifier: Apache-2.0
// A fast consumer, its own process: reads every stream with the library, unpacks every frame, and judges each: checksum, order,
// and whether its parts are of one moment. Words: URL, device, what its left images show ("scene" or "bars"), streams.
import { readFrameIndex } from "../../dist/camera/index.js";
import { connectConsumer } from "../../dist/clients/javascript/src/index.js";

const [url, device, shown, ...streams] = process.argv.slice(2);
const consumer = connectConsumer(url, { device, streams, longestPauseMs: 1000 });

const counts = { crc: 0, invalid: 0, undecodable: 0, outOfOrder: 0, torn: 0, pictures: 0 };
const byStream = Object.fromEntries(streams.map((name) => [name, { frames: 0, missing: 0 }]));
const latencies = [];
const complaints = [];
/** By stream, within one connection of the publisher. */
const last = new Map();
/** Pairs by the left sequence number: all streams of one frame name the same right one. */
const pairs = new Map();

function complain(what, detail) {
  counts[what]++;
  if (complaints.length < 20) complaints.push(`${what}: ${detail}`);
}

consumer.on("invalid", ({ stream, crc, error }) =>
  complain(crc ? "crc" : "invalid", `${stream}: ${error.message}`),
);
consumer.on("frame", (frame) => {
  const { stream, header } = frame;
  const own = byStream[stream];
  own.frames++;
  own.missing += frame.missingBefore;
  const { frameNumber, runId, leftSequence, rightSequence, leftTimestampNs } = header;
  const before = last.get(stream);
  // A change of source restarts its numbers; those of frames continue.
  if (before !== undefined && before.runId === runId && frameNumber <= before.frameNumber)
    complain("outOfOrder", `${stream}: ${frameNumber} after ${before.frameNumber}`);
  last.set(stream, { runId, frameNumber });
  try {
    if (stream === "points") frame.points();
    else frame.counts();
  } catch (error) {
    complain("undecodable", `${stream}: ${error.message}`);
  }
  const key = `${leftSequence}/${leftTimestampNs}`;
  const known = pairs.get(key);
  if (known !== undefined && known !== rightSequence)
    complain("torn", `${stream}: right ${rightSequence} with left ${leftSequence}, before ${known}`);
  pairs.set(key, rightSequence);
  if (pairs.size > 64) pairs.delete(pairs.keys().next().value);
  if (stream === "left" && header.element === "u8") PICTURES[shown](frame);
  if (stream === "depth" && frame.latencyMs !== undefined) latencies.push(frame.latencyMs);
});

const PICTURES = {
  /** The left image of the scene carries its frame number. */
  scene({ header: { width, height, leftSequence }, counts: unpack }) {
    const read = readFrameIndex({ data: unpack(), width, height });
    if (read === undefined) return;
    counts.pictures++;
    if (read !== leftSequence % 2 ** 24)
      complain("torn", `left: the picture is ${read}, its header says ${leftSequence}`);
  },
  /**
   * Upright bars that move from image to image: the rows of one moment are the same. Between the upper 16 and the lowest 4 of them the
   * driver may have written, when it has just come back.
   */
  bars({ header: { width, height, frameNumber }, counts: unpack }) {
    const pixels = unpack();
    const row = (y) => pixels.subarray(y * width, (y + 1) * width);
    const last = row(height - 1);
    counts.pictures++;
    for (let y = 0; y < height - 1; y = y === 15 ? height - 4 : y + 1)
      if (Buffer.compare(row(y), last) !== 0)
        return complain(
          "torn",
          `left: row ${y} of frame ${frameNumber} is not of the moment of the last one`,
        );
  },
};

process.on("message", async () => {
  await consumer.close();
  process.send(
    { counts, byStream, latencies: latencies.map((ms) => Math.round(ms * 100) / 100), complaints },
    () => process.disconnect(),
  );
});
await consumer.firstAttempt;
process.send({ ready: true });
