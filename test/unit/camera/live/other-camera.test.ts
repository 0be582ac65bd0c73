// SPDX-License-Identifier: Apache-2.0
// A third camera next to the pair, against the driver in memory: the nearest image, late ones, losses and returns, refusals.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { FramePair, SourceEvents } from "../../../../camera/index.js";
import { openV4l2Source, type V4l2Settings } from "../../../../camera/index.js";
import { RowCheck } from "../../../../camera/live/row-check.js";
import {
  type FakeCamera,
  type FakeVideo,
  fakeVideo,
} from "../../../../camera/v4l2/test/fake-video/fake-video.js";
import { clocks, counted, now, play, readCounter, until, video } from "../../../doubles/cameras.js";
import { needs } from "../../../doubles/needs.js";

vi.setConfig({ testTimeout: 60_000 });

const [LEFT, RIGHT, OTHER] = ["/dev/fake0", "/dev/fake1", "/dev/fake2"];
const PERIOD_NS = 33_333_000n;
let fake: FakeVideo;
let cleanups: (() => unknown)[] = [];

async function open(other: Partial<V4l2Settings["other"]> = {}, notes: string[] = []) {
  const request = { left: LEFT, right: RIGHT, width: 64, height: 48 };
  const settings = { ...request, other: { device: OTHER, width: 64, height: 48, ...other } };
  const folders = { sysfs: "/nowhere" };
  const onNote = (note: string) => notes.push(note);
  const source = await openV4l2Source(settings, { video, clocks, system: fake.system, folders, onNote });
  cleanups.push(() => source.stop());
  return source;
}

/** Records the third image of each pair: the counter in its image, and its time less the left one's, ns. */
function recordOthers(keep?: FramePair[]) {
  const seen: ({ counter: number; offsetNs: number } | undefined)[] = [];
  const states: [string | undefined, string | undefined][] = [];
  const errors: Error[] = [];
  const events: SourceEvents = {
    onPair(pair) {
      const { other, left } = pair;
      seen.push(
        other && {
          counter: readCounter(other.data),
          offsetNs: Number(other.timestampNs - left.timestampNs),
        },
      );
      if (keep) keep.push(pair);
      else pair.release();
    },
    onDegraded: (reason, code) => states.push([reason, code]),
    onEnd: () => {},
    onError: (error) => errors.push(error),
  };
  return { seen, states, errors, events };
}

const plugIn = (more: Partial<FakeCamera> = {}) => {
  for (const path of [LEFT, RIGHT]) fake.plugIn({ path });
  fake.plugIn({ path: OTHER, ...more });
};

/** Delivers the images of a pair, and waits until it was taken. */
async function deliverPair(seen: unknown[], atNs: bigint, i: number): Promise<void> {
  const before = seen.length;
  fake.deliver(LEFT, { timestampNs: atNs, sequence: i, bytes: counted(i) });
  fake.deliver(RIGHT, { timestampNs: atNs, sequence: i, bytes: counted(i) });
  await until(() => seen.length === before + 1, `pair ${i}`);
}

needs("toolchain").suite("third camera", () => {
  beforeEach(() => {
    fake = fakeVideo();
    cleanups = [];
  });
  afterEach(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
    for (const path of [LEFT, RIGHT, OTHER])
      expect(fake.state(path)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("each pair takes the nearest image that is there; one image may serve several pairs", async () => {
    // Every image of the third camera is looked at when it arrives.
    const arrived = new Set<number>();
    const add = RowCheck.prototype.add;
    const looking = vi.spyOn(RowCheck.prototype, "add").mockImplementation(function (this: RowCheck, image) {
      arrived.add(readCounter(image.data));
      return add.call(this, image);
    });
    cleanups.push(() => looking.mockRestore());
    plugIn();
    const source = await open();
    expect(source.description.other).toEqual(
      expect.objectContaining({ width: 64, height: 48, format: "GREY", strideBytes: 64 }),
    );
    expect(source.captureMemory()).toEqual({ left: "mmap", right: "mmap", other: "mmap" });
    const { seen, states, events } = recordOthers();
    source.start(events);
    await until(() => [LEFT, RIGHT, OTHER].every((path) => fake.state(path).streaming), "all stream");
    const start = now();
    await deliverPair(seen, start, 0);
    const other = async (atNs: bigint, i: number) => {
      fake.deliver(OTHER, { timestampNs: atNs, sequence: i, bytes: counted(100 + i) });
      await until(() => arrived.has(100 + i), `image ${i}`);
    };
    await other(start + PERIOD_NS - 4_000_000n, 0);
    await other(start + PERIOD_NS + 3_000_000n, 1);
    await deliverPair(seen, start + PERIOD_NS, 1);
    await deliverPair(seen, start + PERIOD_NS - 2_000_000n + PERIOD_NS, 2);
    await deliverPair(seen, start + 4n * PERIOD_NS, 3);
    expect(seen).toEqual([
      undefined,
      { counter: 101, offsetNs: 3_000_000 },
      { counter: 101, offsetNs: 3_000_000 - 33_333_000 + 2_000_000 },
      undefined,
    ]);
    expect(source.counters().other).toEqual({
      pairs: 2,
      missed: { none: 1, late: 1 },
      drops: {},
      offsetNs: 5_000_000 - 33_333_000,
      problem: undefined,
    });
    expect(states).toEqual([]);
  });

  test("unplugged and back: the pairs continue, the state says why with a code, and pairs without are counted", async () => {
    plugIn();
    const source = await open();
    const { seen, states, errors, events } = recordOthers();
    source.start(events);
    cleanups.push(play(fake, LEFT), play(fake, RIGHT), play(fake, OTHER));
    await until(() => seen.some((one) => one !== undefined), "a pair with three images");
    fake.unplug(OTHER);
    await until(() => states.length === 1, "degraded");
    const [reason, code] = states[0]!;
    expect(reason).toMatch(
      /^\/dev\/fake2: the camera was unplugged \(ENODEV\)\. Pairs continue without the images of \/dev\/fake2/,
    );
    expect(code).toBe("DEVICE_UNAVAILABLE");
    expect(source.isAway()).toBe(false);
    expect(source.counters().other?.problem).toEqual({ code, reason });
    const before = seen.length;
    await until(() => seen.length > before + 10, "pairs continue");
    expect(seen.slice(before + 1).every((one) => one === undefined)).toBe(true);
    expect(source.counters().other!.missed.lost).toBeGreaterThan(8);
    fake.plug(OTHER);
    await until(() => states.length === 2, "recovered");
    expect(states[1]).toEqual([undefined, undefined]);
    await until(() => seen.at(-1) !== undefined, "three images again");
    expect(source.counters().other?.problem).toBeUndefined();
    expect(errors).toEqual([]);
  });

  test("back with another format it is lost for good, and the pairs continue", async () => {
    plugIn();
    const source = await open();
    const { seen, states, errors, events } = recordOthers();
    source.start(events);
    cleanups.push(play(fake, LEFT), play(fake, RIGHT), play(fake, OTHER));
    await until(() => seen.length > 3, "pairs");
    fake.unplug(OTHER);
    await until(() => states.length === 1, "degraded");
    fake.plugIn({ path: OTHER, formats: [{ fourcc: "GREY", width: 32, height: 24, ratesHz: [30] }] });
    await until(() => states.length === 2, "refused");
    expect(states[1]![1]).toBe("DEVICE_UNSUITABLE");
    const before = seen.length;
    await until(() => seen.length > before + 3, "pairs continue");
    expect(errors).toEqual([]);
  });

  test("a lost camera of the pair is reported before the third one, and the third one's loss stays", async () => {
    plugIn();
    const source = await open();
    const { seen, states, events } = recordOthers();
    source.start(events);
    cleanups.push(play(fake, LEFT), play(fake, RIGHT), play(fake, OTHER));
    await until(() => seen.length > 3, "pairs");
    fake.unplug(OTHER);
    await until(() => states.length === 1, "third camera lost");
    fake.unplug(RIGHT);
    await until(() => states.length === 2, "right camera lost");
    expect(states[1]).toEqual([`${RIGHT}: the camera was unplugged (ENODEV).`, undefined]);
    fake.plug(RIGHT);
    await until(() => states.length === 3, "pairs again");
    expect(states[2]![0]).toMatch(/fake2: the camera was unplugged/);
    fake.plug(OTHER);
    await until(() => states.length === 4, "all again");
    expect(states[3]![0]).toBeUndefined();
  });

  test("stopped while pairs with three images are held: the images stay whole", async () => {
    plugIn();
    const source = await open();
    const held: FramePair[] = [];
    const { seen, events } = recordOthers(held);
    source.start(events);
    cleanups.push(play(fake, LEFT), play(fake, RIGHT), play(fake, OTHER));
    await until(() => held.some(({ other }) => other !== undefined), "a pair with three images");
    const pair = held.find(({ other }) => other !== undefined)!;
    const counter = readCounter(pair.other!.data);
    let stopped = false;
    const stopping = source.stop().then(() => {
      stopped = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(stopped).toBe(false);
    expect(readCounter(pair.other!.data)).toBe(counter);
    for (const one of held) one.release();
    await stopping;
    expect(seen.length).toBe(held.length);
  });

  test.each<[string, Partial<V4l2Settings["other"]>, string, RegExp]>([
    [
      "the left camera",
      { device: LEFT },
      "CONFIG_INVALID",
      /another camera than the pair's for source\.v4l2\.other\.device/,
    ],
    ["a device that is not there", { device: "/dev/fake9" }, "DEVICE_UNAVAILABLE", /fake9/],
    [
      "a size that it lacks",
      { width: 640, height: 480 },
      "DEVICE_UNSUITABLE",
      /at 640x480, the camera offers GREY 64x48/,
    ],
  ])("%s is refused, and everything closed", async (_, other, code, message) => {
    plugIn();
    await expect(open(other)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });
});
