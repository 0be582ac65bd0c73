// SPDX-License-Identifier: Apache-2.0
// The exposure control against a simulated sensor: delay, noise, a wrong idea of the gain, jumps of light.
import type { CameraControls } from "v4l2-camera/parts";
import { describe, expect, test } from "vitest";
import type { RawImage } from "../../../../camera/frame.js";
import { ExposureController, type ExposureLimits } from "../../../../camera/live/exposure.js";
import { ExposureLoop } from "../../../../camera/live/exposure-loop.js";
import { sampleGreys, sampleHistogram } from "../../../../camera/live/histogram.js";
import { Random } from "../../../doubles/random.js";

const limits: ExposureLimits = {
  minExposure: 1,
  maxExposure: 2000,
  minGain: 16,
  maxGain: 256,
  gainFactor: (gain) => gain / 16,
};

interface Scene {
  /** Grey of a surface of middle brightness at exposure 1 and gain 1, for frame i. */
  light(frame: number): number;
  /** Part of the image that is a lamp, and how much brighter it is. */
  lamp?: { part: number; times: number };
  /** Sensor's true gain; default as the limits say. */
  gain?(gain: number): number;
  delay?: number;
}

function simulate(scene: Scene, frames: number) {
  const random = new Random(5);
  const controller = new ExposureController(limits, { exposure: 100, gain: 16 });
  const delay = scene.delay ?? 2;
  const pending = Array(delay + 1).fill(controller.setting);
  const means: number[] = [];
  const settings: { frame: number; exposure: number; gain: number }[] = [];
  for (let frame = 0; frame < frames; frame++) {
    const { exposure, gain } = pending.shift();
    const level = scene.light(frame) * exposure * (scene.gain ?? limits.gainFactor)(gain);
    const counts = new Uint32Array(256);
    let sum = 0;
    for (let i = 0; i < 1400; i++) {
      const isLamp = scene.lamp !== undefined && i < scene.lamp.part * 1400;
      const surface = (0.3 + (1.4 * (i % 100)) / 100) * (isLamp ? scene.lamp!.times : 1);
      const grey = Math.min(255, Math.max(0, Math.round(level * surface + random.whole(-3, 3))));
      counts[grey]!++;
      sum += grey;
    }
    means.push(sum / 1400);
    if (!controller.waits()) {
      const next = controller.update(counts);
      if (next) settings.push({ frame, ...next });
    }
    pending.push(controller.setting);
  }
  return { means, settings, controller };
}

describe("one step of the control", () => {
  /** Percent of the image by grey. */
  const counts = (greys: Record<number, number>) => {
    const histogram = new Uint32Array(256);
    for (const [grey, percent] of Object.entries(greys)) histogram[Number(grey)] = percent;
    return histogram;
  };
  const evenly = (grey: number) => counts({ [grey]: 100 });

  // From 100 at the least gain. The mean aimed at is 105; a step makes up 0.7 of the logarithmic distance, at most of 4.
  test.each<[string, Record<number, number>, number | undefined]>([
    ["black: 4 ** 0.7", { 0: 100 }, 264],
    ["26, which is more than 4 times too dark", { 26: 100 }, 264],
    ["27: (105 / 27) ** 0.7", { 27: 100 }, 259],
    ["52.5, half of it: 2 ** 0.7", { 52: 50, 53: 50 }, 162],
    ["210, twice as much: 0.5 ** 0.7", { 210: 100 }, 62],
    ["white: (105 / 255) ** 0.7", { 255: 100 }, 54],
    ["5 % that are white count only for the mean, 60.25", { 50: 95, 255: 5 }, 148],
    ["6 % that are clipped: 0.6 ** 0.7", { 50: 94, 255: 6 }, 70],
    ["6 % at the least clipped grey", { 50: 94, 250: 6 }, 70],
    ["6 % at 249, which is near enough to 240", { 50: 94, 249: 6 }, undefined],
    ["6 % at 200 may become 240: 1.2 ** 0.7", { 50: 94, 200: 6 }, 114],
    ["near enough, darker", { 101: 100 }, undefined],
    ["not near enough, darker", { 100: 100 }, 103],
    ["near enough, brighter", { 109: 100 }, undefined],
    ["not near enough, brighter", { 110: 100 }, 97],
    ["no samples", {}, undefined],
  ])("%s", (_, greys, exposure) => {
    const controller = new ExposureController(limits, { exposure: 100, gain: 16 });
    expect(controller.update(counts(greys))).toEqual(exposure && { exposure, gain: 16 });
    expect(controller.setting).toEqual({ exposure: exposure ?? 100, gain: 16 });
  });

  test("once settled, it starts again at 12 % from the target, and ends at 4 %", () => {
    const settled = () => {
      const controller = new ExposureController(limits, { exposure: 100, gain: 16 });
      expect(controller.update(evenly(105))).toBeUndefined();
      return controller;
    };
    for (const grey of [94, 100, 110, 117]) expect(settled().update(evenly(grey))).toBeUndefined();
    const started = settled();
    for (const [
      grey,
      exposure,
    ] of [[93, 109], [118, 100], [110, 97], [109, undefined], [110, undefined]] as const) // biome-ignore format: five looks
      expect(started.update(evenly(grey))?.exposure).toBe(exposure);
  });

  test("a change is waited for, four images by default", () => {
    for (const [controller, images] of [
      [new ExposureController(limits, { exposure: 100, gain: 16 }), 4],
      [new ExposureController(limits, { exposure: 100, gain: 16 }, 2), 2],
    ] as const) {
      expect(controller.waits()).toBe(false);
      controller.update(evenly(0));
      const waits = Array.from({ length: 6 }, () => controller.waits());
      expect(waits).toEqual(Array.from({ length: 6 }, (_, image) => image < images));
    }
  });

  test("gain is the least with which exposure suffices; at the end of both it settles", () => {
    const next = (exposure: number, gain: number, grey: number) =>
      new ExposureController(limits, { exposure, gain }).update(evenly(grey));
    // 2000 * 4 ** 0.7 = 5278: a gain of 42 gives 5250 at most, one of 43 needs 5278 / (43 / 16).
    expect(next(2000, 16, 0)).toEqual({ exposure: 1964, gain: 43 });
    // 1964 * 43 / 16 * 0.5 ** 0.7 = 3249: 26 gives 3250 at most.
    expect(next(1964, 43, 210)).toEqual({ exposure: 1999, gain: 26 });
    // 4000 * (105 / 255) ** 0.7 = 2149: 17 gives 2125 at most.
    expect(next(2000, 32, 255)).toEqual({ exposure: 1911, gain: 18 });
    expect(next(1, 16, 255)).toBeUndefined();
    expect(new ExposureController(limits, { exposure: 0, gain: 400 }).setting).toEqual({
      exposure: 1,
      gain: 256,
    });
    expect(new ExposureController(limits, { exposure: 9000, gain: 3 }).setting).toEqual({
      exposure: 2000,
      gain: 16,
    });
    const darkness = new ExposureController(limits, { exposure: 2000, gain: 256 });
    expect(darkness.update(evenly(0))).toBeUndefined();
    // 110 is within 12 %.
    expect(darkness.update(evenly(110))).toBeUndefined();
  });
});

describe("exposure control", () => {
  test.each([0.02, 0.1, 0.5, 1, 5, 40])(
    "settles near the target at light %f and then keeps still",
    (light) => {
      const { means, settings } = simulate({ light: () => light }, 200);
      expect(means.at(-1)).toBeGreaterThan(88);
      expect(means.at(-1)).toBeLessThan(125);
      expect(settings.filter(({ frame }) => frame > 80)).toEqual([]);
    },
  );

  test.each([0, 1, 2, 3])("does not swing with a sensor %i images late", (delay) => {
    const { settings } = simulate({ light: (frame) => (frame < 100 ? 0.3 : 2), delay }, 260);
    const after = settings.filter(({ frame }) => frame >= 100);
    expect(after.length).toBeGreaterThan(0);
    expect(after.length).toBeLessThan(10);
    const light = after.map(({ exposure, gain }) => exposure * limits.gainFactor(gain));
    const turns = light
      .slice(2)
      .filter((value, i) => (value - light[i + 1]!) * (light[i + 1]! - light[i]!) < 0);
    expect(turns.length, `light ${light}`).toBeLessThanOrEqual(1);
    expect(settings.filter(({ frame }) => frame > 200)).toEqual([]);
  });

  test("a gain in decibels, which it takes for a factor, still settles", () => {
    const { means, settings } = simulate(
      { light: () => 0.008, gain: (gain) => 10 ** ((gain - 16) / 200) },
      400,
    );
    expect(means.at(-1)).toBeGreaterThan(88);
    expect(means.at(-1)).toBeLessThan(125);
    expect(settings.filter(({ frame }) => frame > 300)).toEqual([]);
  });

  test("a lamp in the image keeps its shape: less light than the mean asks for, and no limit cycle", () => {
    const { means, settings } = simulate({ light: () => 1, lamp: { part: 0.12, times: 4 } }, 300);
    expect(means.at(-1)).toBeLessThan(88);
    expect(means.at(-1)).toBeGreaterThan(25);
    expect(settings.filter(({ frame }) => frame > 200)).toEqual([]);
  });

  test("darkness ends at full exposure and full gain, glare at the least, without further writes", () => {
    const dark = simulate({ light: () => 0.00001 }, 200);
    expect(dark.controller.setting).toEqual({ exposure: 2000, gain: 256 });
    expect(dark.settings.filter(({ frame }) => frame > 120)).toEqual([]);
    const glare = simulate({ light: () => 10_000 }, 200);
    expect(glare.controller.setting).toEqual({ exposure: 1, gain: 16 });
    expect(glare.settings.filter(({ frame }) => frame > 120)).toEqual([]);
  });

  test("black pixels count: half of them ask for twice the light", () => {
    const light = (black: number) => {
      const controller = new ExposureController(limits, { exposure: 100, gain: 16 });
      const counts = new Uint32Array(256);
      [counts[0], counts[80]] = [black, 700];
      return controller.update(counts)?.exposure ?? 100;
    };
    expect(light(700) / light(0)).toBeGreaterThan(1.3);
  });

  test("gain is used only when exposure is at its end", () => {
    const { settings } = simulate({ light: () => 0.01 }, 200);
    for (const { exposure, gain } of settings) expect(gain > 16 ? exposure > 1800 : true).toBe(true);
  });

  test("flicker of ten percent is left alone", () => {
    const { settings } = simulate({ light: (frame) => 1 + 0.05 * Math.sin(frame) }, 300);
    expect(settings.filter(({ frame }) => frame > 60)).toEqual([]);
  });
});

describe("one step of exposure control", () => {
  const from = (greys: Record<number, number>) => {
    const counts = new Uint32Array(256);
    for (const [grey, count] of Object.entries(greys)) counts[Number(grey)] = count;
    return counts;
  };
  // The light changes by min(105 / mean, 240 / highlight, 0.6 from 250 on), at most 4 times, to the power of 0.7.
  test.each<[string, Record<number, number>, number | undefined]>([
    ["nothing seen", {}, undefined],
    ["the target", { 105: 9 }, undefined],
    ["3 % off", { 102: 9 }, undefined],
    ["5 % off", { 100: 9 }, 103],
    ["dark", { 10: 9 }, 264],
    ["bright", { 250: 9 }, 54],
    ["glare", { 255: 1, 254: 1 }, 54],
    ["a highlight that is right", { 60: 90, 245: 10 }, undefined],
    ["a highlight with room", { 60: 90, 200: 10 }, 114],
    ["a clipped highlight", { 60: 90, 250: 10 }, 70],
    ["a highlight below clipping", { 60: 90, 249: 10 }, undefined],
    ["a highlight of 5 %", { 60: 95, 250: 5 }, 133],
    ["a highlight of more than 5 %", { 60: 949, 250: 51 }, 70],
  ])("%s", (_, greys, exposure) => {
    const controller = new ExposureController(limits, { exposure: 100, gain: 16 });
    expect(controller.update(from(greys))).toEqual(
      exposure === undefined ? undefined : { exposure, gain: 16 },
    );
    expect(Array.from({ length: 5 }, () => controller.waits())).toEqual(
      [0, 1, 2, 3, 4].map((image) => exposure !== undefined && image < 4),
    );
  });

  test("once settled, it begins again 12 % off; beyond the longest exposure it takes the least gain", () => {
    const controller = new ExposureController(limits, { exposure: 100, gain: 16 });
    expect([105, 95, 93, 100].map((grey) => controller.update(from({ [grey]: 1 }))?.exposure)).toEqual([
      undefined,
      undefined,
      109,
      113,
    ]);
    const long = new ExposureController(limits, { exposure: 9000, gain: 3 });
    expect(long.setting).toEqual({ exposure: 2000, gain: 16 });
    expect(long.update(from({ 50: 1 }))).toEqual({ exposure: 1992, gain: 27 });
    expect(long.update(from({ 1: 1 }))).toEqual({ exposure: 1999, gain: 71 });
    const shortest = new ExposureController(limits, { exposure: 1, gain: 16 });
    expect(shortest.update(from({ 255: 1 }))).toBeUndefined();
  });

  test("the loop: a step of gain is its minimum or a fifteenth of its range, and both cameras get the same", () => {
    const written: [string, number][] = [];
    const camera = (controls: Record<string, [minimum: number, maximum: number, value: number]>) =>
      ({
        find: (name: string) => {
          const found = controls[name];
          return found && { writable: true, minimum: found[0], maximum: found[1], initial: found[0] };
        },
        read: (name: string) => controls[name]?.[2],
        apply: (name: string, value: number) => written.push([name, value]),
      }) as unknown as CameraControls;
    const dark = {
      data: new Uint8Array(64 * 48).fill(50),
      width: 64,
      height: 48,
      strideBytes: 64,
      format: "GREY" as const,
      timestampNs: 0n,
      sequence: 0,
    };
    const looked = (cameras: CameraControls[], mode: "auto" | "on" | "off" = "auto") => {
      written.length = 0;
      const loop = new ExposureLoop(cameras, mode);
      for (let image = 0; image < 5; image++) loop.look(dark);
      return loop.state.on ? [...written] : loop.state.reason;
    };
    const exposure: [number, number, number] = [0, 2000, 2000];
    const stepped = { exposure, gain: [16, 255, 16] as [number, number, number] };
    const ranged = { exposure_absolute: exposure, gain: [0, 150, 0] as [number, number, number] };
    expect(looked([camera(stepped), camera(stepped)])).toEqual([
      ["exposure", 1992],
      ["gain", 27],
      ["exposure", 1992],
      ["gain", 27],
    ]);
    // It begins with the exposure time and gain that the camera has.
    expect(looked([camera({ exposure: [0, 2000, 1000], gain: [16, 255, 32] })])).toEqual([
      ["exposure", 1992],
      ["gain", 27],
    ]);
    expect(looked([camera(ranged)])).toEqual([
      ["exposure_absolute", 1978],
      ["gain", 7],
    ]);
    expect(looked([camera({ exposure: [0, 9000, 2000] }), camera(stepped)])).toEqual([
      ["exposure", 3362],
      ["exposure", 3362],
    ]);
    expect(looked([camera({ ...stepped, autogain: [0, 1, 1] })])).toMatch(/has its own \(autogain\)/);
    expect(looked([camera({ ...stepped, autogain: [0, 1, 1] })], "on")).toHaveLength(2);
    expect(looked([camera(stepped)], "off")).toBe("switched off");
    expect(looked([camera({ gain: [0, 1, 1] })])).toMatch(/no exposure time/);
    expect(looked([camera(stepped), camera(ranged)])).toMatch(/only one camera/);
  });
});

describe("histogram", () => {
  const image = (
    format: RawImage["format"],
    strideBytes: number,
    fill: (data: Uint8Array) => void,
  ): RawImage => {
    const data = new Uint8Array(strideBytes * 48);
    fill(data);
    return { data, width: 64, height: 48, strideBytes, format, timestampNs: 0n, sequence: 0 };
  };
  const meanGrey = (raw: RawImage) => {
    const counts = new Uint32Array(256);
    sampleHistogram(raw, counts);
    const used = [...counts.entries()].filter(([, count]) => count > 0);
    return used.map(([grey]) => grey);
  };

  test("every 15th sample of every 15th row, row by row", () => {
    const raw = image("GREY", 70, (data) => {
      for (let at = 0; at < data.length; at++) data[at] = (at % 70) + Math.floor(at / 70);
    });
    const expected = [0, 15, 30, 45].flatMap((y) => [0, 15, 30, 45, 60].map((x) => x + y));
    expect([...sampleGreys(raw)]).toEqual(expected);
  });

  test("reads the brightness of every layout, and padding never", () => {
    const rows = (bytes: number[]) => (data: Uint8Array) => {
      for (let y = 0; y < 48; y++) {
        data.fill(255, y * (data.length / 48));
        for (let x = 0; x < 64 * bytes.length; x++)
          data[y * (data.length / 48) + x] = bytes[x % bytes.length]!;
      }
    };
    expect(meanGrey(image("GREY", 70, rows([77])))).toEqual([77]);
    expect(meanGrey(image("NV12", 70, rows([78])))).toEqual([78]);
    expect(meanGrey(image("YUYV", 140, rows([79, 1])))).toEqual([79]);
    expect(meanGrey(image("UYVY", 140, rows([1, 80])))).toEqual([80]);
    expect(meanGrey(image("Y8I_LEFT", 140, rows([82, 1])))).toEqual([82]);
    expect(meanGrey(image("Y8I_RIGHT", 140, rows([1, 83])))).toEqual([83]);
    expect(meanGrey(image("Y12I_LEFT", 210, rows([0x48, 5, 1])))).toEqual([0x54]);
    expect(meanGrey(image("Y12I_RIGHT", 210, rows([1, 5, 84])))).toEqual([84]);
    // A row of 64 samples in groups, whose bytes of low bits are never read.
    const packed = (group: number) => (data: Uint8Array) => {
      for (let i = 0; i < data.length; i++) data[i] = i % (group + 1) === group ? 255 : 85;
    };
    expect(meanGrey(image("Y10P", 80, packed(4)))).toEqual([85]);
    expect(meanGrey(image("BAYER_RGGB12P", 96, packed(2)))).toEqual([85]);
    expect(meanGrey(image("Y16", 140, rows([3, 81])))).toEqual([81]);
    expect(meanGrey(image("Y10", 140, rows([0x48, 0x01])))).toEqual([0x148 >> 2]);
    expect(meanGrey(image("BAYER_RGGB12", 140, rows([0x50, 0x05])))).toEqual([0x55]);
  });
});
