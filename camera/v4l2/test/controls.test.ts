// SPDX-License-Identifier: Apache-2.0
// Controls of one camera: set, read back, and watched for changes.
import { describe, expect, test } from "vitest";
import { rest, until } from "./fake-video/helpers.js";
import {
  deliver,
  EXPOSURE,
  fake,
  GAIN,
  looped,
  opened,
  PATH,
  streaming,
  useOneCamera,
} from "./fake-video/one-camera.js";

useOneCamera();

describe("controls", () => {
  test("set and read back: what the driver keeps", async () => {
    const camera = await opened({}, { controls: [GAIN] });
    expect(camera.controls().map(({ name }) => name)).toEqual(["gain"]);
    expect(camera.set("gain", 33)).toEqual({ name: "gain", asked: 33, got: 30 });
    expect(camera.get("gain")).toBe(30);
    expect(() => camera.set("gain", 200)).toThrow(/from 0 to 100 in steps of 5 for gain, got 200/);
    expect(() => camera.get("zoom")).toThrow(expect.objectContaining({ code: "DEVICE_UNSUITABLE" }));
  });

  test("exposure and gain that somebody else changed are events", async () => {
    const camera = await opened({}, { controls: [GAIN, EXPOSURE] });
    camera.watch("gain", "exposure_time_absolute");
    expect(() => camera.watch("zoom")).toThrow(/no control "zoom"/);
    const changes: [string, number][] = [];
    camera.on("control", ({ name, value }) => changes.push([name, value]));
    const { seen } = looped(camera);
    await streaming();
    fake.change(PATH, GAIN.id, 15);
    fake.change(PATH, EXPOSURE.id, 99);
    await until(() => changes.length === 2, "two changes");
    expect(changes).toEqual([
      ["gain", 15],
      ["exposure_time_absolute", 99],
    ]);
    // Frames continue next to them.
    deliver();
    fake.change(PATH, GAIN.id, 20);
    await until(() => seen.length === 1 && changes.length === 3, "a frame and a change");
  });

  test("more changes than are taken in time are counted, and the camera's thread sleeps again", async () => {
    const camera = await opened({}, { controls: [GAIN] });
    camera.watch("gain");
    let count = 0;
    camera.on("control", () => count++);
    looped(camera);
    await streaming();
    for (let i = 0; i < 200; i++) fake.change(PATH, GAIN.id, i % 100);
    const lost = () => camera.supervised.camera!.native.statistics().eventsLost;
    await until(() => count + lost() === 200, "all images delivered or counted");
    expect(count).toBeGreaterThanOrEqual(64);
    const { threadNs } = camera.statistics();
    await rest(50);
    expect(camera.statistics().threadNs - threadNs).toBeLessThan(5e6);
  });
});
