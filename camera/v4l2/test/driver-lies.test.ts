// SPDX-License-Identifier: Apache-2.0
// Drivers that report wrong values: each lie is an error with a code or a counted drop.
import { constants } from "node:os";
import { describe, expect, test } from "vitest";
import { needs } from "../../../test/doubles/needs.js";
import { type Frame, open } from "../src/index.js";
import type { FakeCamera } from "./fake-video/fake-video.js";
import { counted, now, until } from "./fake-video/helpers.js";
import {
  around,
  deliver,
  fake,
  looped,
  opened,
  PATH,
  streaming,
  useOneCamera,
} from "./fake-video/one-camera.js";
import { motionJpeg } from "./motion-jpeg.js";

useOneCamera();

describe("a driver that lies", () => {
  test("of rows shorter than their pixels", async () => {
    fake.plugIn({ path: PATH, lies: { strideBytes: 10 } });
    await expect(open(PATH, {}, around())).rejects.toThrow(
      /rows of at least 64 bytes for GREY 64x48, the driver set 10/,
    );
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("of buffers smaller than the image", async () => {
    fake.plugIn({ path: PATH, lies: { bufferBytes: 1000 } });
    await expect(open(PATH, {}, around())).rejects.toThrow(
      /expected buffers for 64x48 in rows of 64 bytes, the driver gives 1000/,
    );
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("of images that would take all memory: none is taken", async () => {
    fake.plugIn({ path: PATH, lies: { imageBytes: 4_000_000_000 } });
    await expect(open(PATH, { memory: "userptr" }, around())).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: expect.stringMatching(
        /images of 64x48 that fit into memory, the driver's take 4000000000 bytes each/,
      ),
    });
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test.each([[0], [4_000_000_000]])("of a height of %d", async (height) => {
    fake.plugIn({ path: PATH, lies: { height } });
    await expect(open(PATH, {}, around())).rejects.toMatchObject({ code: "DEVICE_UNSUITABLE" });
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("of more buffers than were asked for, or fewer than work", async () => {
    fake.plugIn({ path: PATH, lies: { buffers: 200 } });
    const camera = await open(PATH, {}, around());
    expect(fake.state(PATH).mappings).toBe(32);
    await camera.close();
    fake.plugIn({ path: PATH, maxBuffers: 2 });
    await expect(open(PATH, {}, around())).rejects.toThrow(/at least 4 frame buffers, the driver gives 2/);
  });

  test("of more bytes than its buffer has: the image is counted and not read", async () => {
    const camera = await opened();
    const { seen } = looped(camera);
    await streaming();
    deliver(counted(0), { bytesUsed: 50_000_000 });
    deliver();
    await until(() => seen.length === 1, "the honest one");
    expect(camera.statistics().drops).toEqual({ oversized: 1 });
  });

  // 16 bytes for each of 64 x 48 pixels and 16 MiB.
  const LARGEST = 16 * 64 * 48 + 2 ** 24;
  test.each<[string, Partial<FakeCamera>, RegExp]>([
    ["no rows", { lies: { height: 0 } }, /an image, the driver set a size of 64x0\.$/],
    ["32769 rows", { lies: { height: 32769 } }, /an image, the driver set a size of 64x32769\.$/],
    ["32769 columns", { stubbornWidth: 32769 }, /an image, the driver set a size of 32769x48\.$/],
    ["32768 rows in small buffers", { lies: { height: 32768 } }, /buffers for 64x32768 in rows of 64 bytes/],
    ["a byte less than its rows", { lies: { bufferBytes: 64 * 47 - 1 } }, /the driver gives 3007 bytes\.$/],
    ["a byte more than an image", { lies: { imageBytes: LARGEST + 1 } }, /take 16826369 bytes each\.$/],
    [
      "more than 2 GB in all",
      { stubbornWidth: 32768, lies: { imageBytes: 2 ** 29 + 1, height: 4096 } },
      /536870913 bytes each\.$/,
    ],
  ])("of %s: refused", async (_, camera, message) => {
    fake.plugIn({ path: PATH, ...camera });
    const memory = camera.lies?.imageBytes === undefined ? "mmap" : "userptr";
    await expect(open(PATH, { memory, buffers: 4 }, around())).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: expect.stringMatching(message),
    });
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test.each<[string, Partial<FakeCamera>]>([
    ["all rows without the last one's padding", { lies: { bufferBytes: 64 * 47 } }],
    ["the largest image", { lies: { imageBytes: LARGEST } }],
  ])("of %s: accepted", async (_, camera) => {
    const memory = camera.lies?.imageBytes === undefined ? "mmap" : "userptr";
    await opened({ memory, buffers: 4 }, camera);
  });

  test.each(["GREY", "MJPG", "JPEG", "MPEG", "H264", "HEVC", "VP80", "VP90"])(
    "%s: an image of few bytes is incomplete only where its size is fixed",
    async (fourcc) => {
      const formats = [{ fourcc, width: 64, height: 48, ratesHz: [30] }];
      const camera = await opened({ format: fourcc, decode: "none" }, { formats });
      const { seen } = looped(camera);
      await streaming();
      deliver(counted(1), { bytesUsed: 64 * 47 - 1 });
      deliver(counted(2), { bytesUsed: 64 * 47 });
      await until(() => seen.includes(1), "the second");
      expect(camera.statistics().drops).toEqual(
        fourcc === "GREY" ? { incomplete: 1 } : expect.not.objectContaining({ incomplete: 1 }),
      );
    },
  );

  test.each([
    ["EACCES", "DEVICE_PERMISSION"],
    ["EPERM", "DEVICE_PERMISSION"],
    ["EBUSY", "DEVICE_BUSY"],
    ["EINVAL", "DEVICE_UNSUITABLE"],
    ["ERANGE", "DEVICE_UNSUITABLE"],
    ["ENOTTY", "DEVICE_UNSUITABLE"],
    ["EIO", "DEVICE_UNAVAILABLE"],
  ] as const)("of %s at opening: %s", async (errno, code) => {
    fake.plugIn({ path: PATH });
    fake.openError(PATH, constants.errno[errno]);
    await expect(open(PATH, {}, around())).rejects.toMatchObject({ code });
  });

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])(
    "of field order %i: only none and any are progressive",
    async (field) => {
      fake.plugIn({ path: PATH, field });
      const opening = open(PATH, {}, around());
      if (field < 2) await (await opening).close();
      else await expect(opening).rejects.toThrow(/expected progressive video/);
    },
  );

  needs("turbojpeg").suite("a driver that lies, Motion JPEG", () => {
    test("of more bytes than its buffer has: the JPEG is counted and not decoded", async () => {
      const formats = [{ fourcc: "MJPG", width: 64, height: 48, ratesHz: [30] }];
      const camera = await opened({ format: "MJPEG", decode: "grey" }, { formats });
      const { seen } = looped(camera);
      await streaming();
      const jpeg = await motionJpeg({ width: 64, height: 48, pixel: () => [120, 128, 128] });
      deliver(jpeg, { bytesUsed: 50_000_000 });
      deliver(jpeg);
      await until(() => seen.length === 1, "the honest one");
      expect(camera.statistics().drops).toEqual({ oversized: 1 });
    });

    test("ten decoded images can be held; the next one has no memory", async () => {
      const formats = [{ fourcc: "MJPG", width: 64, height: 48, ratesHz: [30] }];
      const camera = await opened({ format: "MJPEG", decode: "grey" }, { formats });
      const held: Frame[] = [];
      camera.start((frame) => held.push(frame));
      await streaming();
      const jpeg = await motionJpeg({ width: 64, height: 48, pixel: () => [120, 128, 128] });
      for (let i = 0; i < 11; i++) {
        deliver(jpeg);
        await until(() => fake.state(PATH).queued === 8 && (i === 10 || held.length === i + 1), `image ${i}`);
      }
      await until(() => Object.keys(camera.statistics().drops).length > 0, "a drop");
      expect(held.length).toBe(10);
      expect(Object.values(camera.statistics().drops)).toEqual([1]);
      held[3]!.release();
      deliver(jpeg);
      await until(() => held.length === 11, "an image in the memory that was released");
      for (const frame of held) frame.release();
    });
  });

  // Each image between two good ones: it is counted or handed over, and the one behind it is right.
  const ERROR_FLAG = 0x2040;
  const row = counted(7).subarray(0, 64);
  test.each<[string, Uint8Array, object, Record<string, number>]>([
    ["no bytes", new Uint8Array(), {}, { incomplete: 1 }],
    ["one row", row, {}, { incomplete: 1 }],
    ["a buffer and a byte", counted(7), { bytesUsed: 64 * 48 * 3 + 1 }, { oversized: 1 }],
    ["4 GB", counted(7), { bytesUsed: 2 ** 32 - 1 }, { oversized: 1 }],
    ["an error", counted(7), { flags: ERROR_FLAG }, { errorFlag: 1 }],
    ["the number before", counted(7), { sequence: 0 }, { driver: 1 }],
    ["a number far back", counted(7), { sequence: 2 ** 32 - 500 }, { driver: 501 }],
    ["half of all numbers lost", counted(7), { sequence: 2 ** 31 + 5 }, {}],
    ["no time", counted(7), { timestampNs: 0n }, {}],
    ["the largest time", counted(7), { timestampNs: 2n ** 63n - 1n }, {}],
    ["a time before all time", counted(7), { timestampNs: -(2n ** 62n) }, {}],
    ["an hour later", counted(7), { timestampNs: now() + 3_600_000_000_000n }, {}],
  ])("of %s: that image alone", async (_, bytes, lie, drops) => {
    const camera = await opened();
    const seen: Frame[] = [];
    camera.start((frame) => seen.push(frame));
    await streaming();
    deliver(counted(5));
    deliver(bytes, lie);
    const afterNs = now();
    deliver(counted(9));
    await until(() => seen.at(-1)?.data[0] === 9, "the honest one");
    expect(camera.statistics().drops).toEqual(drops);
    const lost = drops.incomplete ?? drops.oversized ?? drops.errorFlag ?? 0;
    expect(seen.map(({ data }) => data[0])).toEqual(lost === 1 ? [5, 9] : [5, 7, 9]);
    // Microseconds are what a driver reports.
    expect(seen.at(-1)!.timestampNs).toBeGreaterThanOrEqual(afterNs - 1000n);
    expect(seen.at(-1)!.timestampNs).toBeLessThanOrEqual(now());
    for (const frame of seen) frame.release();
  });

  // Its image may take 5 s, so that the camera's thread ends it first even if other work delays the thread.
  const slow: Partial<FakeCamera> = { formats: [{ fourcc: "GREY", width: 64, height: 48, ratesHz: [1] }] };
  /** Each camera's action after its first image, and the error that ends it. */
  const FOR_EVER: readonly [string, RegExp, Partial<FakeCamera>, (path: string) => void][] = [
    ["is silent", /no image for [1-9]\d*\.\d s/, {}, () => {}],
    [
      "sets the error flag",
      /waiting for an image failed \(EIO\)/,
      { ...slow, endlessErrors: true },
      (path) => {
        fake.deliver(path, { timestampNs: now(), sequence: 1, flags: ERROR_FLAG, bytes: counted(1) });
      },
    ],
    [
      "delivers an image that cannot be dequeued",
      /waiting for an image failed \(EIO\)/,
      slow,
      (path) => {
        fake.fail(path, "DQBUF", constants.errno.EAGAIN, 1e9);
        fake.deliver(path, { timestampNs: now(), sequence: 1, bytes: counted(1) });
      },
    ],
    [
      "fails DQBUF",
      /taking an image \(VIDIOC_DQBUF\) failed \(EINVAL\)/,
      slow,
      (path) => {
        fake.fail(path, "DQBUF", constants.errno.EINVAL, 1e9);
        fake.deliver(path, { timestampNs: now(), sequence: 1, bytes: counted(1) });
      },
    ],
    [
      "refuses buffers",
      /no image for [1-9]\d*\.\d s/,
      {},
      (path) => fake.fail(path, "QBUF", constants.errno.EINVAL, 1e9),
    ],
    ["reports POLLERR", /failed \(EIO\)/, slow, (path) => fake.fatal(path, true)],
  ];
  test("for ever: each camera ends with its error, and none keeps a CPU busy", async () => {
    await Promise.all(
      FOR_EVER.map(async ([name, message, facts, begin], index) => {
        const path = `/dev/fake-for-ever-${index}`;
        fake.plugIn({ path, ...facts });
        const camera = await open(path, { reconnect: false }, around());
        const errors: Error[] = [];
        const seen: Frame[] = [];
        camera.on("error", (error) => errors.push(error));
        camera.start((frame) => seen.push(frame.keep()));
        await until(() => fake.state(path).streaming, `${name}: stream on`);
        fake.deliver(path, { timestampNs: now(), sequence: 0, bytes: counted(0) });
        await until(() => seen.length === 1, `${name}: the first`);
        begin(path);
        let busyNs = 0;
        const isOver = () => {
          busyNs = Math.max(busyNs, camera.statistics().threadNs);
          return errors.length === 1;
        };
        await until(isOver, `${name}: an error`);
        expect(busyNs, name).toBeLessThan(200e6);
        expect(errors[0]!.message, name).toMatch(message);
        expect(seen, name).toHaveLength(1);
        await camera.close();
        seen[0]!.release();
        expect(fake.state(path), name).toMatchObject({ opens: 0, mappings: 0 });
      }),
    );
  });

  test.each([
    ["a buffer that it never gave", 31],
    ["a buffer that the reader holds", 0],
  ])("of %s: the stream ends instead of two writing into one", async (_, claimedIndex) => {
    const camera = await opened({ reconnect: false });
    const errors: Error[] = [];
    camera.on("error", (error) => errors.push(error));
    const frames: Frame[] = [];
    camera.start((frame) => frames.push(frame));
    await streaming();
    deliver();
    await until(() => frames.length === 1, "a frame");
    deliver(counted(1), { claimedIndex });
    await until(() => errors.length === 1, "an error");
    expect(errors[0]!.message).toMatch(/taking an image \(VIDIOC_DQBUF\) failed \(EIO\)/);
    expect(frames).toHaveLength(1);
    frames[0]!.release();
  });
});
