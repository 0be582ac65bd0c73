// SPDX-License-Identifier: Apache-2.0
// Stalls, losses and returns of a supervised camera, on a clock that the test moves: limits to the look, causes, memory.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CameraError } from "../src/errors.js";
import {
  FACTS_BYTES,
  type NativeAddon,
  type NativeCamera,
  type NativeIdentity,
  type NativeOpenOptions,
  RING_ENTRIES,
} from "../src/native.js";
import { SupervisedCamera, type SupervisorOptions } from "../src/supervised-camera.js";

const IDENTITY: NativeIdentity = {
  path: "/dev/hand0",
  driver: "hand",
  card: "Hand camera",
  bus: "usb-1",
  captures: true,
  streams: true,
  multiPlanar: false,
};
const FORMAT = {
  fourcc: "GREY",
  width: 4,
  height: 2,
  strideBytes: 4,
  imageBytes: 8,
  planes: [{ strideBytes: 4, imageBytes: 8 }],
  rateHz: 30,
};
const COUNTS = {
  frames: 0,
  errorFlagged: 0,
  empty: 0,
  oversized: 0,
  decodeFailed: 0,
  decodeRepaired: 0,
  noFreeBuffer: 0,
  queueFailed: 0,
  eventsLost: 0,
  streamOnNs: 0,
  threadNs: 0,
};
const { ENODEV, EIO, ENOSPC } = constants.errno;

/** A native camera whose images and faults the test delivers. */
class HandCamera {
  readonly identity = IDENTITY;
  readonly planes = 1;
  readonly images = Array.from({ length: 4 }, () => new Uint8Array(8));
  readonly ring = new ArrayBuffer(4 * RING_ENTRIES);
  readonly facts = new ArrayBuffer(4 * FACTS_BYTES);
  readonly exportedDescriptors: number[] = [];
  counts = { ...COUNTS };
  format = FORMAT;
  log: string[] = [];
  #produced = 0;
  #wake: Parameters<NativeCamera["start"]>[0] = () => {};

  start(onWake: Parameters<NativeCamera["start"]>[0]): void {
    this.log.push("start");
    this.#wake = onWake;
  }
  /** An image that was captured 7 ms ago. */
  deliver(): void {
    const entry = this.#produced++;
    new Uint32Array(this.ring)[entry % RING_ENTRIES] = entry % 4;
    const ns = BigInt(Math.round(performance.now() * 1e6));
    new BigInt64Array(this.facts).set([ns - 7_000_000n, ns], (entry % 4) * 8);
    new Uint32Array(this.facts).set([entry, 0x2000], (entry % 4) * 16 + 4);
    this.#wake(this.#produced, 0, undefined, false);
  }
  fail(errno: number): void {
    this.#wake(this.#produced, errno, "streaming", false);
  }
  change(): void {
    this.#wake(this.#produced, 0, undefined, true);
  }
  takeEvents = () => [{ id: 7, value: 1, inactive: false, minimum: 0, maximum: 1 }];
  release(): void {}
  restartAt(ns: number): void {
    this.log.push(`restart at ${ns}`);
  }
  statistics = () => this.counts;
  async close(): Promise<void> {
    this.log.push("close");
  }
  freeKept(): void {
    this.log.push("free");
  }
}

/** A supervised camera, the cameras that were opened for it, and what its consumer received. */
async function bench(more: Partial<SupervisorOptions> = {}, first: Partial<HandCamera> = {}) {
  const cameras: HandCamera[] = [];
  const asked: NativeOpenOptions[] = [];
  const log: string[] = [];
  const control = {
    present: true,
    path: IDENTITY.path,
    /** Replaces the opening of the next cameras. */
    open: async (): Promise<HandCamera> => new HandCamera(),
  };
  const addon = {
    identify: async (path: string) => {
      log.push("look");
      if (!control.present || path !== control.path) throw new Error("no such device");
      return IDENTITY;
    },
    open: async (options: NativeOpenOptions) => {
      asked.push(options);
      const camera = cameras.length === 0 ? Object.assign(new HandCamera(), first) : await control.open();
      cameras.push(camera);
      return camera;
    },
  } as unknown as NativeAddon;
  const clocks = () => {
    const monotonicNs = BigInt(Math.round(performance.now() * 1e6));
    return { monotonicNs, realtimeNs: monotonicNs };
  };
  const supervised = await SupervisedCamera.open({
    addon,
    clocks,
    folders: { sysfs: "/nowhere" },
    prepare: () => log.push("prepare"),
    ...more,
    open: { path: IDENTITY.path, ...more.open },
  });
  const held: (() => void)[] = [];
  supervised.start({
    onFrame: (camera, frame) => {
      log.push(`frame ${frame.sequence}`);
      held.push(() => camera.release(frame));
    },
    onTurn: () => log.push("turn"),
    onLost: (reason) => log.push(`lost ${reason}`),
    onBack: () => log.push("back"),
    onControls: (events) => log.push(`control ${events[0]!.id}`),
    onError: (error) => log.push(`error ${(error as CameraError).code ?? error.message}`),
  });
  const release = () => {
    for (const give of held.splice(0)) give();
  };
  /** @returns what was reported meanwhile, but for the looks */
  const pass = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    return taken();
  };
  const taken = () => log.splice(0).filter((entry) => entry !== "look");
  return { supervised, cameras, asked, log, control, release, pass, taken };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const GONE = "lost /dev/hand0: the camera was unplugged (ENODEV).";

describe("a stall", () => {
  test("before the first image: three seconds, and a second look", async () => {
    const { supervised, cameras, pass } = await bench();
    expect(await pass(3200)).toEqual([]);
    expect(supervised.camera).toBeDefined();
    const lost = /^lost \/dev\/hand0: the stream started but no image came for 3\.4 s; .* uncorr_err/;
    expect(await pass(200)).toEqual([expect.stringMatching(lost)]);
    expect(cameras[0]!.log).toEqual(["start", "close"]);
    expect([supervised.camera, supervised.away]).toEqual([undefined, false]);
    // The next camera gets the same three seconds; the cause is the same and so is not reported again.
    expect(await pass(200)).toEqual(["prepare"]);
    expect(await pass(3200)).toEqual([]);
    expect(cameras[1]!.log).toEqual(["start"]);
    await pass(200);
    expect(cameras[1]!.log).toEqual(["start", "close"]);
    await supervised.stop();
  });

  test.each([
    [30, 1400],
    [0, 1400],
    [1, 5400],
  ])(
    "after an image of a camera with %i Hz: from the look at 200 ms to %i ms, and a second look",
    async (rateHz, suspectMs) => {
      const { supervised, cameras, pass, taken } = await bench({}, { format: { ...FORMAT, rateHz } });
      await pass(100);
      cameras[0]!.deliver();
      expect(taken()).toEqual(["frame 0", "turn"]);
      expect(await pass(suspectMs - 100)).toEqual([]);
      const seconds = (suspectMs / 1000).toFixed(1);
      expect(await pass(200)).toEqual([
        `lost /dev/hand0: no image for ${seconds} s; the stream is started again.`,
      ]);
      await supervised.stop();
    },
  );

  test("an image between the two looks ends the suspicion", async () => {
    const { supervised, cameras, pass, taken } = await bench();
    cameras[0]!.deliver();
    await pass(1400);
    cameras[0]!.deliver();
    taken();
    expect(await pass(1400)).toEqual([]);
    expect(await pass(200)).toEqual([expect.stringContaining("no image for 1.4 s")]);
    await supervised.stop();
  });

  test("without a nominal rate the measured one counts", async () => {
    const { supervised, cameras, pass } = await bench({}, { format: { ...FORMAT, rateHz: 0 } });
    cameras[0]!.deliver();
    await pass(700);
    cameras[0]!.deliver();
    expect(supervised.period.periodNs).toBeCloseTo(700e6, 0);
    // Noticed at 800 ms; five periods later, and after a second look.
    await pass(3700);
    expect(supervised.camera).toBeDefined();
    await pass(200);
    expect(supervised.camera).toBeUndefined();
    await supervised.stop();
  });

  test("a restart gives the stream three seconds again, also where an image came just before", async () => {
    const { supervised, cameras, pass, taken } = await bench({}, { counts: { ...COUNTS, streamOnNs: 40e6 } });
    await pass(100);
    expect(supervised.startLatencyNs).toBeUndefined();
    cameras[0]!.deliver();
    expect(supervised.startLatencyNs).toBe(53e6);
    await pass(10);
    cameras[0]!.deliver();
    expect(supervised.startLatencyNs).toBe(53e6);
    await pass(190);
    cameras[0]!.deliver();
    supervised.restartAt(5e9);
    expect(cameras[0]!.log).toEqual(["start", "restart at 5000000000"]);
    taken();
    expect(await pass(3100)).toEqual([]);
    expect(await pass(200)).toEqual([expect.stringContaining("no image came for 3.3 s")]);
    await supervised.stop();
  });

  test("the first image after a restart measures how long the start took", async () => {
    const { supervised, cameras, pass } = await bench();
    cameras[0]!.deliver();
    supervised.restartAt(1);
    cameras[0]!.counts.streamOnNs = 400e6;
    await pass(1500);
    cameras[0]!.deliver();
    expect(supervised.startLatencyNs).toBe(1093e6);
    expect(supervised.period.periodNs).toBeCloseTo(1e9 / 30, 3);
    await supervised.stop();
  });
});

describe("a loss", () => {
  test("is reported once per cause, and the return once; controls and turns pass", async () => {
    const { supervised, cameras, asked, control, pass, taken, log } = await bench({
      open: { path: IDENTITY.path, width: 4 },
    });
    cameras[0]!.change();
    cameras[0]!.deliver();
    expect(taken()).toEqual(["control 7", "turn", "frame 0", "turn"]);
    control.present = false;
    cameras[0]!.fail(ENODEV);
    cameras[0]!.fail(EIO);
    expect(taken()).toEqual(["turn", GONE]);
    await pass(200);
    expect(supervised.away).toBe(true);
    control.present = true;
    control.open = async () => Promise.reject(new Error("not yet"));
    expect(await pass(200)).toEqual([]);
    expect([supervised.away, asked.length]).toEqual([false, 2]);
    control.open = async () => new HandCamera();
    expect(await pass(200)).toEqual(["prepare"]);
    cameras[1]!.fail(EIO);
    expect(await pass(200)).toEqual(["turn", "prepare"]);
    cameras[2]!.fail(ENOSPC);
    expect(taken()).toEqual(["turn", expect.stringMatching(/^lost .*USB bandwidth.* Request Motion JPEG/)]);
    expect(await pass(200)).toEqual(["prepare"]);
    cameras[3]!.deliver();
    cameras[3]!.deliver();
    expect(taken()).toEqual(["back", "frame 0", "turn", "frame 1", "turn"]);
    cameras[3]!.fail(ENODEV);
    expect(taken()).toEqual(["turn", GONE]);
    expect(asked).toEqual(Array.from({ length: 5 }, () => ({ path: IDENTITY.path, width: 4 })));
    await supervised.stop();
    log.length = 0;
    await pass(1000);
    expect([log, vi.getTimerCount()]).toEqual([[], 0]);
  });

  test.each([
    ["reconnect is false", false, ENODEV, "error DEVICE_UNAVAILABLE"],
    ["no bandwidth at the first start", true, ENOSPC, "error DEVICE_BANDWIDTH"],
  ])("is the end: %s", async (_, reconnect, errno, expected) => {
    const { supervised, cameras, pass, taken, log } = await bench({ reconnect });
    cameras[0]!.fail(errno);
    expect(taken()).toEqual(["turn", expected]);
    await pass(1000);
    expect([log, cameras.length, vi.getTimerCount()]).toEqual([[], 1, 0]);
    expect(cameras[0]!.log).toEqual(["start", "close"]);
    await supervised.stop();
  });

  test("drops of lost cameras stay counted", async () => {
    const { supervised, cameras, pass } = await bench();
    cameras[0]!.counts = { ...COUNTS, errorFlagged: 2 };
    expect(supervised.drops()).toEqual({ errorFlag: 2 });
    cameras[0]!.fail(ENODEV);
    expect(supervised.drops()).toEqual({ errorFlag: 2 });
    await pass(200);
    cameras[1]!.counts = { ...COUNTS, errorFlagged: 3, empty: 1 };
    expect(supervised.drops()).toEqual({ errorFlag: 5, incomplete: 1 });
    await supervised.stop();
    expect(supervised.drops()).toEqual({ errorFlag: 5, incomplete: 1 });
    expect(cameras.map(({ log }) => log)).toEqual([
      ["start", "close"],
      ["start", "close"],
    ]);
  });
});

describe("a return", () => {
  const PLANES = [...FORMAT.planes, { strideBytes: 2, imageBytes: 4 }];
  test.each([
    ["fourcc", { fourcc: "YUYV" }],
    ["width", { width: 8 }],
    ["height", { height: 4 }],
    ["number of planes", { planes: PLANES }],
    ["stride", { planes: [{ strideBytes: 8, imageBytes: 8 }] }],
  ])("with another %s is the end", async (_, change) => {
    const { supervised, cameras, control, pass, taken } = await bench();
    control.open = async () => Object.assign(new HandCamera(), { format: { ...FORMAT, ...change } });
    cameras[0]!.fail(ENODEV);
    taken();
    expect(await pass(1000)).toEqual(["error DEVICE_UNSUITABLE"]);
    expect([cameras.length, cameras[1]!.log]).toEqual([2, ["close"]]);
    expect(supervised.camera).toBeUndefined();
    await supervised.stop();
  });

  test("whose preparation fails is tried again if a retry can help, else it is the end", async () => {
    const errors = [new CameraError("DEVICE_UNAVAILABLE", "later"), new Error("never")];
    const { supervised, cameras, pass, taken } = await bench({
      prepare: () => {
        throw errors.shift();
      },
    });
    cameras[0]!.fail(ENODEV);
    taken();
    expect(await pass(200)).toEqual([]);
    expect(await pass(1000)).toEqual(["error never"]);
    expect(cameras.map(({ log }) => log.at(-1))).toEqual(["close", "close", "close"]);
    await supervised.stop();
  });

  test("under another path: the camera is looked for there from then on, with a new clock", async () => {
    const sysfs = mkdtempSync(join(tmpdir(), "supervised-"));
    writeFileSync(join(sysfs, "video7"), "");
    const { supervised, cameras, control, asked, pass, taken } = await bench({ folders: { sysfs } });
    const { clock } = supervised;
    cameras[0]!.deliver();
    control.path = "/dev/video7";
    cameras[0]!.fail(ENODEV);
    // The image was not looked at: the next camera has its three seconds all the same.
    await pass(200);
    expect(asked[1]).toEqual({ path: "/dev/video7" });
    expect(supervised.clock).not.toBe(clock);
    await pass(3200);
    expect(cameras[1]!.log).toEqual(["start"]);
    cameras[1]!.counts.streamOnNs = 400e6;
    cameras[1]!.deliver();
    expect(supervised.startLatencyNs).toBe(2993e6);
    taken();
    expect(await pass(1600)).toEqual([expect.stringMatching(/^lost \/dev\/video7: no image for 1\.4 s/)]);
    await supervised.stop();
    rmSync(sysfs, { recursive: true });
  });

  test("is opened once, however long that takes; after stop() it is closed", async () => {
    const { supervised, cameras, control, asked, pass, taken } = await bench();
    let arrive: (camera: HandCamera) => void = () => {};
    control.open = () =>
      new Promise((resolve) => {
        arrive = resolve;
      });
    cameras[0]!.fail(ENODEV);
    await pass(2000);
    expect(asked).toHaveLength(2);
    taken();
    const stopped = supervised.stop();
    arrive(new HandCamera());
    await stopped;
    expect(cameras[1]!.log).toEqual(["close"]);
    expect(taken()).toEqual([]);
    expect(supervised.camera).toBeUndefined();
  });

  test("a stop while it is looked for opens nothing", async () => {
    const { supervised, cameras, asked, pass } = await bench();
    cameras[0]!.fail(ENODEV);
    await pass(0);
    vi.advanceTimersByTime(200);
    await supervised.stop();
    await pass(1000);
    expect(asked).toHaveLength(1);
  });
});

describe("memory", () => {
  test("that the camera owns: the next camera writes into it once the last image is back", async () => {
    const { supervised, cameras, asked, release, pass } = await bench({
      open: { path: IDENTITY.path, ownMemory: true },
    });
    const { images } = cameras[0]!;
    expect(supervised.inputMemory).toBe(images);
    cameras[0]!.deliver();
    cameras[0]!.fail(ENODEV);
    await pass(1000);
    expect(asked).toHaveLength(1);
    release();
    await pass(200);
    expect(asked[1]).toEqual({ path: IDENTITY.path, userBuffers: images });
    expect(supervised.inputMemory).toBe(images);
    await supervised.stop();
    expect(cameras[0]!.log).not.toContain("free");
  });

  test("of the driver: mapped until the end, exported by the first camera alone", async () => {
    const open = { path: IDENTITY.path, keepMapped: true, exportBuffers: true };
    const { supervised, cameras, asked, pass } = await bench({ open }, { exportedDescriptors: [5, 6, 7, 8] });
    expect(asked[0]).toEqual(open);
    expect(supervised.inputMemory).toEqual(
      cameras[0]!.images.map((bytes, image) => ({ bytes, dmaBuffer: 5 + image })),
    );
    cameras[0]!.fail(ENODEV);
    await pass(200);
    expect(asked[1]).toEqual({ path: IDENTITY.path });
    expect(supervised.inputMemory).toBeUndefined();
    await supervised.stop();
    expect(cameras[0]!.log).toEqual(["start", "close", "free"]);
  });

  test.each([
    ["decoded images", { keepMapped: true, exportBuffers: true }, [5]],
    ["buffers that are not kept", { exportBuffers: true }, [5, 6, 7, 8]],
  ])("none for %s", async (_, more, exportedDescriptors) => {
    const { supervised, cameras, asked, pass } = await bench(
      { open: { path: IDENTITY.path, ...more } },
      { exportedDescriptors },
    );
    expect(supervised.inputMemory).toBeUndefined();
    cameras[0]!.fail(ENODEV);
    await pass(200);
    expect("exportBuffers" in asked[1]!).toBe(!("keepMapped" in more));
    await supervised.stop();
  });
});
