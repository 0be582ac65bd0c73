// SPDX-License-Identifier: Apache-2.0
// Checks the results of a soak: every pair and every frame accounted for, nothing damaged, nothing that grows. Speed is
// not checked.
import { mean } from "../../dist/core/statistics.js";

const sum = (drops, pattern) =>
  Object.entries(drops).reduce((total, [cause, count]) => total + (pattern.test(cause) ? count : 0), 0);

const STREAMS = ["depth", "disparity", "confidence", "left", "right", "points"];
/** A stream's own drops, and those of the whole output. */
const ofStream = (stream) => new RegExp(`^mqtt\\.(${stream}\\.|(held|failed|rateLimit|notReleased)$)`);
const ROS_TOPICS = ["depth", "compressedDepth", "camera_info"];

/** One row for each sum that must come out: what was counted, and what it is made of. */
export function accounts({ captured, figures, lent }) {
  const { frames, drops, outputs } = figures;
  const before = sum(drops, /^(engineBusy|notSent|backendLost|engineFailed|governor|sourceChanged)$/);
  const rows = [{ of: "pairs captured", expected: captured, done: frames, dropped: before }];
  const add = (of, done, dropped) => rows.push({ of, expected: frames, done, dropped });
  for (const stream of STREAMS)
    add(`mqtt ${stream}`, outputs.mqtt.sentByStream[stream] ?? 0, sum(drops, ofStream(stream)));
  add("viewer", lent.viewer, sum(drops, /^viewer\./));
  add("mcap", outputs.mcap.sent, sum(drops, /^mcap\./));
  add("derived", lent.derived, sum(drops, /^derived\./));
  for (const topic of ROS_TOPICS)
    add(
      `ros ${topic}`,
      outputs.ros.sentByTopic?.[topic] ?? 0,
      sum(drops, new RegExp(`^ros\\.(${topic}\\.|(held|failed|rateLimit|notReleased)$)`)),
    );
  return rows.map((row) => ({ ...row, exact: row.done + row.dropped === row.expected }));
}

/** Returns the lowest value of each bucket: the use at rest. */
function floors(samples, field, bucketMs) {
  const buckets = new Map();
  for (const { atMs, [field]: value } of samples) {
    if (value === undefined) continue;
    const bucket = Math.floor((atMs - samples[0].atMs) / bucketMs);
    buckets.set(bucket, Math.min(buckets.get(bucket) ?? Number.POSITIVE_INFINITY, value));
  }
  return [...buckets].map(([bucket, value]) => [(bucket * bucketMs) / 60_000, value]);
}

/** Least squares, units a minute. */
function slope(points) {
  const [x0, y0] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const over = points.reduce((total, [x]) => total + (x - x0) ** 2, 0);
  return over === 0 ? 0 : points.reduce((total, [x, y]) => total + (x - x0) * (y - y0), 0) / over;
}

const MEMORY = ["heapBytes", "residentBytes"];
const COUNTS = ["descriptors", "threads"];
const LIMIT_MB_PER_MINUTE = 0.5;
/** A slope over a minute or two is noise: there, what was added in all is judged, with this much for noise. */
const SHORT_MINUTES = 10;
const SHORT_ALLOWANCE_MB = { heapBytes: 16, residentBytes: 200 };

/** @param samples those after the warm-up */
export function growth(samples) {
  const minutes = (samples.at(-1).atMs - samples[0].atMs) / 60_000;
  const bucketMs = Math.max(5000, Math.min(30_000, (minutes * 60_000) / 12));
  const memory = MEMORY.map((field) => {
    const points = floors(samples, field, bucketMs).map(([x, bytes]) => [x, bytes / 1e6]);
    const perMinute = slope(points);
    const limit =
      minutes >= SHORT_MINUTES
        ? LIMIT_MB_PER_MINUTE
        : LIMIT_MB_PER_MINUTE + SHORT_ALLOWANCE_MB[field] / Math.max(minutes, 0.1);
    return {
      of: field,
      unit: "MB/min",
      slope: round(perMinute),
      limit: round(limit),
      flat: perMinute < limit,
    };
  });
  // Connections come and go: the lowest use at the end must occur at the beginning too.
  const third = Math.ceil(samples.length / 3);
  const counts = COUNTS.map((field) => {
    const first = Math.max(...samples.slice(0, third).map((sample) => sample[field]));
    const last = Math.min(...samples.slice(-third).map((sample) => sample[field]));
    return { of: field, maxInTheBeginning: first, minInTheEnd: last, flat: last <= first };
  });
  return [...memory, ...counts];
}

/** Sentences; none: the soak is passed. */
export function verdict({ accounts: rows, growth: grown, consumers, ended, faults, refusals }) {
  const wrong = [];
  for (const { of, expected, done, dropped, exact } of rows)
    if (!exact) wrong.push(`${of}: expected ${expected}, got ${done} done and ${dropped} dropped`);
  for (const { of, flat, ...facts } of grown) if (!flat) wrong.push(`${of} grew: ${JSON.stringify(facts)}`);
  for (const { name, counts, byStream, complaints } of consumers) {
    for (const what of ["crc", "invalid", "undecodable", "outOfOrder", "torn"])
      if (counts[what] > 0) wrong.push(`${name}: ${counts[what]} frames ${what}: ${complaints.join("; ")}`);
    if (counts.pictures === 0) wrong.push(`${name}: no left image was judged by what it shows`);
    for (const [stream, { frames, missing }] of Object.entries(byStream)) {
      const sent = ended.figures.outputs.mqtt.sentByStream[stream] ?? 0;
      if (frames === 0) wrong.push(`${name}: no frame of ${stream} came`);
      if (frames > sent) wrong.push(`${name}: ${frames} frames of ${stream} came, ${sent} were sent`);
      if (missing > ended.figures.frames) wrong.push(`${name}: ${missing} frames of ${stream} are missing`);
    }
  }
  for (const { name, error } of faults) if (error !== undefined) wrong.push(`fault "${name}": ${error}`);
  wrong.push(...refusals);
  return wrong;
}

const round = (value) => Math.round(value * 1000) / 1000;
