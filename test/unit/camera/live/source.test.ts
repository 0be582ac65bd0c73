// SPDX-License-Identifier: Apache-2.0
// Two cameras as a source, against the driver in memory: pairs, losses by cause, unplugging, controls, refusals.
import { constants } from "node:os";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openV4l2Source, type V4l2Settings } from "../../../../camera/index.js";
import {
  type FakeCamera,
  type FakeVideo,
  fakeVideo,
} from "../../../../camera/v4l2/test/fake-video/fake-video.js";
import { clocks, counted, now, play, recording, rest, until, video } from "../../../doubles/cameras.js";
import { needs } from "../../../doubles/needs.js";
import { createTexture } from "../../../doubles/texture.js";

/** Twenty unpluggings, each waited for: a machine with other work takes its time. */
vi.setConfig({ testTimeout: 180_000 });

const LEFT = "/dev/fake0";
const RIGHT = "/dev/fake1";
let fake: FakeVideo;
let cleanups: (() => unknown)[] = [];

async function open(settings: Partial<V4l2Settings> = {}, notes: string[] = []) {
  const request = { left: LEFT, right: RIGHT, width: 64, height: 48 };
  const around = {
    video,
    clocks,
    system: fake.system,
    folders: { sysfs: "/nowhere" },
    onNote: (note: string) => notes.push(note),
  };
  const source = await openV4l2Source({ ...request, ...settings }, around);
  cleanups.push(() => source.stop());
  return source;
}

const twoCameras = (more: Partial<FakeCamera> = {}) => {
  fake.plugIn({ path: LEFT, ...more });
  fake.plugIn({ path: RIGHT, ...more });
};
const playBoth = (offsetMs = 0) => {
  cleanups.push(play(fake, LEFT), play(fake, RIGHT, 10, offsetMs));
};

needs("toolchain").suite("camera source", () => {
  beforeEach(() => {
    fake = fakeVideo();
    cleanups = [];
  });
  afterEach(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
    for (const path of [LEFT, RIGHT]) {
      try {
        expect(fake.state(path)).toMatchObject({ opens: 0, mappings: 0 });
      } catch (error) {
        if (!/no such camera/.test(String(error))) throw error;
      }
    }
  });

  test("pairs in order, each image once, with time stamps, sequence numbers and a description", async () => {
    twoCameras();
    const source = await open();
    expect(source.description).toMatchObject({
      width: 64,
      height: 48,
      leftFormat: "GREY",
      rightStrideBytes: 64,
      rateHz: 30,
      clock: "monotonic",
    });
    const { seen, events } = recording();
    source.start(events);
    await until(() => fake.state(LEFT).streaming && fake.state(RIGHT).streaming, "both stream");
    const start = now();
    for (let i = 0; i < 20; i++) {
      const at = start + BigInt(i) * 33_333_000n;
      fake.deliver(LEFT, { timestampNs: at, sequence: i, bytes: counted(i) });
      fake.deliver(RIGHT, { timestampNs: at + 1_500_000n, sequence: i, bytes: counted(i) });
      await until(() => seen.length === i + 1, `pair ${i}`);
    }
    expect(seen.map(({ left, right, leftSequence }) => [left, right, leftSequence])).toEqual(
      Array.from({ length: 20 }, (_, i) => [i, i, i]),
    );
    const counters = source.counters();
    expect(counters).toMatchObject({ pairs: 20, dropsLeft: {}, dropsRight: {} });
    expect(counters.skewMsMean).toBeCloseTo(1.5, 2);
    expect(counters.skewMsP99).toBeCloseTo(1.5, 2);
  });

  test("losses are counted by camera and cause, and no pair exceeds the strict limit", async () => {
    twoCameras();
    const source = await open({ maxSkewMs: 4 });
    const { seen, events } = recording();
    source.start(events);
    await until(() => fake.state(LEFT).streaming && fake.state(RIGHT).streaming, "both stream");
    let pairs = 0;
    for (let i = 0; i < 30; i++) {
      const at = now();
      const flags = i % 10 === 3 ? 0x2040 : 0x2000;
      if (i % 10 !== 5) fake.deliver(LEFT, { timestampNs: at, sequence: i, bytes: counted(i) });
      const skewMs = i % 10 === 7 ? 6 : 1;
      fake.deliver(RIGHT, { timestampNs: at + BigInt(skewMs * 1e6), sequence: i, flags, bytes: counted(i) });
      if (![3, 5, 7].includes(i % 10)) pairs++;
      // A camera's thread that gets its turn late would leave the other one's images alone.
      await until(() => seen.length === pairs, `pairs up to ${i}`);
      await rest(12);
    }
    expect(seen).toHaveLength(21);
    const { dropsLeft, dropsRight } = source.counters();
    expect(dropsLeft).toEqual({ driver: 3, unmatched: 6 });
    expect(dropsRight).toEqual({ errorFlag: 3, unmatched: 6 });
    for (const { leftNs, rightNs } of seen)
      expect(Math.abs(Number(leftNs - rightNs))).toBeLessThanOrEqual(4e6);
    for (const { left, right } of seen) expect(left).toBe(right);
  });

  test("a consumer that keeps pairs starves the cameras, not the process; giving back continues", async () => {
    twoCameras();
    const source = await open({ buffers: 6 });
    const { seen, held, events } = recording(true);
    source.start(events);
    await until(() => fake.state(LEFT).streaming && fake.state(RIGHT).streaming, "both stream");
    const deliver = (sequence: number) => {
      const image = { timestampNs: now(), sequence, bytes: counted(sequence) };
      return [LEFT, RIGHT].map((path) => fake.deliver(path, image));
    };
    for (let i = 0; i < 6; i++) {
      expect(deliver(i)).toEqual([true, true]);
      await until(() => seen.length === i + 1, `pair ${i}`);
    }
    for (let i = 6; i < 10; i++) expect(deliver(i), "no buffer is free").toEqual([false, false]);
    expect(seen).toHaveLength(6);
    expect(new Set(held.map((pair) => pair.left.data)).size).toBe(6);
    for (const pair of held.splice(0)) pair.release();
    for (let i = 10; i < 13; i++) {
      expect(deliver(i)).toEqual([true, true]);
      await until(() => seen.length === i - 3, `pair ${i}`);
    }
    expect(source.counters().dropsLeft).toEqual({ driver: 4 });
    expect(() => {
      const pair = held[0]!;
      pair.release();
      pair.release();
    }).toThrow(/released twice/);
    for (const pair of held.splice(1)) pair.release();
    held.length = 0;
  });

  test("one camera unplugged: degraded with the reason, and back within two seconds of its return", async () => {
    twoCameras();
    const source = await open();
    const { seen, degraded, events } = recording();
    source.start(events);
    playBoth();
    await until(() => seen.length > 5, "pairs");
    expect(source.isAway()).toBe(false);
    fake.unplug(RIGHT);
    await until(() => degraded.length === 1, "degraded");
    expect(degraded[0]).toBe(`${RIGHT}: the camera was unplugged (ENODEV).`);
    await until(() => source.isAway(), "away");
    const before = seen.length;
    await rest(500);
    expect(seen.length).toBe(before);
    fake.plug(RIGHT);
    await until(() => seen.length > before, "pairs again");
    expect(source.isAway()).toBe(false);
    expect(degraded.at(-1)).toBeUndefined();
    expect(degraded).toHaveLength(2);
  });

  test("what was lost before an unplugging still counts after the return, and what waited is given up", async () => {
    twoCameras();
    const source = await open();
    const { seen, degraded, events } = recording();
    source.start(events);
    await until(() => fake.state(LEFT).streaming && fake.state(RIGHT).streaming, "both stream");
    const pair = async (sequence: number) => {
      const before = seen.length;
      const at = now();
      for (const path of [LEFT, RIGHT])
        fake.deliver(path, { timestampNs: at, sequence, bytes: counted(sequence) });
      await until(() => seen.length > before, `pair ${sequence}`);
    };
    await pair(0);
    await pair(4);
    expect(source.counters().dropsRight).toEqual({ driver: 3 });
    // Two left images wait for partners when the right camera goes: their buffers must go back to the camera. A third one
    // pushes the first of three out, which shows that all of them have arrived.
    for (const sequence of [5, 6, 7])
      fake.deliver(LEFT, { timestampNs: now(), sequence, bytes: counted(sequence) });
    await until(() => source.counters().dropsLeft.alone === 1, "two left images wait");
    fake.unplug(RIGHT);
    await until(() => degraded.length === 1, "degraded");
    expect(fake.state(LEFT).queued).toBe(8);
    expect(source.counters().dropsLeft).toEqual({ driver: 3, alone: 3 });
    // The left camera continues meanwhile: silent for a second it would be lost too.
    const timer = setInterval(() => {
      const at = now();
      for (const path of [LEFT, RIGHT])
        if (fake.state(path).streaming)
          fake.deliver(path, { timestampNs: at, sequence: 8, bytes: counted(8) });
    }, 10);
    cleanups.push(() => clearInterval(timer));
    const before = seen.length;
    fake.plug(RIGHT);
    await until(() => seen.length > before, "pairs again");
    expect(source.counters().dropsRight).toMatchObject({ driver: 3 });
  });

  test("stopped while a pair is held: the pair stays whole, and the end waits for it", async () => {
    twoCameras();
    const source = await open();
    const { held, events } = recording(true);
    source.start(events);
    await until(() => fake.state(LEFT).streaming && fake.state(RIGHT).streaming, "both stream");
    const at = now();
    for (const path of [LEFT, RIGHT])
      fake.deliver(path, { timestampNs: at, sequence: 9, flags: 0x12000, bytes: counted(9) });
    await until(() => held.length === 1, "a pair");
    // The driver's word on what its stamp means (V4L2_BUF_FLAG_TSTAMP_SRC_SOE) travels with the pair.
    expect(held[0]!.timestampPoint).toBe("startOfExposure");
    let ended = false;
    const stopping = source.stop().then(() => {
      ended = true;
    });
    await until(() => fake.state(LEFT).opens + fake.state(RIGHT).opens === 0, "both closed");
    await rest(50);
    expect(ended).toBe(false);
    expect([held[0]!.left, held[0]!.right].map(({ data }) => data[0])).toEqual([9, 9]);
    held[0]!.release();
    await stopping;
    for (const path of [LEFT, RIGHT]) expect(fake.state(path).mappings).toBe(0);
  });

  test("one camera back is not both: degraded until pairs come again", async () => {
    twoCameras();
    const source = await open();
    const { seen, degraded, events } = recording();
    source.start(events);
    playBoth();
    await until(() => seen.length > 3, "pairs");
    fake.unplug(LEFT);
    fake.unplug(RIGHT);
    await until(() => degraded.length === 2, "both lost");
    expect(degraded[1]).toMatch(/fake\d.*fake\d/);
    fake.plug(LEFT);
    await until(() => fake.state(LEFT).streaming, "the left one streams");
    const count = seen.length;
    await rest(300);
    expect(degraded).not.toContain(undefined);
    expect(seen).toHaveLength(count);
    fake.plug(RIGHT);
    await until(() => degraded.at(-1) === undefined, "healed");
    expect(seen.length).toBeGreaterThanOrEqual(count);
  });

  test("8 times unplugged, either camera: always back, nothing left over, and never a stale image", async () => {
    twoCameras();
    const source = await open();
    const { seen, events } = recording();
    source.start(events);
    playBoth();
    for (let i = 0; i < 8; i++) {
      const before = seen.length;
      await until(() => seen.length > before + 2, `pairs before unplugging ${i}`);
      const path = i % 2 ? LEFT : RIGHT;
      fake.unplug(path);
      if (i % 5 === 0) fake.unplug(path === LEFT ? RIGHT : LEFT);
      await rest(20);
      fake.plug(LEFT);
      fake.plug(RIGHT);
    }
    await until(() => fake.state(LEFT).streaming && fake.state(RIGHT).streaming, "both stream again");
    const order = seen.map(({ leftNs }) => leftNs);
    expect(order).toEqual([...order].sort((a, b) => (a < b ? -1 : 1)));
    expect(fake.state(LEFT).mappings + fake.state(RIGHT).mappings).toBe(16);
  });

  test.each([
    ["a refused STREAMON", () => fake.fail(LEFT, "STREAMON", constants.errno.EINVAL, 2), /STREAMON/],
    ["a fatal streaming error", () => fake.fail(LEFT, "DQBUF", constants.errno.EIO, 1), /DQBUF.*EIO/],
  ])("%s degrades and recovers automatically", async (_, breakIt, reason) => {
    twoCameras();
    const source = await open();
    const { seen, degraded, events } = recording();
    breakIt();
    source.start(events);
    playBoth();
    await until(() => seen.length > 3, "pairs");
    expect(degraded[0]).toMatch(reason);
    expect(degraded.at(-1)).toBeUndefined();
  });

  test("a camera that falls silent is started again", async () => {
    twoCameras();
    const source = await open();
    const { seen, degraded, events } = recording();
    source.start(events);
    cleanups.push(play(fake, LEFT));
    const stopRight = play(fake, RIGHT);
    await until(() => seen.length > 3, "pairs");
    stopRight();
    await until(() => degraded.length === 1, "noticed");
    expect(degraded[0]).toMatch(new RegExp(`${RIGHT}: no image for \\d+\\.\\d s`));
    cleanups.push(play(fake, RIGHT));
    const before = seen.length;
    await until(() => seen.length > before, "pairs again");
  });

  test("a camera that comes back with another format ends the source with both formats named", async () => {
    twoCameras();
    const source = await open();
    const { seen, errors, events } = recording();
    source.start(events);
    playBoth();
    await until(() => seen.length > 3, "pairs");
    fake.unplug(RIGHT);
    await rest(50);
    fake.plugIn({ path: RIGHT, formats: [{ fourcc: "YUYV", width: 32, height: 24, ratesHz: [30] }] });
    await until(() => errors.length === 1, "an error");
    expect(errors[0]!.message).toMatch(/come back with GREY 64x48, got YUYV 32x24/);
  });

  test.each<[V4l2Settings["layout"] & string, string, number, number, [number, number]]>([
    ["rightLeft", "GREY", 128, 48, [64, 0]],
    ["topBottom", "GREY", 64, 96, [0, 72 * 48]],
    ["bottomTop", "YUYV", 64, 96, [136 * 48, 0]],
    ["interleaved", "Y8I ", 64, 48, [0, 0]],
    ["interleaved", "Y12I", 64, 48, [0, 0]],
    ["leftRight", "Y10P", 128, 48, [0, 80]],
    ["rightLeft", "Y12P", 128, 48, [96, 0]],
  ])("%s: both images out of one buffer", async (layout, fourcc, width, height, [leftAt, rightAt]) => {
    // A grey format at another size, which no layout may choose.
    const formats = [fourcc, "GREY"].map((one, i) => ({
      fourcc: one,
      width: width + i,
      height,
      ratesHz: [30],
    }));
    fake.plugIn({ path: LEFT, formats, strideExtra: 8 });
    const source = await openV4l2Source(
      { sideBySide: LEFT, layout, width: 64, height: 48 },
      { video, clocks, system: fake.system },
    );
    cleanups.push(() => source.stop());
    const { description } = source;
    const isInterleaved = layout === "interleaved";
    expect(description).toMatchObject({ width: 64, height: 48 });
    expect([description.leftFormat, description.rightFormat]).toEqual(
      isInterleaved ? [`${fourcc.trim()}_LEFT`, `${fourcc.trim()}_RIGHT`] : [fourcc, fourcc],
    );
    const { held, events } = recording(true);
    source.start(events);
    await until(() => fake.state(LEFT).streaming, "stream");
    fake.deliver(LEFT, {
      timestampNs: now(),
      sequence: 0,
      bytes: new Uint8Array(description.leftStrideBytes * height),
    });
    await until(() => held.length === 1, "a pair");
    const { left, right } = held[0]!;
    const bufferAt = Math.min(left.data.byteOffset, right.data.byteOffset);
    expect([left.data.byteOffset - bufferAt, right.data.byteOffset - bufferAt]).toEqual([leftAt, rightAt]);
    held[0]!.release();
  });

  test("a driver that reports shorter rows than it writes is named with both lengths", async () => {
    const [width, height, reported, real] = [320, 120, 320, 352];
    const formats = [{ fourcc: "GREY", width, height, ratesHz: [30] }];
    fake.plugIn({ path: LEFT, formats, strideExtra: real - width, lies: { strideBytes: reported } });
    fake.plugIn({ path: RIGHT, formats });
    const source = await open({ width, height });
    const { seen, warnings, events } = recording();
    source.start(events);
    await until(() => fake.state(LEFT).streaming && fake.state(RIGHT).streaming, "both stream");
    const grey = createTexture(real, height);
    const texture = Uint8Array.from({ length: real * height }, (_, i) =>
      grey(i % real, Math.floor(i / real)),
    );
    for (let i = 0; i < 17; i++) {
      const timestampNs = now();
      fake.deliver(LEFT, { timestampNs, sequence: i, bytes: texture });
      fake.deliver(RIGHT, { timestampNs, sequence: i, bytes: new Uint8Array(width * height) });
      await until(() => seen.length === i + 1, `pair ${i}`);
    }
    expect(warnings).toEqual([expect.stringMatching(/sheared: .* 320 bytes and seems to write 352\./)]);
  });

  test("packed images next to each other that would begin within a group are refused", async () => {
    fake.plugIn({ path: LEFT, formats: [{ fourcc: "Y10P", width: 132, height: 48, ratesHz: [30] }] });
    const settings = { sideBySide: LEFT, width: 66, height: 48 } as const;
    const opening = openV4l2Source(settings, { video, clocks, system: fake.system });
    await expect(opening).rejects.toThrow(/width as a multiple of 4 for two Y10P images/);
  });

  test("a layout with two cameras, and colours of NV12 above each other, are refused", async () => {
    twoCameras();
    await expect(open({ layout: "topBottom" })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    fake.plugIn({ path: LEFT, formats: [{ fourcc: "NV12", width: 64, height: 96, ratesHz: [30] }] });
    const settings = { sideBySide: LEFT, layout: "topBottom", width: 64, height: 48 } as const;
    const around = { video, clocks, system: fake.system };
    await expect(openV4l2Source({ ...settings, colours: true }, around)).rejects.toThrow(/other than NV12/);
    cleanups.push(await openV4l2Source(settings, around).then((source) => () => source.stop()));
  });

  test("side by side: one device, both images out of one buffer", async () => {
    fake.plugIn({
      path: LEFT,
      formats: [{ fourcc: "GREY", width: 128, height: 48, ratesHz: [30] }],
      strideExtra: 8,
    });
    const source = await openV4l2Source(
      { sideBySide: LEFT, width: 64, height: 48 },
      { video, clocks, system: fake.system },
    );
    cleanups.push(() => source.stop());
    expect(source.description).toMatchObject({ width: 64, leftStrideBytes: 136, rightStrideBytes: 136 });
    const { held, events } = recording(true);
    source.start(events);
    await until(() => fake.state(LEFT).streaming, "stream");
    const bytes = Uint8Array.from({ length: 136 * 48 }, (_, i) =>
      i % 136 < 64 ? 10 : i % 136 < 128 ? 200 : 99,
    );
    fake.deliver(LEFT, { timestampNs: now(), sequence: 3, bytes });
    await until(() => held.length === 1, "a pair");
    const { left, right } = held[0]!;
    for (const [side, grey] of [
      [left, 10],
      [right, 200],
    ] as const) {
      for (let y = 0; y < 48; y++) {
        expect([...side.data.subarray(y * 136, y * 136 + 64)].every((value) => value === grey)).toBe(true);
      }
    }
    expect(left.data.buffer).toBe(right.data.buffer);
    expect(fake.state(LEFT).queued).toBe(7);
    held[0]!.release();
    expect(fake.state(LEFT).queued).toBe(8);
    expect(source.counters()).toMatchObject({ pairs: 1, skewMsMean: 0, driftPpm: undefined });
    // An image that the one camera loses is lost on both sides.
    fake.deliver(LEFT, { timestampNs: now(), sequence: 6, bytes });
    await until(() => held.length === 2, "a second pair");
    const { dropsLeft, dropsRight } = source.counters();
    expect(dropsLeft).toEqual({ driver: 2 });
    expect(dropsRight).toEqual(dropsLeft);
    held[1]!.release();
  });

  test("controls: set on both cameras, read back, and what differs made equal", async () => {
    const controls = [
      { id: 0x980911, name: "Exposure", minimum: 1, maximum: 1000, step: 10, value: 51 },
      { id: 0x980913, name: "Gain", minimum: 0, maximum: 100, value: 7 },
      {
        id: 0x980920,
        name: "Trigger Mode",
        type: 3,
        minimum: 0,
        maximum: 1,
        value: 0,
        menu: ["Free", "Slave"],
      },
    ];
    fake.plugIn({ path: LEFT, controls });
    fake.plugIn({
      path: RIGHT,
      controls: controls.map((control) => ({ ...control, value: control.minimum })),
    });
    const notes: string[] = [];
    await open(
      { controls: "exposure=204, right.trigger_mode=slave", rateHz: 45, autoExposure: "off" },
      notes,
    );
    expect([LEFT, RIGHT].map((path) => controls.map(({ id }) => fake.control(path, id)))).toEqual([
      [201, 7, 0],
      [201, 7, 1],
    ]);
    expect(notes).toContain(`${LEFT}: asked for exposure=204, the camera set 201.`);
    expect(notes).toContain(`${RIGHT}: gain set to 7, as on the left camera.`);
    expect(notes.some((note) => /asked for 45 Hz, the camera delivers/.test(note))).toBe(true);
  });

  test("automatic exposure writes the same to both cameras until the image is right", async () => {
    const controls = [
      { id: 0x980911, name: "Exposure", minimum: 1, maximum: 2000, value: 100 },
      { id: 0x980913, name: "Analogue Gain", minimum: 16, maximum: 160, value: 16 },
    ];
    twoCameras({ controls });
    const source = await open();
    const { seen, events } = recording();
    source.start(events);
    await until(() => fake.state(LEFT).streaming && fake.state(RIGHT).streaming, "both stream");
    for (let i = 0; i < 30; i++) {
      const dark = new Uint8Array(64 * 48).fill(20);
      const at = now();
      fake.deliver(LEFT, { timestampNs: at, sequence: i, bytes: dark });
      fake.deliver(RIGHT, { timestampNs: at, sequence: i, bytes: dark });
      await until(() => seen.length === i + 1, `pair ${i}`);
    }
    expect(fake.control(LEFT, 0x980911)).toBeGreaterThan(300);
    expect(fake.control(RIGHT, 0x980911)).toBe(fake.control(LEFT, 0x980911));
    expect(fake.control(RIGHT, 0x980913)).toBe(fake.control(LEFT, 0x980913));
  });

  test.each<[string, Partial<V4l2Settings>, string, RegExp]>([
    ["the same device twice", { right: LEFT }, "CONFIG_INVALID", /same device twice/],
    ["one camera only", { right: undefined as unknown as string }, "CONFIG_INVALID", /two cameras/],
    [
      "a size that it lacks",
      { width: 640, height: 480 },
      "DEVICE_UNSUITABLE",
      /at 640x480, the camera offers GREY 64x48/,
    ],
    [
      "a frame of both images that it lacks",
      { sideBySide: LEFT, width: 640, height: 480 },
      "DEVICE_UNSUITABLE",
      /at 1280x480 \(two images of 640x480\), the camera offers GREY 64x48/,
    ],
    [
      "a format that it lacks",
      { format: "NV12" },
      "DEVICE_UNSUITABLE",
      /NV12 at 64x48, the camera offers GREY/,
    ],
    ["a control that it lacks", { controls: "zoom=3" }, "DEVICE_UNSUITABLE", /no control "zoom"/],
    ["controls that cannot be read", { controls: "zoom" }, "CONFIG_INVALID", /NAME=VALUE/],
  ])("%s is refused, and everything closed", async (_, settings, code, message) => {
    twoCameras();
    await expect(open(settings)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });
});
