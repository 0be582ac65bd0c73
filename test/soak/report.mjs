// SPDX-License-Identifier: Apache-2.0
// The report of a soak: its figures as JSON, and what they were over time as plots.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatResult } from "../../bench/shared/result-file.mjs";
import { xyPlot } from "../../dist/edge/plot/index.js";

/** Nearest rank; undefined where nothing was measured. */
export function percentiles(values) {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (percent) => sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)];
  return { frames: sorted.length, p50: at(50), p99: at(99), worst: sorted.at(-1) };
}

/** At most so many points of each series: what a screen shows. */
const MAX_POINTS = 600;
const thinned = (points) => points.filter((_, index) => index % Math.ceil(points.length / MAX_POINTS) === 0);

export function writeReport(folder, report, { samples, faults }) {
  mkdirSync(folder, { recursive: true });
  const name = `${report.date}-${report.commit}-soak${report.cameras === undefined ? "" : "-cameras"}`;
  const zero = samples[0].atMs;
  const over = (field, scale = 1) =>
    thinned(
      samples
        .filter((sample) => sample[field] !== undefined)
        .map((sample) => [(sample.atMs - zero) / 60_000, sample[field] * scale]),
    );
  const title = (what) => `${what}, soak of ${report.rows[0].minutes} minutes`;
  const plot = (file, options) =>
    writeFileSync(join(folder, `${name}-${file}.svg`), xyPlot({ x: "minutes", ...options }));
  plot("memory", {
    title: title("Memory"),
    y: "MB",
    series: [
      { name: "resident", points: over("residentBytes", 1e-6), only: "line" },
      { name: "anonymous", points: over("anonymousBytes", 1e-6), only: "line" },
      { name: "heap, collected", points: over("heapBytes", 1e-6), only: "line" },
      { name: "array buffers", points: over("arrayBufferBytes", 1e-6), only: "line" },
    ],
  });
  plot("handles", {
    title: title("Descriptors and threads"),
    y: "count",
    series: [
      { name: "descriptors", points: over("descriptors"), only: "line" },
      { name: "threads", points: over("threads"), only: "line" },
    ],
  });
  const latency = (percentile) =>
    thinned(
      samples
        .filter(({ latencyMs }) => latencyMs !== undefined)
        .map(({ atMs, latencyMs }) => [(atMs - zero) / 60_000, latencyMs[percentile]]),
    );
  plot("latency", {
    title: title("Capture to result, newest 1024 frames"),
    y: "ms",
    series: [
      { name: "p50", points: latency("p50"), only: "line" },
      { name: "p99", points: latency("p99"), only: "line" },
      {
        name: "faults",
        points: faults.map(({ atMs }) => [Math.max(0, (atMs - zero) / 60_000), 0]),
        only: "marks",
      },
    ],
  });
  writeFileSync(join(folder, `${name}.json`), formatResult(report));
}
