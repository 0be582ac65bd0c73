// SPDX-License-Identifier: Apache-2.0
// Follows objects whose ids repeat: their speed, and the nearest one by label.

export interface Position {
  x: number;
  y: number;
  z: number;
}

interface Track {
  label: string | undefined;
  /** Times in milliseconds, rising, and where the object was, metres. */
  samples: { timeMs: number; position: Position }[];
  /** When the last detection arrived, on this process's clock. */
  arrivedMs: number;
}

/** Objects that are followed at once; beyond, the least recently detected object is forgotten. */
const MAX_TRACKS = 256;
const MAX_SAMPLES = 16;
/** Speed is the slope over this time; a shorter span than the least one is noise. */
const SPEED_WINDOW_MS = 2000;
const LEAST_SPAN_MS = 80;

/** Slope of the line through samples by least squares, metres per second. */
function slope(samples: Track["samples"], axis: keyof Position): number {
  const [n, first] = [samples.length, samples[0]!.timeMs];
  const seconds = samples.map(({ timeMs }) => (timeMs - first) / 1000);
  const meanTime = seconds.reduce((sum, time) => sum + time, 0) / n;
  const meanPlace = samples.reduce((sum, { position }) => sum + position[axis], 0) / n;
  let [both, square] = [0, 0];
  for (const [index, { position }] of samples.entries()) {
    const away = seconds[index]! - meanTime;
    both += away * (position[axis] - meanPlace);
    square += away * away;
  }
  return both / square;
}

export class Tracks {
  readonly #keepMs: number;
  readonly #now: () => number;
  /** By id; the least recently detected object comes first. */
  readonly #tracks = new Map<string, Track>();

  /** @param now milliseconds of a clock that never goes back */
  constructor(keepSeconds: number, now: () => number = () => performance.now()) {
    this.#keepMs = 1000 * keepSeconds;
    this.#now = now;
  }

  get size(): number {
    return this.#tracks.size;
  }

  /** Adds where an object was. @returns its velocity in metres per second; undefined: too few positions */
  add(id: string, label: string | undefined, timeMs: number, position: Position): Position | undefined {
    const track = this.#tracks.get(id);
    this.#tracks.delete(id);
    // A detection that arrives late adds nothing, and one after a long pause starts again.
    const samples =
      track?.samples.filter((sample) => Math.abs(timeMs - sample.timeMs) <= SPEED_WINDOW_MS) ?? [];
    if (samples.every((sample) => sample.timeMs < timeMs)) samples.push({ timeMs, position });
    if (samples.length > MAX_SAMPLES) samples.shift();
    this.#tracks.set(id, { label, samples, arrivedMs: this.#now() });
    const oldest = this.#tracks.keys().next().value;
    if (this.#tracks.size > MAX_TRACKS && oldest !== undefined) this.#tracks.delete(oldest);
    if (samples.length < 2 || samples.at(-1)!.timeMs - samples[0]!.timeMs < LEAST_SPAN_MS) return undefined;
    return { x: slope(samples, "x"), y: slope(samples, "y"), z: slope(samples, "z") };
  }

  end(id: string): void {
    this.#tracks.delete(id);
  }

  clear(): void {
    this.#tracks.clear();
  }

  /** Returns the smallest z by label of the objects that are still followed. */
  nearest(): Record<string, number> {
    const nearest = new Map<string, number>();
    for (const [id, { label, samples, arrivedMs }] of this.#tracks) {
      if (this.#now() - arrivedMs > this.#keepMs) {
        this.#tracks.delete(id);
        continue;
      }
      const z = samples.at(-1)!.position.z;
      const key = label ?? "unlabelled";
      nearest.set(key, Math.min(nearest.get(key) ?? z, z));
    }
    return Object.fromEntries([...nearest].map(([label, z]) => [label, Number(z.toFixed(4))]));
  }
}
