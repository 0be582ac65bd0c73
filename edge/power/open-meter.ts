// SPDX-License-Identifier: Apache-2.0
// Opens the meter of a run: hands power/ the native clock, NVML and the board's rule, which it may not fetch itself.
import {
  type ContextSnapshot,
  Meter,
  openBestSensor,
  type PowerNative,
  readContext,
  type SensorChoice,
  type TotalRule,
  withGpu,
} from "../../power/index.js";
import type { Config } from "../config/index.js";
import type { NativeAddon } from "../contracts/native.js";
import { openSupply } from "./supply.js";

/** depthwatt computes on the first GPU. */
const FIRST_GPU = 0;

export interface OpenMeterOptions {
  sensor: SensorChoice;
  rateHz: number;
  /** Undefined where the addon does not load: readings are then taken on a timer, and NVML is unavailable. */
  native: NativeAddon | undefined;
  /** The detected board's total. */
  totalRule?: TotalRule | undefined;
  /** Where a bench supply or smart plug reports; needed for "mqtt". */
  supply?: Config["power"]["supply"];
}

/** The addon's native half of power/. */
export function powerNative(native: NativeAddon | undefined): PowerNative | undefined {
  return native?.power as PowerNative | undefined;
}

/** How to read the conditions next to a sensor's figures; with the GPU's own where the sensor measures one. */
export function contextReader(
  sensor: Meter["sensor"],
  native: PowerNative | undefined,
): () => ContextSnapshot {
  const read = (): ContextSnapshot => readContext();
  const measuresGpu = "rails" in sensor && sensor.rails.some((rail) => rail.sourcePath.startsWith("nvml:"));
  return measuresGpu && native !== undefined ? withGpu(read, native, FIRST_GPU) : read;
}

/**
 * A machine without a sensor gets a meter whose every figure is unavailable with the reason.
 * @throws DepthwattError CONFIG_INVALID for a power.supply.broker that is no URL
 */
export function openMeter(options: OpenMeterOptions): Meter {
  const native = powerNative(options.native);
  const open = () =>
    openBestSensor({
      choice: options.sensor,
      native,
      nvmlDevice: FIRST_GPU,
      ...(options.sensor === "mqtt" && options.supply && { external: openSupply(options.supply) }),
      ...(options.totalRule && { totalRule: options.totalRule }),
    });
  const sensor = open();
  let read = contextReader(sensor, native);
  const reopen = () => {
    const found = open();
    read = contextReader(found, native);
    return found;
  };
  return new Meter({
    sensor,
    rateHz: options.rateHz,
    native,
    readContext: () => read(),
    // A supply connects again on its connection.
    ...(!["none", "mqtt"].includes(options.sensor) && { reopen }),
  });
}
