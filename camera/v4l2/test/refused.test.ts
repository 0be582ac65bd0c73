// SPDX-License-Identifier: Apache-2.0
// Cameras and requests that are refused at opening, with a code and what to do.
import { constants } from "node:os";
import { describe, expect, test } from "vitest";
import { type CameraRequest, describe as describeCamera, open } from "../src/index.js";
import { around, fake, PATH, useOneCamera } from "./fake-video/one-camera.js";

useOneCamera();

const { EBUSY, EACCES, ENOENT } = constants.errno;

describe("refused, with a code and what to do", () => {
  test.each([
    ["no permission", EACCES, "DEVICE_PERMISSION", /group 'video'/],
    ["busy", EBUSY, "DEVICE_BUSY", /other process/],
    ["gone", ENOENT, "DEVICE_UNAVAILABLE", /cable/],
  ])("%s", async (_, errno, code, hint) => {
    fake.plugIn({ path: PATH });
    fake.openError(PATH, errno);
    await expect(open(PATH, {}, around())).rejects.toMatchObject({ code, hint: expect.stringMatching(hint) });
  });

  test("not a device, not a camera, no such file", async () => {
    await expect(open("/dev/null")).rejects.toMatchObject({ code: "DEVICE_UNSUITABLE" });
    await expect(open("/etc/hostname")).rejects.toMatchObject({ code: "DEVICE_UNSUITABLE" });
    await expect(open("/")).rejects.toMatchObject({ code: expect.stringMatching(/^DEVICE_/) });
    await expect(open("/dev/video999")).rejects.toMatchObject({ code: "DEVICE_UNAVAILABLE" });
    await expect(describeCamera("/dev/null")).rejects.toMatchObject({ code: "DEVICE_UNSUITABLE" });
    fake.plugIn({ path: PATH, metadataOnly: true });
    await expect(open(PATH, {}, around())).rejects.toThrow(/expected a camera that streams/);
  });

  test.each<[string, unknown]>([
    ["width", "wide"],
    ["width", -1],
    ["height", 0.5],
    ["rateHz", 0],
    ["rateHz", Number.NaN],
    ["rateHz", 1e300],
    ["buffers", 3],
    ["buffers", 33],
    ["format", "nonsense"],
    ["format", 5],
    ["decode", "blue"],
    ["memory", "card"],
  ])("%s: %s", async (name, value) => {
    fake.plugIn({ path: PATH });
    const refused = open(PATH, { [name]: value } as CameraRequest, around());
    await expect(refused).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(fake.state(PATH).opens).toBe(0);
  });

  test("a path that is no text, or has an end inside", async () => {
    await expect(open(5 as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(open("/dev/null\0x")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("a control that is not there, at opening", async () => {
    fake.plugIn({ path: PATH });
    await expect(open(PATH, { controls: { zoom: 1 } }, around())).rejects.toThrow(/no control "zoom"/);
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });
});
