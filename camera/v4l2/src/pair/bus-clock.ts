// SPDX-License-Identifier: Apache-2.0
// The clocks that cameras of one bus share. Hardware-synchronised cameras keep their order in time only if the same
// offset brings the stamps of both to CLOCK_MONOTONIC.
import { readFileSync } from "node:fs";
import type { CounterReading, NativeAddon } from "../native.js";
import { LowerEnvelope } from "./lower-envelope.js";

/** Both clocks of the machine, read back to back, ns. */
export type ClockReader = () => { monotonicNs: bigint; realtimeNs: bigint };

/** How an offset between a stamp's clock and CLOCK_MONOTONIC is known. */
export type OffsetSource =
  /** The kernel names the counter's lead over CLOCK_MONOTONIC_RAW (clocksource0/offset_ns). */
  | "offset_ns"
  /** The CPU's counter is read next to CLOCK_MONOTONIC. */
  | "counter"
  /** Both clocks of the kernel are read. */
  | "clocks"
  /** The shortest delays between stamp and arrival. */
  | "arrival";

/** An offset that was just measured: added to a stamp it gives CLOCK_MONOTONIC. */
export interface MeasuredOffset {
  offsetNs: bigint;
  uncertaintyNs: number;
  source: OffsetSource;
}

/** Readers of a machine's clocks. `counter` and `kernelLeadNs` are absent if there is no such clock. */
export interface HostClocks {
  clocks: ClockReader;
  counter?: () => CounterReading;
  /** The content of clocksource0/offset_ns: the counter's lead over CLOCK_MONOTONIC_RAW, ns. */
  kernelLeadNs?: bigint | undefined;
}

/** An offset is renewed so often: 50 ppm are 13 us in that time. */
const RENEW_NS = 250e6;
/** A renewed offset holds for images that were captured later than the newest one by this: both cameras change together. */
const GUARD_NS = 5e6;
/** CLOCK_REALTIME was set where the age of an image changes by more. */
const STEP_NS = 2e6;
/** An offset falls by no more than this share of the time between two images, so that capture times keep rising. */
const MAX_FALL = 0.4;

// Entries of a timeline's state.
const CURRENT = 0;
const PREVIOUS = 1;
/** Capture time from which the current offset holds. */
const FROM = 2;
/** Latest capture time, before offsets. */
const NEWEST = 3;
const RENEWED = 4;

/** One clock's offset to CLOCK_MONOTONIC: a fixed part, and a small part that follows drift and steps. */
export class Timeline {
  /** Added to stamps by the cameras; a camera whose counter jumped adds another. */
  readonly baseNs: bigint;
  /** Added by a camera since its last jump: another camera of the bus jumps by the same. */
  bridgedNs: bigint;
  readonly #measure: (() => MeasuredOffset | undefined) | undefined;
  readonly #envelope = new LowerEnvelope();
  readonly #state = Float64Array.of(
    0,
    0,
    Number.NEGATIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
  );
  #measured: MeasuredOffset | undefined;

  readonly #leastAgeNs: number;

  /**
   * @param measure absent: the arrival of images is all there is
   * @param leastAgeNs what the shortest delay between capture and arrival takes, where it is known
   */
  constructor(baseNs: bigint, measure?: () => MeasuredOffset | undefined, leastAgeNs = 0) {
    this.baseNs = this.bridgedNs = baseNs;
    this.#measure = measure;
    this.#measured = measure?.();
    this.#leastAgeNs = leastAgeNs;
  }

  /**
   * Returns what to subtract from the age of an image, and learns from it.
   * @param rawNs arrival less stamp less base
   * @param lastNs age of the camera's image before; NaN for the first
   */
  correctionNs(arrivalNs: number, rawNs: number, lastNs: number): number {
    const s = this.#state;
    const capturedNs = arrivalNs - rawNs;
    const stepNs = capturedNs - s[NEWEST]!;
    s[NEWEST] = Math.max(s[NEWEST]!, capturedNs);
    if (this.#measure === undefined) this.#envelope.add(arrivalNs, rawNs - this.#leastAgeNs);
    const isSet = this.#isSettable && Math.abs(rawNs - s[CURRENT]! - lastNs) > STEP_NS;
    const isYounger = this.#measure === undefined && rawNs - this.#leastAgeNs < s[CURRENT]!;
    if (isSet || isYounger || arrivalNs - s[RENEWED]! >= RENEW_NS) this.renew(arrivalNs, stepNs);
    return this.peekNs(arrivalNs, rawNs, lastNs);
  }

  /** The same without learning from the image. */
  peekNs(arrivalNs: number, rawNs: number, lastNs: number): number {
    const s = this.#state;
    // Stamps of a clock that was set may repeat: their age shows on which side of the step they are.
    const isNew = this.#isSettable
      ? !(Math.abs(rawNs - s[PREVIOUS]! - lastNs) < Math.abs(rawNs - s[CURRENT]! - lastNs))
      : arrivalNs - rawNs >= s[FROM]!;
    return s[isNew ? CURRENT : PREVIOUS]!;
  }

  /** @param stepNs capture time since the newest image before */
  renew(arrivalNs: number, stepNs: number): void {
    const s = this.#state;
    if (!this.#isSettable && s[FROM]! > s[NEWEST]!) return;
    const target = this.#target(arrivalNs, stepNs);
    if (target === undefined) return;
    // Images from before a step may still come.
    if (!this.#isSettable || Math.abs(target - s[CURRENT]!) > STEP_NS) s[PREVIOUS] = s[CURRENT]!;
    s[CURRENT] = target;
    s[FROM] = s[NEWEST]! + GUARD_NS;
    s[RENEWED] = arrivalNs;
  }

  get #isSettable(): boolean {
    return this.#measured?.source === "clocks";
  }

  #target(arrivalNs: number, stepNs: number): number | undefined {
    if (this.#measure !== undefined) {
      const measured = this.#measure();
      if (measured === undefined) return undefined;
      this.#measured = measured;
      return Number(measured.offsetNs - this.baseNs);
    }
    const wanted = this.#envelope.at(arrivalNs);
    const current = this.#state[CURRENT]!;
    if (wanted >= current) return wanted;
    // Both cameras of a bus have images of one moment: the second one's step is no time to change in.
    return stepNs > GUARD_NS ? Math.max(wanted, current - MAX_FALL * stepNs) : undefined;
  }

  /** Added to a stamp it gives CLOCK_MONOTONIC, as of now. */
  get offsetNs(): bigint {
    return this.baseNs + BigInt(Math.round(this.#state[CURRENT]!));
  }

  /** Describes the offset as it is now. */
  get report(): { offsetMs: number; source: OffsetSource; uncertaintyMs?: number; driftPpm?: number } {
    const offsetMs = Number(this.offsetNs) / 1e6;
    if (this.#measured !== undefined) {
      const { source, uncertaintyNs } = this.#measured;
      return { offsetMs, source, uncertaintyMs: uncertaintyNs / 1e6 };
    }
    const spreadNs = this.#envelope.spreadNs;
    return {
      offsetMs,
      source: "arrival",
      ...(spreadNs !== undefined && { uncertaintyMs: spreadNs / 1e6, driftPpm: this.#envelope.driftPpm }),
    };
  }
}

/** The clocks of one bus. */
export class BusClock {
  readonly name: string;
  readonly host: HostClocks;
  #tsc: Timeline | undefined;
  #realtime: Timeline | undefined;
  /** The cameras' own clock; replaced when it begins again. */
  device: Timeline | undefined;

  constructor(host: HostClocks, name = "") {
    this.host = host;
    this.name = name;
  }

  /** The CPU's counter as the capture hardware stamps with it; undefined where it cannot be read or is not meant. */
  get tsc(): Timeline | undefined {
    if (!isShared(this.name)) return undefined;
    const measured = measureCounter(this.host);
    if (this.#tsc === undefined && "offsetNs" in measured)
      this.#tsc = new Timeline(measured.offsetNs, () => {
        const next = measureCounter(this.host);
        return "offsetNs" in next ? next : undefined;
      });
    return this.#tsc;
  }

  get realtime(): Timeline {
    const measure = (): MeasuredOffset => {
      const { monotonicNs, realtimeNs } = this.host.clocks();
      return { offsetNs: monotonicNs - realtimeNs, uncertaintyNs: 1000, source: "clocks" };
    };
    this.#realtime ??= new Timeline(measure().offsetNs, measure);
    return this.#realtime;
  }
}

/** Returns whether cameras with this bus are parts of one device, which the capture hardware of a board is. */
const isShared = (bus: string) => bus.startsWith("platform:");

/** "platform:tegra-capture-vi:1" and ":2" are two ports of one device. */
const deviceName = (bus: string) => (isShared(bus) ? bus.replace(/(?<=^platform:.+):\d+$/, "") : bus);

/** The buses of a machine, each made when its first camera is opened. */
export class BusClocks {
  readonly #host: HostClocks;
  readonly #buses = new Map<string, BusClock>();

  constructor(host: HostClocks) {
    this.#host = host;
  }

  /** @param bus as V4L2 names it, such as "usb-0000:00:14.0-1" */
  forBus(bus: string): BusClock {
    const name = deviceName(bus);
    const known = this.#buses.get(name) ?? new BusClock(this.#host, name);
    this.#buses.set(name, known);
    return known;
  }
}

/** The offset between the CPU's counter and CLOCK_MONOTONIC now, or why it is unknown. */
export function measureCounter({
  counter,
  kernelLeadNs,
}: HostClocks): MeasuredOffset | { unavailable: string } {
  const reading = counter?.();
  if (reading === undefined) return { unavailable: "the addon has no counter()" };
  const { monotonicNs, rawNs, counterNs, bracketNs, unavailable } = reading;
  const uncertaintyNs = bracketNs / 2;
  if (kernelLeadNs !== undefined)
    return { offsetNs: monotonicNs - rawNs - kernelLeadNs, uncertaintyNs, source: "offset_ns" };
  if (counterNs !== undefined) return { offsetNs: monotonicNs - counterNs, uncertaintyNs, source: "counter" };
  return { unavailable: unavailable ?? "no reason given" };
}

/** @param root what "/" means; another folder in tests */
export function hostClocks(addon: Pick<NativeAddon, "clocks" | "counter">, root = "/"): HostClocks {
  return {
    clocks: () => addon.clocks(),
    counter: () => addon.counter(),
    kernelLeadNs: readKernelLeadNs(root),
  };
}

/** Returns undefined where the kernel has no such file. */
function readKernelLeadNs(root: string): bigint | undefined {
  try {
    const file = `${root}/sys/devices/system/clocksource/clocksource0/offset_ns`;
    const text = readFileSync(file, "utf8").trim();
    return /^-?\d+$/.test(text) ? BigInt(text) : undefined;
  } catch {
    return undefined;
  }
}
