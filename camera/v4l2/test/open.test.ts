// SPDX-License-Identifier: Apache-2.0
// The package's interface for one camera: list and open with requested settings.
import { constants } from "node:os";
import { describe, expect, test } from "vitest";
import { type CameraRequest, describe as describeCamera, listDevices, open } from "../src/index.js";
import {
  around,
  cameras,
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

const { EACCES } = constants.errno;

describe("what a camera offers", () => {
  test("formats with names, sizes, rates, controls by their v4l2-ctl names", async () => {
    fake.plugIn({
      path: PATH,
      formats: [
        { fourcc: "YUYV", width: 64, height: 48, ratesHz: [15, 30] },
        { fourcc: "H264", width: 64, height: 48, ratesHz: [30] },
      ],
      controls: [EXPOSURE],
    });
    const found = await describeCamera(PATH, around());
    expect(found).toMatchObject({ card: "Fake Camera", driver: "fake", captures: true, multiPlanar: false });
    expect(found.formats.map(({ fourcc, format }) => [fourcc, format])).toEqual([
      ["YUYV", "YUYV"],
      ["H264", undefined],
    ]);
    expect(found.formats[0]!.sizes[0]).toMatchObject({ maxWidth: 64, maxHeight: 48, ratesHz: [15, 30] });
    expect(found.controls).toMatchObject([
      { name: "exposure_time_absolute", label: "Exposure Time, Absolute", minimum: 1, maximum: 1000 },
    ]);
  });

  test("a list names every device, and the reason if one cannot be read", async () => {
    const { mkdtempSync, mkdirSync, rmSync } = await import("node:fs");
    const folder = mkdtempSync("/tmp/v4l2-camera-sysfs-");
    try {
      for (const name of ["video1", "video0", "video10", "media0"]) mkdirSync(`${folder}/${name}`);
      fake.plugIn({ path: "/fake/video0" });
      fake.plugIn({ path: "/fake/video10", metadataOnly: true });
      fake.plugIn({ path: "/fake/video1" });
      fake.openError("/fake/video1", EACCES);
      const list = await listDevices({ system: fake.system, folders: { sysfs: folder, dev: "/fake" } });
      expect(list.map(({ path, available }) => [path, available])).toEqual([
        ["/fake/video0", true],
        ["/fake/video1", false],
        ["/fake/video10", true],
      ]);
      expect(list[1]).toMatchObject({ error: { code: "DEVICE_PERMISSION" } });
      expect(list[2]).toMatchObject({ captures: false });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("no folder of devices is no device", async () => {
    expect(await listDevices(around())).toEqual([]);
  });
});

describe("requested settings and the settings that the camera keeps", () => {
  const formats = [
    { fourcc: "YUYV", width: 64, height: 48, ratesHz: [30, 15] },
    { fourcc: "GREY", width: 32, height: 24, ratesHz: [30] },
  ];

  test("is read back, and settings that are left out stay unchanged", async () => {
    const camera = await opened({ format: "YUYV", width: 640, height: 480, rateHz: 14 }, { formats });
    expect(camera.format).toMatchObject({ fourcc: "YUYV", width: 64, height: 48, rateHz: 15 });
    expect(camera.layout).toEqual({
      fourcc: "YUYV",
      format: "YUYV",
      width: 64,
      height: 48,
      strideBytes: 128,
    });
    await camera.close();
    // The driver in memory answers its present format where nothing is asked, as the kernel does.
    const again = await open(PATH, {}, around());
    cameras.push(again);
    expect(again.format).toMatchObject({ fourcc: "YUYV", width: 64, height: 48 });
  });

  test("exact refuses another size, format or rate, with both", async () => {
    fake.plugIn({ path: PATH, formats });
    const refused = (request: CameraRequest) => open(PATH, { ...request, exact: true }, around());
    await expect(refused({ format: "YUYV", width: 640, height: 480 })).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: `${PATH}: expected YUYV 640x480 at 30 Hz, the camera keeps YUYV 64x48 at 30 Hz.`,
    });
    await expect(refused({ format: "YUYV", rateHz: 60 })).rejects.toThrow(
      /at 60 Hz, the camera keeps .* 30 Hz/,
    );
    await expect(refused({ format: "NV12" })).rejects.toThrow(/expected NV12 .*keeps YUYV/);
    await expect(refused({ format: "GREY", width: 32, height: 24, rateHz: 29.6 })).rejects.toThrow(
      /29\.6 Hz/,
    );
    const near = await refused({ format: "GREY", width: 32, height: 24, rateHz: 29.75 });
    await near.close();
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
    cameras.push(await refused({ format: "GREY", width: 32, height: 24, rateHz: 30 }));
  });

  test("controls are set before the first frame", async () => {
    await opened({ controls: { gain: 50, exposure_time_absolute: "80" } }, { controls: [GAIN, EXPOSURE] });
    expect([fake.control(PATH, GAIN.id), fake.control(PATH, EXPOSURE.id)]).toEqual([50, 80]);
  });

  test("controls that change the format are set before it, also after an unplug", async () => {
    const stride = { id: 0x9a206e, name: "Preferred Stride", minimum: 0, maximum: 65535, value: 0 };
    const camera = await opened({ controls: { preferred_stride: 256 } }, { controls: [stride] });
    expect(camera.format.strideBytes).toBe(256);
    looped(camera);
    await streaming();
    fake.unplug(PATH);
    fake.plugIn({ path: PATH, controls: [stride] });
    await streaming();
    expect(fake.control(PATH, stride.id)).toBe(256);
  });

  test("frames can arrive in the process's own memory, and buffers can be exported", async () => {
    const own = await opened({ memory: "userptr", buffers: 5 });
    looped(own);
    await streaming();
    expect(fake.state(PATH)).toMatchObject({ mappings: 0, queued: 5 });
    await own.close();
    const exported = await opened({ dmaBuffers: true });
    expect(exported.dmaBuffers).toHaveLength(8);
  });
});
