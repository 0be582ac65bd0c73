// SPDX-License-Identifier: Apache-2.0
// Faults of the native capture: calls that fail, broken images, cameras that are busy or not there.
import { constants } from "node:os";
import { beforeEach, describe, expect, test } from "vitest";
import { V4l2Camera } from "../src/camera.js";
import { counted, readCounter, rest, until, video } from "./fake-video/helpers.js";
import { fake, openAndStart, options, PATH, useFreshDriver } from "./fake-video/native-camera.js";

const { EBUSY, EINVAL, EACCES, ENODEV, EIO } = constants.errno;

describe("faults of a native capture", () => {
  beforeEach(useFreshDriver);

  test("error-flagged and short images go back unread and are counted", async () => {
    fake.plugIn({ path: PATH });
    const { camera, frames } = await openAndStart();
    fake.deliver(PATH, { timestampNs: 1n, sequence: 0, flags: 0x2040, bytes: counted(0) });
    fake.deliver(PATH, { timestampNs: 2n, sequence: 1, bytesUsed: 100 });
    fake.deliver(PATH, { timestampNs: 3n, sequence: 2, bytes: counted(2) });
    await until(() => frames.length === 1, "the good one");
    expect(frames[0]!.sequence).toBe(2);
    const { streamOnNs, threadNs, ...counts } = camera.native.statistics();
    expect(counts).toEqual({
      frames: 1,
      errorFlagged: 1,
      empty: 1,
      oversized: 0,
      decodeFailed: 0,
      decodeRepaired: 0,
      noFreeBuffer: 0,
      queueFailed: 0,
      eventsLost: 0,
    });
    expect(Math.min(streamOnNs, threadNs)).toBeGreaterThan(0);
    expect(fake.state(PATH).queued).toBe(7);
    await camera.close();
  });

  test("a refused QBUF is tried again until it is taken", async () => {
    fake.plugIn({ path: PATH });
    const { camera, frames } = await openAndStart();
    fake.deliver(PATH, { timestampNs: 1n, sequence: 0, bytes: counted(0) });
    await until(() => frames.length === 1, "an image");
    fake.fail(PATH, "QBUF", EINVAL, 3);
    camera.release(frames[0]!);
    expect(fake.state(PATH).queued).toBe(7);
    await until(() => fake.state(PATH).queued === 8, "queued again");
    expect(camera.native.statistics().queueFailed).toBeGreaterThan(0);
    await camera.close();
  });

  test.each([
    ["STREAMON refused", EINVAL, /starting the stream.*EINVAL/],
    ["DQBUF fails", EIO, /taking an image.*EIO/],
  ])("%s is a fault that names the call", async (what, errno, expected) => {
    fake.plugIn({ path: PATH });
    if (what.startsWith("STREAMON")) fake.fail(PATH, "STREAMON", errno, 1);
    const { camera, faults } = await openAndStart();
    if (what.startsWith("DQBUF")) {
      fake.fail(PATH, "DQBUF", errno, 1);
      fake.deliver(PATH, { timestampNs: 1n, sequence: 0, bytes: counted(0) });
    }
    await until(() => faults.length === 1, "a fault");
    expect(faults[0]).toMatch(expected);
    await camera.close();
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("an unplugged camera is a fault, and a held image stays readable until it is given back", async () => {
    fake.plugIn({ path: PATH });
    const { camera, frames, faults } = await openAndStart();
    fake.deliver(PATH, { timestampNs: 1n, sequence: 0, bytes: counted(99) });
    await until(() => frames.length === 1, "an image");
    fake.unplug(PATH);
    await until(() => faults.length === 1, "a fault");
    expect(faults[0]).toMatch(/unplugged \(ENODEV\)/);
    await camera.close();
    expect(readCounter(frames[0]!.data)).toBe(99);
    expect(fake.state(PATH).mappings).toBe(1);
    camera.release(frames[0]!);
    expect(fake.state(PATH).mappings).toBe(0);
    expect(frames[0]!.data).toHaveLength(0);
  });

  test("an error condition that the driver does not explain is no busy loop, and ends as a fault", async () => {
    fake.plugIn({ path: PATH });
    const { camera, faults } = await openAndStart();
    fake.fail(PATH, "DQBUF", constants.errno.EAGAIN, 1e6);
    fake.fatal(PATH, true);
    await rest(100);
    expect(camera.native.statistics().threadNs).toBeLessThan(50e6);
    await until(() => faults.length === 1, "a fault");
    await camera.close();
  });

  test.each([
    [EACCES, "DEVICE_PERMISSION", /video/],
    [EBUSY, "DEVICE_BUSY", /process/],
    [ENODEV, "DEVICE_UNAVAILABLE", /list-devices/],
  ])("open errno %i is %s with what to do", async (errno, code, hint) => {
    fake.plugIn({ path: PATH });
    fake.openError(PATH, errno);
    await expect(V4l2Camera.open(video, options())).rejects.toMatchObject({
      code,
      hint: expect.stringMatching(hint),
    });
  });

  test("a camera that streams for another is busy; fewer than four buffers are refused", async () => {
    fake.plugIn({ path: PATH });
    const camera = await V4l2Camera.open(video, options());
    await expect(V4l2Camera.open(video, options())).rejects.toMatchObject({ code: "DEVICE_BUSY" });
    await camera.close();
    fake.plugIn({ path: PATH, maxBuffers: 3 });
    await expect(V4l2Camera.open(video, options())).rejects.toThrow(
      /at least 4 frame buffers, the driver gives 3/,
    );
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("a QBUF that says the device is broken ends the stream instead of being tried for ever", async () => {
    fake.plugIn({ path: PATH });
    const { camera, frames, faults } = await openAndStart();
    fake.deliver(PATH, { timestampNs: 1n, sequence: 0, bytes: counted(1) });
    await until(() => frames.length === 1, "an image");
    fake.fail(PATH, "QBUF", EIO, 1_000_000);
    camera.release(frames[0]!);
    await until(() => faults.length === 1, "a fault");
    expect(faults[0]).toBe(`${PATH}: queueing a buffer (VIDIOC_QBUF) failed (EIO).`);
    await camera.close();
  });

  test("a driver that names a buffer it never gave ends the stream instead of writing nowhere", async () => {
    fake.plugIn({ path: PATH });
    // The number of buffers is the first that no buffer has.
    for (const [buffers, claimedIndex] of [
      [8, 8],
      [8, 31],
      [32, 32],
      [32, 0xffff_fffe],
    ] as const) {
      const { camera, frames, faults } = await openAndStart({ buffers });
      expect(camera.native.images).toHaveLength(buffers);
      fake.deliver(PATH, { timestampNs: 1n, sequence: 0, bytes: counted(1), claimedIndex });
      await until(() => faults.length === 1, "a fault");
      expect(faults[0]).toBe(`${PATH}: taking an image (VIDIOC_DQBUF) failed (EIO).`);
      expect(frames).toEqual([]);
      await camera.close();
      expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
    }
  });
});

describe("without a camera", () => {
  test("a path that is not there, and one that is no camera, are distinguished", async () => {
    const request = { fourcc: "GREY", width: 64, height: 48 };
    await expect(V4l2Camera.open(video, { path: "/dev/video999", ...request })).rejects.toMatchObject({
      code: "DEVICE_UNAVAILABLE",
    });
    await expect(V4l2Camera.open(video, { path: "/dev/null", ...request })).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
    });
  });
});
