// SPDX-License-Identifier: Apache-2.0
// The newest ten minutes of each device's figures, as the plots want them. Older ones are forgotten.
import { finiteNumber, isRecord, type Metrics, member, numericEntries } from "../documents.js";

export interface Sample {
  /** Seconds since 1970, when the page received it. */
  seconds: number;
  fps: number | undefined;
  fpsPerWatt: number | undefined;
  joulesPerFrame: number | undefined;
  /** By rail; "total" is the total. */
  watts: Map<string, number>;
  latency: Map<string, number>;
  /** Since the start, by cause. */
  drops: Map<string, number>;
  temperatures: Map<string, number>;
  /** How the right camera is turned against its calibration, degrees, by axis; and rows apart. */
  rotation: Map<string, number>;
  rows: number | undefined;
}

const KEPT_SECONDS = 600;
/** Metrics come every 100 ms at the fastest. */
const MAX_SAMPLES = 6000;
const histories = new Map<string, Sample[]>();

function railWatts(power: unknown): Map<string, number> {
  const watts = new Map<string, number>();
  const total = finiteNumber(member(power, "watts"));
  if (total !== undefined) watts.set("total", total);
  const rails = member(power, "rails");
  if (isRecord(rails))
    for (const [name, rail] of Object.entries(rails).slice(0, 16)) {
      const value = finiteNumber(member(rail, "watts"));
      if (value !== undefined) watts.set(name, value);
    }
  return watts;
}

export function parseSample(document: unknown, seconds: number): Sample {
  const metrics = (isRecord(document) ? document : {}) as Metrics;
  const { power } = metrics;
  const alignment = member(metrics.health, "alignment");
  const turned = member(alignment, "rotationDegrees");
  return {
    seconds,
    fps: finiteNumber(metrics.fps),
    fpsPerWatt: finiteNumber(member(power, "fpsPerWatt")),
    joulesPerFrame: finiteNumber(member(power, "joulesPerFrame")),
    watts: railWatts(power),
    latency: new Map(numericEntries(metrics.latencyMs, 8)),
    drops: new Map(numericEntries(metrics.drops, 32)),
    temperatures: new Map(numericEntries(member(member(power, "context"), "temperaturesCelsius"), 16)),
    rotation: new Map(numericEntries(turned, 4).filter(([axis]) => axis !== "total")),
    rows: finiteNumber(member(member(alignment, "rows"), "p95")),
  };
}

export function remember(device: string, document: unknown, seconds = Date.now() / 1000): void {
  let samples = histories.get(device);
  if (!samples) {
    samples = [];
    histories.set(device, samples);
  }
  samples.push(parseSample(document, seconds));
  const old = samples.findIndex((sample) => sample.seconds > seconds - KEPT_SECONDS);
  if (old > 60 || samples.length > MAX_SAMPLES)
    samples.splice(0, Math.max(old, samples.length - MAX_SAMPLES));
}

/** The samples of the newest `seconds`, oldest first. */
export function recent(device: string | undefined, seconds: number): Sample[] {
  const samples = (device !== undefined && histories.get(device)) || [];
  const newest = samples.at(-1)?.seconds ?? 0;
  return samples.filter((sample) => sample.seconds >= newest - seconds);
}

/** Returns increments a second between neighbouring samples, by cause; a program that restarted counts from 0. */
export function perSecond(samples: readonly Sample[], cause: string): (number | undefined)[] {
  return samples.map((sample, index) => {
    const before = samples[index - 1];
    const [now, then] = [sample.drops.get(cause) ?? 0, before?.drops.get(cause) ?? 0];
    if (!before || now < then) return undefined;
    return (now - then) / Math.max(0.05, sample.seconds - before.seconds);
  });
}
