// SPDX-License-Identifier: Apache-2.0
// Sources, engines and the meter of a run as a test scripts them. A test file replaces the modules that open them:
//   vi.mock("…/edge/run/open-source.js", async () => (await import("…/run-script.js")).sourceModule);
//   vi.mock("…/cuda/engine/binding/engine.js", async () => (await import("…/run-script.js")).engineModule);
//   vi.mock("…/edge/power/open-meter.js", async () => (await import("…/run-script.js")).meterModule);
// This file must not import the run, which would wait for these modules.
import {
  type FramePair,
  greyPairLayout,
  type PairSource,
  type RawImage,
  type SourceCounters,
  type SourceDescription,
  type SourceEvents,
  type StereoCalibration,
} from "../../camera/index.js";
import type { EngineOptions, NativeEngine } from "../../cuda/index.js";
import type { Config } from "../../edge/config/index.js";
import { Meter } from "../../power/index.js";

export interface ScriptedImages {
  left: Uint8Array;
  right: Uint8Array;
}

/** A source that delivers what a test gives it. */
export class ScriptedSource implements PairSource {
  readonly description: SourceDescription;
  readonly number: number;
  /** Drops, skew and drift that counters() reports. */
  counted: Omit<SourceCounters, "pairs"> = {
    dropsLeft: {},
    dropsRight: {},
    skewMsMean: undefined,
    skewMsP99: undefined,
    driftPpm: undefined,
  };
  events: SourceEvents | undefined;
  stopped = false;
  delivered = 0;
  released = 0;
  /** Set: the source fails as soon as it is started. */
  failure: Error | undefined;
  /** Delivers a pair as soon as it is started. */
  eager = false;
  readonly #images: (sequence: number) => ScriptedImages;

  constructor(
    number: number,
    size: { width: number; height: number },
    images: (sequence: number) => ScriptedImages,
    description: Partial<SourceDescription> = {},
  ) {
    this.number = number;
    this.#images = images;
    this.description = {
      title: `source ${number}`,
      ...greyPairLayout(size.width, size.height),
      rateHz: 30,
      clock: "monotonic",
      ...description,
    };
  }

  start(events: SourceEvents): void {
    this.events = events;
    if (this.failure !== undefined) events.onError(this.failure);
    else if (this.eager) this.deliver();
  }

  async stop(): Promise<void> {
    this.stopped = true;
  }

  counters(): SourceCounters {
    return { pairs: this.delivered, ...this.counted };
  }

  /** @param leftNs capture time of the left image; default: now. The right one is captured 1 ms later */
  deliver(leftNs = process.hrtime.bigint(), rightNs = leftNs + 1_000_000n): void {
    const sequence = this.delivered++;
    const { width, height, leftFormat, leftStrideBytes, clock } = this.description;
    const { left, right } = this.#images(sequence);
    const image = (data: Uint8Array, timestampNs: bigint, number: number): RawImage => ({
      data,
      width,
      height,
      strideBytes: leftStrideBytes,
      format: leftFormat,
      timestampNs,
      sequence: number,
    });
    let released = false;
    const pair: FramePair = {
      left: image(left, leftNs, sequence),
      right: image(right, rightNs, sequence + 1000),
      clock,
      release: () => {
        if (released) throw new Error(`pair ${sequence} of source ${this.number} was released twice`);
        released = true;
        this.released++;
      },
    };
    this.events!.onPair(pair);
  }
}

/** The three parts of a run that a test replaces. */
interface Parts {
  /** @throws what opening the source throws */
  openSource(config: Config): {
    source: PairSource;
    calibration?: StereoCalibration | undefined;
    warnings?: string[];
  };
  /** @throws what opening the engine throws */
  openEngine(options: EngineOptions): NativeEngine;
  openMeter(): Meter;
}

const unset = (): never => {
  throw new Error("expected a script of the run");
};
/** Assign its members before openScriptedRun(). */
export const script: Parts = {
  openSource: unset,
  openEngine: unset,
  openMeter: () => new Meter({ sensor: { available: false, reason: "power.sensor is 'none'" } }),
};

export const sourceModule = {
  openSource: async (config: Config) => {
    const { source, calibration, warnings = [] } = script.openSource(config);
    return { source, calibration, brought: calibration !== undefined, warnings };
  },
  calibrationFor: async () => ({ calibration: undefined, brought: false, warnings: [] }),
};
export const engineModule = {
  createEngine: (options: EngineOptions) => script.openEngine(options),
  openEngine: async (options: EngineOptions) => script.openEngine(options),
};
export const meterModule = {
  openMeter: () => script.openMeter(),
  powerNative: () => undefined,
  contextReader: () => () => ({}),
};
