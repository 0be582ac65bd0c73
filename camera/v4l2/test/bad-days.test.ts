// SPDX-License-Identifier: Apache-2.0
// Failures of a camera: unplugged, closed under a loop, refused, a driver that reports wrong values.
import { constants } from "node:os";
import { describe, expect, test, vi } from "vitest";
import { needs } from "../../../test/doubles/needs.js";
import {
  CameraError,
  type CameraRequest,
  describe as describeCamera,
  type Frame,
  open,
} from "../src/index.js";
import type { FakeCamera } from "./fake-video/fake-video.js";
import { counted, now, until } from "./fake-video/helpers.js";
import {
  around,
  countAgain,
  deliver,
  fake,
  GAIN,
  looped,
  opened,
  PATH,
  streaming,
} from "./fake-video/one-camera.js";
import { motionJpeg } from "./motion-jpeg.js";

const { EBUSY, EACCES, ENOENT } = constants.errno;

describe("failures", () => {
  test("unplugged and back under another name: the same camera, the same loop, its controls set again", async () => {
    const camera = await opened({ controls: { gain: 40 } }, { bus: "usb-1", controls: [GAIN] });
    camera.watch("gain");
    const events: string[] = [];
    camera.on("lost", (reason) => events.push(`lost ${reason}`));
    camera.on("back", () => events.push("back"));
    const { seen } = looped(camera);
    await streaming();
    deliver();
    await until(() => seen.length === 1, "a frame");
    fake.unplug(PATH);
    await until(() => events.length === 1, "lost");
    expect(events[0]).toBe(`lost ${PATH}: the camera was unplugged (ENODEV).`);
    expect(() => camera.set("gain", 5)).toThrow(/is away/);
    fake.plugIn({ path: PATH, bus: "usb-1", controls: [GAIN] });
    await until(() => fake.state(PATH).streaming, "stream again");
    countAgain();
    deliver();
    await until(() => seen.length === 2, "a frame again");
    expect(events[1]).toBe("back");
    expect(fake.control(PATH, GAIN.id)).toBe(40);
    const changed = vi.fn();
    camera.on("control", changed);
    fake.change(PATH, GAIN.id, 45);
    await until(() => changed.mock.calls.length === 1, "still watched");
  });

  test("without reconnection the loop throws what happened", async () => {
    const camera = await opened({ reconnect: false });
    const { ended } = looped(camera);
    await streaming();
    fake.unplug(PATH);
    await expect(ended).rejects.toMatchObject({ code: "DEVICE_UNAVAILABLE", message: /unplugged/ });
    await camera.close();
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("read by a function, the same is an error event", async () => {
    const camera = await opened({ reconnect: false });
    const errors: Error[] = [];
    camera.on("error", (error) => errors.push(error));
    camera.start((frame) => frame.release());
    await streaming();
    fake.unplug(PATH);
    await until(() => errors.length === 1, "an error");
    expect(errors[0]).toBeInstanceOf(CameraError);
  });

  test("an abort closes the camera, and the loop throws the signal's reason", async () => {
    const stop = new AbortController();
    const camera = await opened({ signal: stop.signal });
    const { seen, ended } = looped(camera);
    await streaming();
    deliver();
    await until(() => seen.length === 1, "a frame");
    stop.abort(new Error("enough"));
    await expect(ended).rejects.toThrow("enough");
    await camera.close();
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
    await expect(open(PATH, { signal: stop.signal }, around())).rejects.toThrow("enough");
    const late = new AbortController();
    const opening = open(PATH, { signal: late.signal }, around());
    late.abort();
    await expect(opening).rejects.toMatchObject({ name: "AbortError" });
    expect(fake.state(PATH).opens).toBe(0);
  });

  test("closed while a loop waits: the loop ends", async () => {
    const camera = await opened();
    const { seen, ended } = looped(camera);
    await streaming();
    await camera.close();
    await ended;
    expect(seen).toEqual([]);
  });

  test("it can be left to the end of a block", async () => {
    fake.plugIn({ path: PATH });
    const camera = await open(PATH, {}, around());
    await camera[Symbol.asyncDispose]();
    expect(fake.state(PATH).opens).toBe(0);
  });
});

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

describe("too little USB bandwidth", () => {
  const { ENOSPC } = constants.errno;

  test("at the first start: the camera ends with its own code and says what to do", async () => {
    fake.plugIn({ path: PATH });
    fake.fail(PATH, "STREAMON", ENOSPC, 1e9);
    const camera = await open(PATH, {}, around());
    const ended = (async () => {
      for await (const _ of camera);
    })();
    await expect(ended).rejects.toMatchObject({
      code: "DEVICE_BANDWIDTH",
      message: expect.stringMatching(/free USB bandwidth/),
      hint: expect.stringMatching(/Motion JPEG.*quirks=128/),
    });
    await until(() => fake.state(PATH).opens === 0, "the camera is closed");
  });

  test("after a replug: the reason changes, and the camera returns when there is room again", async () => {
    const camera = await opened();
    const reasons: string[] = [];
    camera.on("lost", (reason) => reasons.push(reason));
    const seen: Frame[] = [];
    camera.start((frame) => seen.push(frame.keep()));
    await streaming();
    deliver(counted(1));
    await until(() => seen.length === 1, "the first image");
    fake.fail(PATH, "STREAMON", ENOSPC, 2);
    fake.fatal(PATH, true);
    await until(() => reasons.length === 1, "the stream's failure");
    fake.fatal(PATH, false);
    await until(() => reasons.length === 2, "the missing bandwidth");
    expect(reasons[1]).toMatch(/free USB bandwidth.*Motion JPEG/);
    await until(() => fake.state(PATH).streaming, "the stream is on again");
    deliver(counted(2));
    await until(() => seen.length === 2, "the next image");
    expect(reasons).toHaveLength(2);
    await camera.close();
  });
});

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

  /** Each camera's action after its first image, and the error that ends it. */
  const FOR_EVER: readonly [string, RegExp, Partial<FakeCamera>, (path: string) => void][] = [
    ["is silent", /no image for 1\.\d s/, {}, () => {}],
    [
      "sets the error flag",
      /waiting for an image failed \(EIO\)/,
      { endlessErrors: true },
      (path) => {
        fake.deliver(path, { timestampNs: now(), sequence: 1, flags: ERROR_FLAG, bytes: counted(1) });
      },
    ],
    [
      "delivers an image that cannot be dequeued",
      /waiting for an image failed \(EIO\)/,
      {},
      (path) => {
        fake.fail(path, "DQBUF", constants.errno.EAGAIN, 1e9);
        fake.deliver(path, { timestampNs: now(), sequence: 1, bytes: counted(1) });
      },
    ],
    [
      "fails DQBUF",
      /taking an image \(VIDIOC_DQBUF\) failed \(EINVAL\)/,
      {},
      (path) => {
        fake.fail(path, "DQBUF", constants.errno.EINVAL, 1e9);
        fake.deliver(path, { timestampNs: now(), sequence: 1, bytes: counted(1) });
      },
    ],
    [
      "refuses buffers",
      /no image for 1\.\d s/,
      {},
      (path) => fake.fail(path, "QBUF", constants.errno.EINVAL, 1e9),
    ],
    ["reports POLLERR", /failed \(EIO\)/, {}, (path) => fake.fatal(path, true)],
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
