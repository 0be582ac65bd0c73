// SPDX-License-Identifier: Apache-2.0
// Which changes open another source, and that the one in use stays untouched by all that fails.
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { sceneCalibration, stringifyCalibration } from "../../../camera/index.js";
import { hasColours } from "../../../core/index.js";
import { type Config, changedConfig, loadConfig, type SettingsChange } from "../../../edge/config/index.js";
import type { OpenedSource } from "../../../edge/contracts/source.js";
import { LiveInput } from "../../../edge/run/live-input.js";
import { type SourceKind, sourceDefinition } from "../../../edge/sources/section.js";
import { ScriptedSource } from "../../doubles/run-script.js";

const opened: LiveInput[] = [];
afterEach(async () => {
  for (const input of opened.splice(0)) await input.source.stop();
  vi.restoreAllMocks();
});

const SMALL = ["board=none", "source.synthetic.width=96", "source.synthetic.height=64"];
const config = (...set: string[]): Config => loadConfig({ set: [...SMALL, ...set], environment: {} }).config;

async function open(...set: string[]) {
  const now = config(...set);
  const input = await LiveInput.open(now, () => {});
  opened.push(input);
  const prepare = (change: SettingsChange) => {
    const { config: next, changed } = changedConfig(now, change, "a test");
    return input.prepare(next, changed, new AbortController().signal);
  };
  return { input, prepare };
}

test("settings of other sources change no input", async () => {
  const { prepare } = await open();
  expect(await prepare({ "source.replay.loop": true, "match.numDisparities": 32 })).toBeUndefined();
});

test("a crop of the calibration is another geometry of the same source", async () => {
  const { input, prepare } = await open();
  const before = input.geometry;
  const next = await prepare({ "calibration.crop": 1 });
  expect(next!.source).toBe(input.source);
  expect(next!.geometry.depth).not.toEqual(before.depth);
  expect(input.geometry).toBe(before);
  next!.takeOver();
  expect(input.geometry).toBe(next!.geometry);
});

test("a matcher that reads colours gets them: the source is opened anew with them", async () => {
  const { input, prepare } = await open();
  expect(hasColours(input.source.description.leftFormat)).toBe(false);
  const next = await prepare({ "match.algorithm": "esaw" });
  expect(hasColours(next!.source.description.leftFormat)).toBe(true);
  await next!.discard();
  expect(await prepare({ "match.algorithm": "cbca" })).toBeUndefined();
});

test("a run that ends does not wait for the first pair of another source", async () => {
  const { input } = await open();
  const { config: next, changed } = changedConfig(config(), { "source.synthetic.rateHz": 0.01 }, "a test");
  const ending = new AbortController();
  const prepared = input.prepare(next, changed, ending.signal);
  ending.abort();
  await expect(prepared).rejects.toMatchObject({ code: "RUN_ENDED" });
});

test("a source that is exchanged before the run starts is used", async () => {
  const { input, prepare } = await open();
  const next = await prepare({ "source.synthetic.width": 128 });
  next!.takeOver();
  expect(input.source.description.width).toBe(128);
  expect(input.geometry.width).toBe(128);
  const bytes = await new Promise<number>((resolve, reject) => {
    input.source.start({
      onPair: (pair) => {
        resolve(pair.left.data.length);
        pair.release();
      },
      onDegraded: () => {},
      onEnd: () => reject(new Error("it ended")),
      onError: reject,
    });
  });
  expect(bytes).toBe(128 * 64);
});

const SIZE = { width: 96, height: 64 };
const CALIBRATION = sceneCalibration({ ...SIZE, view: "rectified" });

/** Makes a kind open these sources, one after the other; each delivers a pair as soon as it is started. */
function scripted(kind: SourceKind, ...sources: [description?: object, more?: Partial<OpenedSource>][]) {
  const open = vi.spyOn(sourceDefinition(kind), "open");
  const made = sources.map(([description, more], i) => {
    const image = new Uint8Array(1);
    const source = new ScriptedSource(i, SIZE, () => ({ left: image, right: image }), description);
    source.eager = true;
    open.mockResolvedValueOnce({ source, ...more });
    return source;
  });
  return { open, made };
}

const NEVER = new AbortController().signal;
const OTHER_SIZE = { width: 48, height: 32, leftStrideBytes: 48, rightStrideBytes: 48 };

describe("sources by a script", () => {
  test("the picture describes frames with a calibration and without one", async () => {
    const [calibrated, plain] = scripted(
      "synthetic",
      [{}, { calibration: CALIBRATION, warnings: ["dark"] }],
      [],
    ).made;
    const { input, prepare } = await open("registration.camera=right");
    const { rig } = input.geometry;
    expect(rig!.calibration).toBe(CALIBRATION);
    expect([input.warnings, input.picture]).toEqual([
      ["dark"],
      { ...SIZE, hasDepth: true, rig, input: calibrated!.description, rateHz: 30, camera: "right" },
    ]);
    const next = await prepare({ "source.synthetic.rateHz": 5 });
    expect([next!.source, next!.warnings, plain!.stopped]).toEqual([plain, [], false]);
    expect(input.picture.hasDepth).toBe(true);
    next!.takeOver();
    expect([calibrated!.stopped, plain!.stopped]).toEqual([true, false]);
    expect(input.picture).toEqual({
      ...SIZE,
      hasDepth: false,
      rig: undefined,
      input: plain!.description,
      rateHz: 30,
      camera: "right",
    });
    await input.close();
    expect(plain!.stopped).toBe(true);
  });

  test("a source that is discarded is stopped, and the one in use is not", async () => {
    const [now, other] = scripted("synthetic", [], []).made;
    const { input, prepare } = await open();
    await (await prepare({ "source.synthetic.rateHz": 5 }))!.discard();
    expect([now!.stopped, other!.stopped, input.source.description]).toEqual([false, true, now!.description]);
  });

  test("a change of the calibration keeps the calibration of the source, as long as it is in use", async () => {
    scripted(
      "synthetic",
      [{}, { calibration: CALIBRATION, warnings: ["dark"] }],
      [],
      [{}, { calibration: CALIBRATION }],
    );
    const { input, prepare } = await open();
    const depth = async (crop: number) => {
      const next = await prepare({ "calibration.crop": crop });
      expect([next!.source, next!.warnings]).toEqual([input.source, []]);
      await next!.discard();
      return next!.geometry.depth;
    };
    const withCrop = await depth(1);
    expect(withCrop).toBeDefined();
    (await prepare({ "source.synthetic.rateHz": 5 }))!.takeOver();
    expect(await depth(1)).toBeUndefined();
    (await prepare({ "source.synthetic.rateHz": 5 }))!.takeOver();
    expect(await depth(1)).toEqual(withCrop);
    const turned = await prepare({ "rig.orientation": "rotate180" });
    expect(turned!.geometry.maps).not.toEqual(input.geometry.maps);
    expect(await prepare({ "match.numDisparities": 32 })).toBeUndefined();
  });

  test("a change of the calibration reads the configured one where the source brought none", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-calibration-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "calibration.json");
    const focalOf = (scale: number) => {
      const calibration = sceneCalibration({ ...SIZE, view: "rectified" });
      const K = calibration.left.K.map((value, i) => (i === 0 || i === 4 ? scale * value : value)) as never;
      const [left, right] = [calibration.left, calibration.right].map((camera) => ({ ...camera, K }));
      writeFileSync(file, stringifyCalibration({ ...calibration, left: left!, right: right! }));
      return scale * calibration.left.K[0]!;
    };
    scripted("synthetic", []);
    const first = focalOf(1);
    const { input, prepare } = await open(`calibration.file=${file}`);
    expect(input.geometry.depth!.focalPixels).toBeCloseTo(first, 3);
    const second = focalOf(2);
    const next = await prepare({ "calibration.crop": 1 });
    expect(next!.geometry.rig!.calibration.left.K[0]).toBeCloseTo(second, 6);
  });

  test("a source whose calibration does not fit is stopped, and the one in use stays", async () => {
    const wrong: [object, Partial<OpenedSource>] = [
      {},
      { calibration: sceneCalibration({ width: 48, height: 32, view: "rectified" }) },
    ];
    const [first, now, other, again] = scripted("synthetic", wrong, [], wrong, [
      OTHER_SIZE,
      { calibration: CALIBRATION },
    ]).made;
    const mismatch = expect.objectContaining({ code: "CALIBRATION_SIZE_MISMATCH" });
    await expect(open()).rejects.toEqual(mismatch);
    expect(first!.stopped).toBe(true);
    const { input, prepare } = await open();
    const { geometry } = input;
    await expect(prepare({ "source.synthetic.rateHz": 5 })).rejects.toEqual(mismatch);
    expect([other!.stopped, now!.stopped, input.geometry === geometry]).toEqual([true, false, true]);
    await input.source.suspend();
    await expect(input.reopen(config(), NEVER)).rejects.toEqual(mismatch);
    expect([again!.stopped, input.source.suspended]).toEqual([true, true]);
  });

  test("a source that fails before its first pair is stopped", async () => {
    const [now, other] = scripted("synthetic", [], []).made;
    other!.failure = new Error("no pair");
    const { prepare } = await open();
    await expect(prepare({ "source.synthetic.rateHz": 5 })).rejects.toThrow("no pair");
    expect([now!.stopped, other!.stopped]).toEqual([false, true]);
  });

  const third = { width: 8, height: 4, strideBytes: 8, format: "GREY" } as const;
  test.each<[description: object, isSame: boolean]>([
    [{}, true],
    [{ title: "renamed", rateHz: 5 }, true],
    [{ width: 48 }, false],
    [{ height: 32 }, false],
    [{ leftFormat: "RGB24" }, false],
    [{ rightFormat: "RGB24" }, false],
    [{ leftStrideBytes: 128 }, false],
    [{ rightStrideBytes: 128 }, false],
    [{ other: third }, false],
  ])(
    "a source that is opened again after a sleep with %j has the same images: %s",
    async (description, isSame) => {
      const [first, second] = scripted("synthetic", [], [description, { warnings: ["cold"] }]).made;
      const { input } = await open();
      const { geometry } = input;
      await input.source.suspend();
      expect(first!.stopped).toBe(true);
      const { next, isSame: found } = await input.reopen(config("registration.camera=right"), NEVER);
      expect([found, next.geometry === geometry, next.source, input.source.suspended]).toEqual([
        isSame,
        isSame,
        second,
        true,
      ]);
      expect(next.warnings[0]).toBe("cold");
      next.takeOver();
      expect([input.source.suspended, input.source.description]).toEqual([false, second!.description]);
      expect(input.geometry).toBe(next.geometry);
      expect([input.picture.camera, second!.stopped]).toEqual(["right", false]);
    },
  );

  test("a source that was opened again brings its calibration or none, and can be discarded", async () => {
    const made = scripted(
      "synthetic",
      [],
      [],
      [OTHER_SIZE, { calibration: sceneCalibration({ width: 48, height: 32, view: "rectified" }) }],
    ).made;
    const { input, prepare } = await open();
    await input.source.suspend();
    const { next } = await input.reopen(config(), NEVER);
    await next.discard();
    expect([made[1]!.stopped, input.source.suspended]).toEqual([true, true]);
    const { next: brought } = await input.reopen(config(), NEVER);
    brought.takeOver();
    expect((await prepare({ "calibration.crop": 1 }))!.geometry.depth).toBeDefined();
  });

  test("a run that has ended opens nothing, and stops a source that opens later", async () => {
    const { open: opening } = scripted("synthetic", []);
    const { input } = await open();
    const late = new ScriptedSource(1, SIZE, () => ({ left: new Uint8Array(1), right: new Uint8Array(1) }));
    let resolve = (_: OpenedSource) => {};
    opening.mockReturnValueOnce(new Promise((given) => (resolve = given)));
    const ending = new AbortController();
    const { config: next, changed } = changedConfig(config(), { "source.synthetic.rateHz": 5 }, "a test");
    const prepared = input.prepare(next, changed, ending.signal);
    ending.abort();
    await expect(prepared).rejects.toMatchObject({
      code: "RUN_ENDED",
      message: "the run ended before the new source was open",
    });
    expect(opening).toHaveBeenCalledTimes(2);
    resolve({ source: late });
    await vi.waitFor(() => expect(late.stopped).toBe(true), { interval: 1 });
    // One that waits its turn behind it is not opened at all.
    await expect(input.prepare(next, changed, ending.signal)).rejects.toMatchObject({ code: "RUN_ENDED" });
    await expect(input.reopen(config(), ending.signal)).rejects.toMatchObject({ code: "RUN_ENDED" });
    expect(opening).toHaveBeenCalledTimes(2);
  });

  test("a recording is opened again for a matcher that reads colours, and a camera is not", async () => {
    const { open: opening } = scripted("replay", [], []);
    const recording = await open("source.kind=replay", "source.replay.left=a", "source.replay.right=b");
    await recording.prepare({ "match.algorithm": "esaw" });
    expect(opening.mock.calls.map(([, requirements]) => requirements)).toEqual([
      { colours: false },
      { colours: true },
    ]);
    scripted("v4l2", []);
    const camera = await open("source.kind=v4l2", "source.v4l2.left=/dev/a", "source.v4l2.right=/dev/b");
    expect(await camera.prepare({ "match.algorithm": "esaw" })).toBeUndefined();
  });
});

describe("cameras in use", () => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "depthwatt-devices-"));
  const [real, link] = [join(folder, "video0"), join(folder, "by-id")];
  writeFileSync(real, "");
  symlinkSync(real, link);
  afterAll(() => rmSync(folder, { recursive: true }));

  const FROM = ["source.kind=v4l2", `source.v4l2.left=${real}`, "source.v4l2.right=/dev/none-b"];
  const left = "source.v4l2.left";
  const right = "source.v4l2.right";

  test.each<[SettingsChange, string | undefined]>([
    [{ [left]: "/dev/none-c" }, "/dev/none-b"],
    [{ [left]: "/dev/none-b", [right]: "/dev/none-d" }, "/dev/none-b"],
    [{ [right]: "/dev/none-c" }, real],
    // The same device by another name.
    [{ [left]: link, [right]: "/dev/none-d" }, real],
    [{ [left]: "/dev/none-c", [right]: link }, real],
    [{ [left]: "/dev/none-c", [right]: "/dev/none-d" }, undefined],
    [{ "source.kind": "synthetic" }, undefined],
  ])("%j needs a restart because of %s", async (change, device) => {
    scripted("synthetic", []);
    const { open: opening, made } = scripted("v4l2", [], []);
    const { prepare } = await open(...FROM);
    opening.mockClear();
    const prepared = prepare(change);
    if (device === undefined) {
      expect(await prepared).toBeDefined();
      return;
    }
    await expect(prepared).rejects.toMatchObject({
      code: "SETTING_NEEDS_RESTART",
      message: expect.stringContaining(`the running source has ${device}, and`),
      context: { device },
    });
    expect([opening.mock.calls.length, made[0]!.stopped]).toEqual([0, false]);
  });

  test("those of a source that was exchanged are free", async () => {
    scripted("v4l2", [], [], []);
    const now = config(...FROM);
    const input = await LiveInput.open(now, () => {});
    opened.push(input);
    const others = config(
      "source.kind=v4l2",
      "source.v4l2.left=/dev/none-c",
      "source.v4l2.right=/dev/none-d",
    );
    (await input.prepare(others, [left, right], NEVER))!.takeOver();
    await expect(input.prepare(others, [left], NEVER)).rejects.toMatchObject({
      code: "SETTING_NEEDS_RESTART",
    });
    expect(await input.prepare(now, [left, right], NEVER)).toBeDefined();
  });
});
