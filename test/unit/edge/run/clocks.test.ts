// SPDX-License-Identifier: Apache-2.0
// When the clocks of cameras are published again.
import { describe, expect, test } from "vitest";
import { cameraInfo, clocksDiffer } from "../../../../edge/run/info.js";

describe("clocks of cameras", () => {
  const clock = { origin: "boot", source: "driver", jumps: 0, offsetMs: 5 } as never as { offsetMs: number };
  const differ = (before: object, now: object) => clocksDiffer(before as never, now as never);

  test.each<[object, object, boolean]>([
    [{}, {}, false],
    [{ left: clock }, { left: { ...clock } }, false],
    [{ left: clock }, { left: { ...clock, offsetMs: 5.999 } }, false],
    [{ left: clock }, { left: { ...clock, offsetMs: 6 } }, true],
    [{ left: clock }, { left: { ...clock, offsetMs: 4 } }, true],
    [{ left: clock }, { left: { ...clock, origin: "other" } }, true],
    [{ left: clock }, { left: { ...clock, source: "other" } }, true],
    [{ left: clock }, { left: { ...clock, jumps: 1 } }, true],
    [{ left: clock }, {}, true],
    [{}, { right: clock }, true],
    [{ left: clock, right: clock }, { left: clock, right: { ...clock, jumps: 1 } }, true],
  ])("%j and %j differ: %s", (before, now, expected) => expect(differ(before, now)).toBe(expected));

  test("are part of camera_info once they are known, if there is a calibration", () => {
    const info = { width: 4 };
    const geometry = { geometry: { cameraInfo: info } };
    const clocks = { left: clock };
    const source = (captureClocks: object) => ({ captureClocks: () => captureClocks }) as never;
    expect(cameraInfo(geometry, source(clocks))).toEqual({ width: 4, captureClocks: clocks });
    expect(cameraInfo(geometry, source({}))).toBe(info);
    expect(cameraInfo(geometry, {})).toBe(info);
    expect(cameraInfo({ geometry: { cameraInfo: undefined } }, source(clocks))).toBeUndefined();
  });
});
