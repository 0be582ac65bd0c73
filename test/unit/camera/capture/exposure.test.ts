// SPDX-License-Identifier: Apache-2.0
// The exposure control against a simulated sensor: delay, noise, a wrong idea of the gain, jumps of light.
import { describe, expect, test } from "vitest";
import type { RawImage } from "../../../../camera/frame.js";
import { ExposureController, type ExposureLimits } from "../../../../camera/live/exposure.js";
import { sampleHistogram } from "../../../../camera/live/histogram.js";
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
