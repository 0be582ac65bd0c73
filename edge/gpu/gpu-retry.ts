// SPDX-License-Identifier: Apache-2.0
// Looks for the GPU again in the first minutes of a run. A service may start before the driver has loaded: `auto` then
// begins on the CPU, and moves to the GPU when it answers.
import { type PluginProbe, probePluginBeside } from "../../cuda/index.js";
import type { AdjustableEngine } from "../pipeline/adjustable-engine.js";
import { findGpuCause, gatherGpuEvidence } from "./causes.js";

/** Seconds between two looks; the last one repeats. */
const PAUSES_S = [2, 4, 8, 15];
const LOOKS_FOR_S = 300;

export interface GpuRetryEvents {
  /** The CPU computes although a plugin is installed. @param code of GPU_CAUSES */
  onMissing(reason: string, code: string): void;
  /** The GPU computes from the next frame on. */
  onFound(): void;
}

export interface GpuRetryParts {
  engine: Pick<AdjustableEngine, "info" | "options" | "retryDevice">;
  events: GpuRetryEvents;
  /** Others in tests. */
  probe?: () => Promise<PluginProbe>;
  gather?: typeof gatherGpuEvidence;
  pausesSeconds?: readonly number[];
}

export class GpuRetry {
  readonly #parts: Required<GpuRetryParts>;
  #timer: NodeJS.Timeout | undefined;
  #waitedSeconds = 0;
  #looks = 0;
  #closed = false;

  constructor(parts: GpuRetryParts) {
    this.#parts = {
      probe: probePluginBeside,
      gather: gatherGpuEvidence,
      pausesSeconds: PAUSES_S,
      ...parts,
    };
  }

  /** Starts where `auto` computes on the CPU next to an installed plugin. Resolves after the first look. */
  async begin(): Promise<void> {
    const { info, options } = this.#parts.engine;
    if (options.backend !== "auto" || info.backend !== "cpu") return;
    await this.#look();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const { engine, events, probe, gather } = this.#parts;
    const found = await probe();
    if (this.#closed || !found.installed) return;
    let { reason } = found;
    if (reason === "") {
      try {
        await engine.retryDevice();
        if (!this.#closed) events.onFound();
        return;
      } catch (error) {
        reason = (error as Error).message;
      }
    }
    const cause = findGpuCause(await gather({ ...found, reason }));
    if (this.#closed || cause === undefined) return;
    events.onMissing(`${reason} Cause: ${cause.text}. ${cause.hint}`, cause.code);
    if (cause.retries) this.#lookLater();
  }

  #lookLater(): void {
    const { pausesSeconds } = this.#parts;
    const pause = pausesSeconds[Math.min(this.#looks++, pausesSeconds.length - 1)]!;
    this.#waitedSeconds += pause;
    if (this.#waitedSeconds > LOOKS_FOR_S) return;
    this.#timer = setTimeout(() => void this.#look(), pause * 1000);
    this.#timer.unref();
  }
}
