// SPDX-License-Identifier: Apache-2.0
// NVIDIA's management library as a sensor: the energy counter of one GPU board, and its power next to it. Covers the
// GPU board only, not the machine around it.
import type { NvmlBinding, NvmlDevice, NvmlSample } from "./native.js";
import type { SampledRail, SampledSensor } from "./sampled.js";
import type { PowerSensor, RailReading, TotalRule, Unavailable } from "./sensor.js";
import { defineSensor } from "./sensor-definition.js";

export interface NvmlOptions {
  /** Without it NVML is unavailable. */
  native?: NvmlBinding | undefined;
  /** NVML's index of the GPU, in PCI order; default 0. */
  nvmlDevice?: number;
  clock?: () => bigint;
}

/** The energy counter counts millijoules. */
const STEP_MICROJOULES = 1000;
/** Power readings are renewed every 20 to 100 ms, depending on the GPU; NVML does not say. */
const UPDATE_INTERVAL_MS = 100;

class NvmlSensor implements SampledSensor {
  readonly name = "nvml";
  readonly rails: readonly SampledRail[];
  readonly total: TotalRule;
  readonly #native: NvmlBinding;
  readonly #device: NvmlDevice;
  readonly #clock: () => bigint;

  constructor(native: NvmlBinding, device: NvmlDevice, clock: () => bigint, first: NvmlSample) {
    this.#native = native;
    this.#device = device;
    this.#clock = clock;
    const rails: SampledRail[] = [];
    const label = `GPU${device.index}`;
    if (typeof first.energyMillijoules === "number")
      rails.push(this.#energyRail(label, first.energyMillijoules));
    if (typeof first.powerMilliwatts === "number") rails.push(this.#powerRail(`${label} power`));
    this.rails = rails;
    this.total = {
      rails: [rails[0]!.label],
      reason: `${device.name} by NVML: the GPU board alone, without the machine around it`,
    };
  }

  #energyRail(label: string, firstMillijoules: number): SampledRail {
    return {
      label,
      sourcePath: `nvml:${this.#device.uuid}:energy`,
      kind: "energy",
      updateIntervalMs: UPDATE_INTERVAL_MS,
      step: STEP_MICROJOULES,
      sources: [{ nvml: this.#device.index, quantity: "energy" }],
      decode: ([millijoules], timestampNs) => ({
        available: true,
        timestampNs,
        energyMicrojoules: BigInt(Math.round((millijoules! - firstMillijoules) * 1000)),
      }),
    };
  }

  #powerRail(label: string): SampledRail {
    return {
      label,
      sourcePath: `nvml:${this.#device.uuid}:power`,
      kind: "power",
      updateIntervalMs: undefined,
      step: 1,
      sources: [{ nvml: this.#device.index, quantity: "power" }],
      decode: ([powerMilliwatts], timestampNs) => ({
        available: true,
        timestampNs,
        powerMilliwatts: powerMilliwatts!,
      }),
    };
  }

  read(): RailReading[] {
    const before = this.#clock();
    const sample = this.#native.nvmlRead(this.#device.index);
    const timestampNs = before + (this.#clock() - before) / 2n;
    return this.rails.map((rail): RailReading => {
      const value = rail.kind === "energy" ? sample.energyMillijoules : sample.powerMilliwatts;
      if (typeof value !== "number") return { available: false, reason: `${rail.label}: ${value.error}` };
      return rail.decode([value], timestampNs);
    });
  }

  close(): void {}
}

export function openNvml(options: NvmlOptions): PowerSensor | Unavailable {
  if (options.native === undefined) {
    return { available: false, reason: "the native addon, which talks to NVML, is not loaded" };
  }
  const opened = options.native.nvmlOpen();
  if (!opened.available) return opened;
  const wanted = options.nvmlDevice ?? 0;
  const device = opened.devices.find((d) => d.index === wanted);
  if (device === undefined) {
    return {
      available: false,
      reason: `NVML shows ${opened.devices.length} GPUs, none with index ${wanted}`,
    };
  }
  const first = options.native.nvmlRead(device.index);
  if (typeof first.energyMillijoules !== "number" && typeof first.powerMilliwatts !== "number") {
    return { available: false, reason: `${device.name}: ${first.powerMilliwatts.error}` };
  }
  return new NvmlSensor(options.native, device, options.clock ?? process.hrtime.bigint, first);
}

export const nvml = defineSensor({ name: "nvml", choices: ["nvml"], measures: "part", open: openNvml });
