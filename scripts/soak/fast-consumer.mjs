// SPDX-License-Identifier: Apache-2.0
// A fast consumer, a process of its own: reads every stream with the library, unpacks every frame, and judges each: checksum, order,
// and whether its parts are of one moment. The left image of the scene carries its frame number. Words: URL, device, streams.
import { readFrameIndex } from "../../dist/camera/index.js";
import { connectConsumer } from "../../dist/edge/consumer/index.js";

const [url, device, ...streams] = process.argv.slice(2);
const consumer = connectConsumer(url, { device, streams, longestPauseMs: 1000 });

const counts = { crc: 0, invalid: 0, undecodable: 0, outOfOrder: 0, torn: 0, boards: 0 };
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
  // A change of source begins its numbers anew; those of frames go on.
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
    complain("torn", `${stream}: right ${rightSequence} beside left ${leftSequence}, before ${known}`);
  pairs.set(key, rightSequence);
  if (pairs.size > 64) pairs.delete(pairs.keys().next().value);
  if (stream === "left") readBoard(frame);
  if (stream === "depth" && frame.latencyMs !== undefined) latencies.push(frame.latencyMs);
});

function readBoard({ header, counts: unpack }) {
  const { width, height, leftSequence, element } = header;
  if (element !== "u8") return;
  const read = readFrameIndex({ data: unpack(), width, height });
  if (read === undefined) return;
  counts.boards++;
  if (read !== leftSequence % 2 ** 24)
    complain("torn", `left: the picture is ${read}, its header says ${leftSequence}`);
}

process.on("message", async () => {
  await consumer.close();
  process.send(
    { counts, byStream, latencies: latencies.map((ms) => Math.round(ms * 100) / 100), complaints },
    () => process.disconnect(),
  );
});
await consumer.firstAttempt;
process.send({ ready: true });
