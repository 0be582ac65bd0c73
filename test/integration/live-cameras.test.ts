// SPDX-License-Identifier: Apache-2.0
// Cameras as a live source, with the real capture code and a driver in memory: every setting of source.v4l2 changed on the
// running system, with the results of a run that was started with it; another third camera; a hundred changes under load;
// cameras that cannot be used.
import { writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { stringifyCalibration } from "../../camera/calibration/index.js";
import { sceneCalibration, type V4l2Settings } from "../../camera/index.js";
import { type FakeVideo, fakeVideo } from "../../camera/v4l2/test/fake-video/fake-video.js";
import { SETTINGS } from "../../edge/config/index.js";
import { Runtime } from "../../edge/run/runtime.js";
import { now } from "../doubles/cameras.js";
import { accountedPairs, assignments, ControlBench, hashes } from "../doubles/controlled-run.js";
import { until } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";
import { seededRandom } from "../doubles/rvl-pictures.js";

const driver = vi.hoisted(() => ({ system: undefined as unknown, opened: [] as { settings: object }[] }));

// The program opens its cameras at this driver, as it would at the kernel's.
vi.mock("../../camera/index.js", async (original) => {
  const real = await original<typeof import("../../camera/index.js")>();
  return {
    ...real,
    openV4l2Source: async (...[settings, around]: Parameters<typeof real.openV4l2Source>) => {
      const inMemory = { ...around, system: driver.system, folders: { sysfs: "/nowhere" } };
      const source = await real.openV4l2Source(settings, inMemory);
      driver.opened.push({ settings });
      return source;
    },
  };
});

type Values = Record<string, string | number | boolean | null>;
type Place = Pick<V4l2Settings, "left" | "right" | "sideBySide" | "layout">;

const GAIN = 0x00980913;
const SHIFT = 5;
const PAIRS = {
  a: ["/dev/fake0", "/dev/fake1"],
  b: ["/dev/fake2", "/dev/fake3"],
  c: ["/dev/fake4", "/dev/fake5"],
};
const WIDE = ["/dev/fake6", "/dev/fake7"] as const;
/** Third cameras, with the grey level of their images. */
const THIRD = { "/dev/fake8": 60, "/dev/fake9": 200 };
const [THIRD_A, THIRD_B] = Object.keys(THIRD) as [string, string];
const DEVICES = [...Object.values(PAIRS).flat(), ...WIDE, ...Object.keys(THIRD)];

/** Grey blocks; what the right camera sees lies SHIFT pixels further left. */
function picture(
  side: "left" | "right" | "both",
  width: number,
  height: number,
  bytesPerPixel: number,
): Uint8Array {
  const random = seededRandom(7);
  const texture = Array.from({ length: (width + SHIFT) * height }, () => Math.floor(random() * 256));
  const at = (x: number, y: number, shift: number) => texture[y * (width + SHIFT) + x + shift]!;
  const shifts = side === "both" ? [0, SHIFT] : [side === "left" ? 0 : SHIFT];
  const bytes = new Uint8Array(width * shifts.length * height * bytesPerPixel);
  for (let y = 0; y < height; y++)
    for (const [part, shift] of shifts.entries())
      for (let x = 0; x < width; x++) {
        const pixel = (y * shifts.length + part) * width + x;
        // Ten bits in sixteen: the eight that are seen, and two below.
        if (bytesPerPixel === 2) new DataView(bytes.buffer).setUint16(2 * pixel, at(x, y, shift) << 2, true);
        else bytes[pixel] = at(x, y, shift);
      }
  return bytes;
}

const bench = new ControlBench();
let fake: FakeVideo;
const cleanups: (() => unknown)[] = [];

/** All cameras deliver, each pair at one moment. */
function play(shape: { width: number; height: number; bytesPerPixel: number }, bytesOfB = 64 * 48): void {
  const { width, height, bytesPerPixel } = shape;
  const [left, right, both] = (["left", "right", "both"] as const).map((side) =>
    picture(side, width, height, bytesPerPixel),
  );
  let sequence = 0;
  const timer = setInterval(() => {
    const timestampNs = now();
    sequence++;
    for (const [one, other] of Object.values(PAIRS)) {
      fake.deliver(one!, { timestampNs, sequence, bytes: left! });
      fake.deliver(other!, { timestampNs, sequence, bytes: right! });
    }
    for (const path of WIDE) fake.deliver(path, { timestampNs, sequence, bytes: both! });
    for (const [path, grey] of Object.entries(THIRD)) {
      const bytes = new Uint8Array(path === THIRD_B ? bytesOfB : 64 * 48).fill(grey);
      fake.deliver(path, { timestampNs, sequence, bytes });
    }
  }, 8);
  cleanups.push(() => clearInterval(timer));
}

const keyed = (place: Place): Values => ({
  "source.v4l2.left": place.left ?? null,
  "source.v4l2.right": place.right ?? null,
  "source.v4l2.sideBySide": place.sideBySide ?? null,
  "source.v4l2.layout": place.layout ?? "leftRight",
});
const pairValues = ([left, right]: readonly string[]): Values => keyed({ left: left!, right: right! });

const DEFECTS = fileURLToPath(new URL("../data/defects.json", import.meta.url));
const SMALL: Values = { "source.v4l2.width": 64, "source.v4l2.height": 48 };

/** Each with what it is changed to, and how the cameras' images lie then. */
const CHANGES: Record<
  string,
  { to: Values; shape?: [width: number, height: number, bytesPerPixel: number] }
> = {
  width: { to: { "source.v4l2.width": 96 }, shape: [96, 48, 1] },
  height: { to: { "source.v4l2.height": 64 }, shape: [64, 64, 1] },
  rateHz: { to: { "source.v4l2.rateHz": 60 } },
  format: { to: { "source.v4l2.format": "Y10" }, shape: [64, 48, 2] },
  rawAlignment: {
    to: { "source.v4l2.format": "Y10", "source.v4l2.rawAlignment": "high" },
    shape: [64, 48, 2],
  },
  mono: { to: { "source.v4l2.mono": true } },
  maxSkewMs: { to: { "source.v4l2.maxSkewMs": 3 } },
  rephase: { to: { "source.v4l2.rephase": true } },
  controls: { to: { "source.v4l2.controls": "gain=7" } },
  autoExposure: { to: { "source.v4l2.autoExposure": "off" } },
  defects: { to: { "source.v4l2.defects": DEFECTS } },
  memory: { to: { "source.v4l2.memory": "userptr" } },
  buffers: { to: { "source.v4l2.buffers": 5 } },
};
/** Settings of where the images lie, which the tests below change together. */
const PLACES = ["left", "right", "sideBySide", "layout", "margins"];

/** Each setting of the third camera, what it is changed to, and what the source then reports about its images. */
const OTHER: Record<string, { to: Values; bytes?: number; described?: object; notice?: RegExp }> = {
  "other.device": { to: {} },
  "other.format": {
    to: { "source.v4l2.other.format": "Y10" },
    bytes: 64 * 48 * 2,
    described: { format: "Y10" },
  },
  "other.width": {
    to: { "source.v4l2.other.width": 96 },
    bytes: 96 * 48,
    described: { width: 96, height: 48 },
  },
  "other.height": {
    to: { "source.v4l2.other.height": 64 },
    bytes: 64 * 64,
    described: { width: 64, height: 64 },
  },
  "other.rateHz": {
    to: { "source.v4l2.other.rateHz": 50 },
    notice: /fake9: asked for 50 Hz, the camera delivers 60 Hz/,
  },
};

test("every setting of cameras is in this file", () => {
  const all = SETTINGS.filter(({ key }) => key.startsWith("source.v4l2."));
  expect(all.filter(({ takesEffect }) => takesEffect !== "live")).toEqual([]);
  const names = all.map(({ key }) => key.slice("source.v4l2.".length));
  expect([...Object.keys(CHANGES), ...PLACES, ...Object.keys(OTHER)].sort()).toEqual(names.sort());
});

needs("mosquitto", "toolchain").suite("cameras while it runs", () => {
  beforeEach(() => {
    fake = fakeVideo();
    driver.system = fake.system;
    driver.opened = [];
    const formats = ["GREY", "Y10 "].flatMap((fourcc) =>
      [
        ...[
          [64, 48],
          [96, 48],
          [64, 64],
        ],
        ...[[128, 48]],
      ].map(([width, height]) => ({ fourcc, width: width!, height: height!, ratesHz: [30, 60] })),
    );
    const gain = { id: GAIN, name: "Gain", minimum: 0, maximum: 100, value: 20 };
    for (const path of DEVICES) fake.plugIn({ path, formats, controls: [gain] });
  });
  afterEach(async () => {
    await bench.close();
    for (const cleanup of cleanups.splice(0).reverse()) cleanup();
    for (const path of DEVICES) expect(fake.state(path), path).toMatchObject({ opens: 0, mappings: 0 });
  });

  const beginning = (pair: readonly string[]) => ({ "source.kind": "v4l2", ...SMALL, ...pairValues(pair) });
  const SETUP = ["match.numDisparities=16"];

  test.each(Object.keys(CHANGES))(
    "%s: the cameras that are opened get it, and the pictures are those of a run that began with it",
    async (name) => {
      const { to, shape: [width, height, bytesPerPixel] = [64, 48, 1] } = CHANGES[name]!;
      play({ width, height, bytesPerPixel });
      const { url } = await bench.broker();
      const run = await bench.run(url, "changed", ...SETUP);
      const client = await bench.client(url, "changed");
      const change = { ...beginning(PAIRS.b), ...to };
      expect(await client.ask("set", { values: change })).toMatchObject({ ok: true, values: to });
      await until("info follows", () => client.info.at(-1)?.width === width, 5000);
      const changed = await hashes(client);
      expect(Object.keys(changed)).toEqual(expect.arrayContaining(["left.png", "disparity.png"]));

      const fresh = await bench.run(
        url,
        "fresh",
        ...SETUP,
        ...assignments({ ...change, ...pairValues(PAIRS.c) }),
      );
      expect(await hashes(await bench.client(url, "fresh"))).toEqual(changed);
      const [ours, theirs] = driver.opened.map(({ settings }) => ({ ...settings, left: "", right: "" }));
      expect(ours).toEqual(theirs);
      for (const [key, value] of Object.entries(to))
        expect(ours).toMatchObject({ [key.slice("source.v4l2.".length)]: value });
      const descriptions = [run, fresh].map(({ runtime }) => ({
        ...runtime.parts.source.description,
        title: "",
      }));
      expect(descriptions[0]).toEqual(descriptions[1]);
      const gains = [...PAIRS.b, ...PAIRS.c].map((path) => fake.control(path, GAIN));
      expect(gains).toEqual(Array(4).fill(name === "controls" ? 7 : 20));

      const ended = await run.stop();
      expect(accountedPairs(ended)).toBe(ended.captured);
    },
  );

  const SIZE = { "source.v4l2.other.width": 64, "source.v4l2.other.height": 48 };
  const ACROSS = { ...SIZE, "source.v4l2.other.device": THIRD_A };

  test.each(Object.entries(OTHER))(
    "%s: another third camera is opened with it, and its images follow",
    async (_, change) => {
      play({ width: 64, height: 48, bytesPerPixel: 1 }, change.bytes);
      const run = await bench.run(
        "none",
        "third",
        ...SETUP,
        ...assignments({ ...beginning(PAIRS.a), ...ACROSS }),
      );
      const { runtime } = run;
      const paired = () => runtime.parts.source.counters().other?.pairs ?? 0;
      await until("images of the first third camera", () => paired() > 2);
      const next = { ...pairValues(PAIRS.b), ...SIZE, "source.v4l2.other.device": THIRD_B, ...change.to };
      await runtime.apply(next, "the test");
      // The counts are of both.
      const before = paired();
      expect(before).toBeGreaterThan(2);
      await until("images of the second one", () => paired() > before + 2);
      const { other } = driver.opened.at(-1)!.settings as { other: Record<string, unknown> };
      for (const [key, value] of Object.entries({ "source.v4l2.other.device": THIRD_B, ...change.to }))
        expect(other[key.slice("source.v4l2.other.".length)], key).toBe(value);
      expect(runtime.parts.source.description.other).toMatchObject({
        width: 64,
        height: 48,
        format: "GREY",
        ...change.described,
      });
      if (change.notice) expect(run.notices).toContainEqual(expect.stringMatching(change.notice));
      await until("the first one is closed", () => fake.state(THIRD_A).opens === 0);
      const ended = await run.stop();
      expect(accountedPairs(ended)).toBe(ended.captured);
    },
  );

  test("another third camera gives other colours; one of another size, or alone, is refused and changes nothing", async () => {
    play({ width: 64, height: 48, bytesPerPixel: 1 });
    const file = join(bench.folder(), "calibration.json");
    writeFileSync(file, stringifyCalibration(sceneCalibration({ width: 64, height: 48, other: true })));
    const { url } = await bench.broker();
    const run = await bench.run(
      url,
      "colours",
      ...SETUP,
      ...assignments({ ...beginning(PAIRS.a), ...ACROSS }),
      `calibration.file=${file}`,
      "registration.camera=rgb",
      "points.colour=registered",
      "outputs.mqtt.points.enabled=true",
    );
    const { runtime } = run;
    const greys: number[] = [];
    const frameDone = vi.spyOn(runtime, "frameDone");
    frameDone.mockImplementation((frame) => {
      if (frame.other !== undefined) greys.push(frame.slot.registeredImage[0]!);
      Runtime.prototype.frameDone.call(runtime, frame);
    });
    await until("the first camera's grey", () => greys.at(-1) === THIRD["/dev/fake8"]);
    const next = { ...pairValues(PAIRS.b), "source.v4l2.other.device": THIRD_B };
    const refusals: [Values, string][] = [
      [{ ...next, "source.v4l2.other.width": 96 }, "CALIBRATION_SIZE_MISMATCH"],
      [{ "source.v4l2.other.device": THIRD_B }, "SETTING_NEEDS_RESTART"],
      [{ ...next, "source.v4l2.other.device": "/dev/fake99" }, "DEVICE_UNAVAILABLE"],
    ];
    for (const [values, code] of refusals) {
      await expect(runtime.apply(values, "the test"), JSON.stringify(values)).rejects.toMatchObject({ code });
      const { length } = greys;
      await until("its images continue", () => greys.length > length + 2);
      expect(greys.at(-1)).toBe(THIRD["/dev/fake8"]);
      expect(fake.state(THIRD_B).opens).toBe(0);
    }
    await runtime.apply(next, "the test");
    await until("the second camera's grey", () => greys.at(-1) === THIRD["/dev/fake9"]);
    const ended = await run.stop();
    expect(accountedPairs(ended)).toBe(ended.captured);
  });

  test("a hundred changes under load, to other cameras, to one with both images and back: no pair is lost uncounted", async () => {
    play({ width: 64, height: 48, bytesPerPixel: 1 });
    const run = await bench.run("none", "load", ...SETUP, ...assignments(beginning(PAIRS.a)));
    const places = [
      pairValues(PAIRS.b),
      keyed({ sideBySide: WIDE[0] }),
      pairValues(PAIRS.c),
      keyed({ sideBySide: WIDE[1], layout: "rightLeft" }),
      pairValues(PAIRS.a),
    ];
    const changesMs: number[] = [];
    for (let i = 0; i < 100; i++) {
      const { frames } = run.runtime.parts.pipeline;
      const before = performance.now();
      await run.runtime.apply(places[i % places.length]!, "the test");
      changesMs.push(performance.now() - before);
      await until("frames of the new cameras", () => run.runtime.parts.pipeline.frames > frames);
    }
    changesMs.sort((a, b) => a - b);
    process.stdout.write(
      `another pair of cameras is in use after ${changesMs[50]!.toFixed(0)} ms in the median, ${changesMs.at(-1)!.toFixed(0)} at most\n`,
    );
    expect(driver.opened).toHaveLength(101);
    const ended = await run.stop();
    expect(ended.captured).toBeGreaterThan(100);
    expect(accountedPairs(ended)).toBe(ended.captured);
  });

  test("margins: the images are the rest of the frame", async () => {
    play({ width: 64, height: 48, bytesPerPixel: 1 });
    const run = await bench.run("none", "margins", ...SETUP, ...assignments(beginning(PAIRS.a)));
    const change = { ...keyed({ sideBySide: WIDE[0] }), "source.v4l2.margins": "16,0,48,0" };
    await run.runtime.apply({ ...change, "source.v4l2.width": 32 }, "the test");
    const { frames } = run.runtime.parts.pipeline;
    await until("a frame of the new camera", () => run.runtime.parts.pipeline.frames > frames);
    expect(driver.opened.at(-1)!.settings).toMatchObject({ margins: "16,0,48,0", width: 32 });
    expect(run.runtime.parts.source.description).toMatchObject({ width: 32, height: 48 });
    const ended = await run.stop();
    expect(accountedPairs(ended)).toBe(ended.captured);
  });

  test("cameras that are in use, away, busy or without bandwidth: the old ones continue, and the answer says why", async () => {
    play({ width: 64, height: 48, bytesPerPixel: 1 });
    const run = await bench.run("none", "careful", ...SETUP, ...assignments(beginning(PAIRS.a)));
    const { runtime } = run;
    fake.unplug(PAIRS.b[0]!);
    fake.openError(PAIRS.c[1]!, constants.errno.EBUSY);
    fake.fail(WIDE[0], "STREAMON", constants.errno.ENOSPC, 100);
    const cases: [Values, string, RegExp][] = [
      [
        { "source.v4l2.rateHz": 60 },
        "SETTING_NEEDS_RESTART",
        /has \/dev\/fake0, and a camera cannot be opened twice/,
      ],
      [{ "source.v4l2.right": PAIRS.c[0]! }, "SETTING_NEEDS_RESTART", /fake0/],
      [pairValues(PAIRS.b), "DEVICE_UNAVAILABLE", /fake2/],
      [pairValues(PAIRS.c), "DEVICE_BUSY", /fake5/],
      [keyed({ sideBySide: WIDE[0] }), "DEVICE_", /fake6/],
      [{ ...keyed({ sideBySide: WIDE[1] }), "source.v4l2.width": 40 }, "DEVICE_UNSUITABLE", /40x48|80x48/],
      [
        { ...keyed({ sideBySide: WIDE[1] }), "source.v4l2.controls": "gain=101" },
        "DEVICE_UNSUITABLE",
        /gain/,
      ],
    ];
    const before = runtime.config;
    for (const [change, code, text] of cases) {
      const { frames } = runtime.parts.pipeline;
      const error = await runtime.apply(change, "the test").then(
        () => undefined,
        (reason) => reason,
      );
      expect(error, JSON.stringify(change)).toMatchObject({
        code: expect.stringContaining(code),
        message: expect.stringMatching(text),
      });
      expect(runtime.config).toBe(before);
      await until("the old cameras go on", () => runtime.parts.pipeline.frames > frames + 2);
      for (const path of [...PAIRS.b, ...PAIRS.c, ...WIDE])
        expect(fake.state(path), path).toMatchObject({ opens: 0 });
    }
    await runtime.apply({ "source.kind": "synthetic" }, "the test");
    await until("the cameras are let go", () => fake.state(PAIRS.a[0]!).opens === 0);
    const ended = await run.stop();
    expect(accountedPairs(ended)).toBe(ended.captured);
  });
});
