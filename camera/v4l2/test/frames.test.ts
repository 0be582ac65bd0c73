// SPDX-License-Identifier: Apache-2.0
// Frames of one camera: read in a loop or by a function, held, released, decoded.
import { describe, expect, test } from "vitest";
import { needs } from "../../../test/doubles/needs.js";
import type { Frame } from "../src/index.js";
import { counted, now, readCounter, rest, until } from "./fake-video/helpers.js";
import { deliver, fake, looped, opened, PATH, streaming, useOneCamera } from "./fake-video/one-camera.js";
import { motionJpeg } from "./motion-jpeg.js";

useOneCamera();

describe("frames", () => {
  test.each([false, true])("in place, with the driver's facts; multi-planar %s", async (multiPlanar) => {
    const camera = await opened({}, { multiPlanar, strideExtra: 16 });
    expect(camera.identity.multiPlanar).toBe(multiPlanar);
    const frames: Frame[] = [];
    camera.start((frame) => frames.push(frame));
    await streaming();
    const stamp = now() - 5_000_000n;
    const flags = 0x12001;
    fake.deliver(PATH, { timestampNs: stamp, sequence: 40, flags, bytes: counted(777, 80 * 48) });
    fake.deliver(PATH, { timestampNs: stamp + 33_000_000n, sequence: 43, bytes: counted(778, 80 * 48) });
    await until(() => frames.length === 2, "two frames");
    const [first, second] = frames as [Frame, Frame];
    const micros = (ns: bigint) => ns - (ns % 1000n);
    expect(first).toMatchObject({
      width: 64,
      height: 48,
      strideBytes: 80,
      format: "GREY",
      sequence: 40,
      flags,
    });
    expect(first).toMatchObject({
      timestampOrigin: "monotonic",
      timestampPoint: "startOfExposure",
      lostBefore: 0,
    });
    expect(first.timestampNs).toBe(micros(stamp));
    expect(first.driverTimestampNs).toBe(micros(stamp));
    expect(first.arrivalNs).toBeGreaterThan(stamp);
    expect(first.bytesUsed).toBe(80 * 48);
    expect(second).toMatchObject({ sequence: 43, lostBefore: 2, timestampPoint: "endOfFrame" });
    expect(readCounter(first.data)).toBe(777);
    // The driver's own memory: what it writes is seen without a copy.
    fake.poke(PATH, 100, 201);
    expect(second.data[100]).toBe(201);
    expect(fake.state(PATH).queued).toBe(6);
    first.release();
    first.release();
    expect(first.held).toBe(false);
    expect(fake.state(PATH).queued).toBe(7);
    second.release();
  });

  test("a loop releases each at the next turn, unless it was released or kept", async () => {
    const camera = await opened();
    const frames: Frame[] = [];
    const { seen } = looped(camera, (frame) => {
      if (frame.sequence === 1) frame.release();
      if (frame.sequence === 2) frame.keep();
      frames.push(frame);
    });
    await streaming();
    for (let i = 0; i < 4; i++) {
      deliver();
      await until(() => seen.length === i + 1, `frame ${i}`);
      await rest(1);
    }
    expect(seen).toEqual([0, 1, 2, 3]);
    expect(frames.map((frame) => frame.sequence === 2 && frame.held)).toContain(true);
    // One kept; the newest goes back when the next is asked for, which is at once.
    expect(fake.state(PATH).queued).toBe(7);
    frames.find(({ sequence }) => sequence === 2)!.release();
    expect(fake.state(PATH).queued).toBe(8);
  });

  test("a slow reader gets the newest; what gave way is counted", async () => {
    const camera = await opened();
    let go = () => {};
    const { seen } = looped(
      camera,
      () =>
        new Promise<void>((resolve) => {
          go = resolve;
        }),
    );
    await streaming();
    deliver();
    await until(() => seen.length === 1, "the first");
    for (let i = 0; i < 5; i++) deliver();
    await until(() => camera.statistics().frames === 6, "all announced");
    // The reader holds one and the newest waits for it: the others are the driver's again.
    expect(fake.state(PATH).queued).toBe(6);
    go();
    await until(() => seen.length === 2, "the newest");
    expect(seen).toEqual([0, 5]);
    expect(camera.statistics().drops).toEqual({ replaced: 4 });
    go();
  });

  test("leaving the loop keeps the camera open; another loop continues", async () => {
    const camera = await opened();
    const first = (async () => {
      for await (const frame of camera) return frame.sequence;
      return -1;
    })();
    await streaming();
    deliver();
    expect(await first).toBe(0);
    expect(fake.state(PATH)).toMatchObject({ queued: 8, streaming: true });
    deliver();
    await until(() => camera.statistics().drops.unread === 1, "the image is unread");
    const next = camera.frame();
    deliver();
    const frame = await next;
    expect([frame.sequence, frame.held]).toEqual([2, true]);
    frame.release();
  });

  test("one reader at a time", async () => {
    const camera = await opened();
    const stop = camera.start((frame) => frame.release());
    expect(() => camera.start(() => {})).toThrow(expect.objectContaining({ code: "INVALID_STATE" }));
    stop();
    camera.start((frame) => frame.release());
    await camera.close();
    expect(() => camera.start(() => {})).toThrow(/is closed/);
  });

  test("a frame that is held while the camera closes stays readable until its release", async () => {
    const camera = await opened();
    const frames: Frame[] = [];
    camera.start((frame) => frames.push(frame));
    await streaming();
    deliver(counted(321));
    await until(() => frames.length === 1, "a frame");
    await camera.close();
    expect(readCounter(frames[0]!.data)).toBe(321);
    frames[0]!.release();
    expect(frames[0]!.data).toHaveLength(0);
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  async function readJpeg(decode: "none" | "grey" | "rgb") {
    const formats = [{ fourcc: "MJPG", width: 64, height: 48, ratesHz: [30] }];
    const camera = await opened({ format: "MJPEG", decode }, { formats });
    const jpeg = await motionJpeg({ width: 64, height: 48, pixel: () => [120, 90, 200] });
    const next = camera.frame();
    await streaming();
    deliver(jpeg);
    const frame = await next;
    if (decode === "none") {
      expect(frame).toMatchObject({ format: "MJPEG", strideBytes: 0 });
      expect(Buffer.compare(frame.data, jpeg)).toBe(0);
    } else if (decode === "grey") {
      expect(frame).toMatchObject({ format: "GREY", strideBytes: 64, fourcc: "MJPG" });
      expect(Math.abs(frame.data[1000]! - 120)).toBeLessThan(3);
    } else {
      expect(frame).toMatchObject({ format: "RGB8", strideBytes: 192 });
      // JFIF: R = Y + 1.402 (Cr - 128), G = Y - 0.344 (Cb - 128) - 0.714 (Cr - 128), B = Y + 1.772 (Cb - 128).
      const expected = [120 + 1.402 * 72, 120 + 0.344 * 38 - 0.714 * 72, 120 - 1.772 * 38];
      for (const [i, value] of expected.entries())
        expect(Math.abs(frame.data[3 * 1000 + i]! - value)).toBeLessThan(4);
    }
    frame.release();
  }
  test("Motion JPEG as it came", () => readJpeg("none"));
  needs("turbojpeg").suite("Motion JPEG", () => {
    test.each(["grey", "rgb"] as const)("decoded to %s", readJpeg);
  });
});
