// SPDX-License-Identifier: Apache-2.0
// Changes of an engine between two frames: which engines open and close, their settings, and the reports.
import { describe, expect, test } from "vitest";
import type { EngineOptions, FrameResult, NativeEngine } from "../../../cuda/index.js";
import { AdjustableEngine } from "../../../edge/pipeline/adjustable-engine.js";
import { engineOptions } from "../../doubles/engine-call.js";
import { changedMatch } from "../../doubles/match-change.js";
import { layeredPair } from "../../doubles/stereo-pair.js";

const pair = layeredPair(64, 48, 4);

test.each(["auto", "cpu"] as const)(
  "backend %s: the reason of what computes survives a change of settings",
  async (backend) => {
    const options = engineOptions(pair, { backend });
    const engine = new AdjustableEngine(options, {
      onProblem: (problem) => expect.unreachable(problem.message),
    });
    try {
      const before = engine.info;
      if (backend === "cpu") expect(before.backendReason).toBe("backend is set to cpu");
      else expect(before.backendReason).not.toBe("backend is set to cpu");
      for (const paths of [8, 4, 2]) {
        await engine.change({ ...options, match: changedMatch(options.match, { paths }) }, false, () => {});
        expect(engine.match.parameters.paths).toBe(paths);
        expect(engine.info).toMatchObject({ backend: before.backend, backendReason: before.backendReason });
      }
    } finally {
      engine.close();
    }
  },
);

/** An engine whose openings are noted. */
function noted() {
  const opened: EngineOptions[] = [];
  const options = engineOptions(pair, { inputMemory: [pair.left, pair.right] });
  const open = (asked: EngineOptions) => {
    opened.push(asked);
    return { info: {}, slots: [], framesInFlight: 1, setRightMap: () => {}, close: () => {} } as never;
  };
  const onProblem = (problem: Error) => expect.unreachable(problem.message);
  return { opened, options, engine: new AdjustableEngine(options, { onProblem }, open) };
}

test("options that are equal open no other engine; other memory does", async () => {
  const { opened, options, engine } = noted();
  await engine.change({ ...options, match: structuredClone(options.match) }, false, () => {});
  expect(opened).toHaveLength(1);
  await engine.change({ ...options, inputMemory: [pair.left.slice(), pair.right.slice()] }, false, () => {});
  expect(opened).toHaveLength(2);
  engine.close();
});

test("an adjustment after a correction keeps the corrected right map", async () => {
  const { opened, engine } = noted();
  const map = new Int32Array(2 * 64 * 48);
  engine.setRightMap(map);
  engine.adjust({ numDisparities: 24 });
  await expect.poll(() => opened.length).toBe(2);
  expect(opened[1]!.rightMap).toBe(map);
  engine.close();
});

type Backend = "cpu" | "cuda";
type Done = Parameters<NativeEngine["submit"]>[3];

class FakeEngine {
  readonly info: { backend: Backend; backendReason: string };
  readonly slots = [];
  readonly framesInFlight = 2;
  readonly stageMilliseconds = Float64Array.of(1);
  readonly flying: Done[] = [];
  readonly maps: Int32Array[] = [];
  isClosed = false;
  /** Set: submit() throws. */
  failure: Error | undefined;

  constructor(
    readonly options: EngineOptions,
    backend: Backend,
    number: number,
  ) {
    this.info = { backend, backendReason: `reason ${number}` };
  }

  readonly submitted: unknown[][] = [];

  submit(...[slot, left, right, onDone, ...rest]: Parameters<NativeEngine["submit"]>): void {
    if (this.failure !== undefined) throw this.failure;
    this.flying.push(onDone);
    this.submitted.push([slot, left, right, ...rest]);
  }

  setRightMap(map: Int32Array): void {
    this.maps.push(map);
  }

  close(): void {
    this.isClosed = true;
  }
}

/** Lets promises settle. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** An engine whose openings, frames and events a test decides; `made` are the engines that were opened, in order. */
function scripted(backend: Backend = "cuda", more: Partial<EngineOptions> = {}) {
  const options = engineOptions(pair, { backend: "auto", ...more });
  const made: FakeEngine[] = [];
  const log: string[] = [];
  const next = { backend, error: undefined as Error | undefined, onOpen: () => {} };
  const open = (asked: EngineOptions) => {
    next.onOpen();
    if (next.error !== undefined) throw next.error;
    made.push(new FakeEngine(asked, next.backend, made.length));
    return made.at(-1) as unknown as NativeEngine;
  };
  const events = {
    onProblem: (problem: Error) => log.push(`problem ${problem.message}`),
    onChange: ({ match }: EngineOptions) => log.push(`changed to ${match.numDisparities}`),
  };
  const engine = new AdjustableEngine(options, events, open);
  const submit = (name: string, then = () => {}) =>
    engine.submit(0, pair.left, pair.right, () => {
      log.push(`${name} of ${engine.match.numDisparities}`);
      then();
    });
  /** Completes the oldest frame of an opened engine. */
  const finish = (number: number) => made[number]!.flying.shift()!(null, {} as FrameResult);
  const withDisparities = (numDisparities: number): EngineOptions => ({
    ...options,
    match: { ...options.match, numDisparities },
  });
  const closed = () => made.map(({ isClosed }) => isClosed);
  const taken = () => log.splice(0);
  const change = (asked: EngineOptions, afresh = false) =>
    engine.change(asked, afresh, () => log.push("commit"));
  return { engine, options, made, next, submit, finish, withDisparities, closed, taken, change };
}

describe("a change", () => {
  const START = engineOptions(pair).match.numDisparities;

  test("takes effect between two frames: all earlier ones are handed on before", async () => {
    const { engine, submit, finish, withDisparities, closed, taken, change } = scripted();
    submit("first");
    submit("second");
    const changed = change(withDisparities(24)).then(() => taken());
    await settle();
    expect([closed(), engine.framesInFlight, engine.match.numDisparities]).toEqual([
      [false, false],
      1,
      START,
    ]);
    finish(0);
    finish(0);
    expect([closed(), engine.framesInFlight, engine.match.numDisparities]).toEqual([[true, false], 2, 24]);
    expect(await changed).toEqual([`first of ${START}`, `second of ${START}`, "commit", "changed to 24"]);
    submit("third");
    finish(1);
    expect(taken()).toEqual(["third of 24"]);
    expect(engine.options).toEqual(withDisparities(24));
  });

  test("takes effect inside a frame's end where the caller rests", async () => {
    const { engine, submit, finish, withDisparities, taken, change } = scripted();
    engine.rest();
    submit("first", () => {
      engine.rest();
      submit("second");
    });
    submit("meanwhile");
    void change(withDisparities(24));
    await settle();
    // Another frame is in work: it cannot rest.
    finish(0);
    expect(engine.match.numDisparities).toBe(START);
    finish(0);
    finish(0);
    expect(taken()).toEqual([
      `first of ${START}`,
      `meanwhile of ${START}`,
      `second of ${START}`,
      "commit",
      "changed to 24",
    ]);
    submit("first", () => {
      engine.rest();
      expect(engine.match.numDisparities).toBe(32);
    });
    void change(withDisparities(32));
    await settle();
    finish(1);
    expect([engine.match.numDisparities, taken()]).toEqual([32, ["first of 24", "commit", "changed to 32"]]);
  });

  test("that leaves all options as they are opens nothing, but is committed", async () => {
    const { made, options, taken, change } = scripted();
    await change({ ...options, match: structuredClone(options.match) });
    expect([made.length, taken()]).toEqual([1, ["commit"]]);
  });

  test("keeps the governor's adjustment, unless it begins afresh", async () => {
    const { engine, options, made, taken, change } = scripted();
    engine.adjust({ parameters: { paths: 2 }, numDisparities: 24 });
    await settle();
    const { parameters } = options.match;
    const adjusted = { ...options.match, numDisparities: 24, parameters: { ...parameters, paths: 2 } };
    expect(made[1]!.options).toEqual({ ...options, match: adjusted });
    await change({ ...options, leftRgb: true });
    expect(made[2]!.options).toEqual({ ...options, leftRgb: true, match: adjusted });
    await change({ ...options, leftRgb: true }, true);
    expect(made[3]!.options).toEqual({ ...options, leftRgb: true });
    // An adjustment starts from the options that were asked for last.
    engine.adjust({ numDisparities: 32 });
    await settle();
    expect(made[4]!.options).toEqual({
      ...options,
      leftRgb: true,
      match: { ...options.match, numDisparities: 32 },
    });
    engine.adjust({});
    await settle();
    expect(engine.options).toEqual({ ...options, leftRgb: true });
    expect(taken()).toEqual([
      "changed to 24",
      "commit",
      "changed to 24",
      "commit",
      `changed to ${START}`,
      "changed to 32",
      `changed to ${START}`,
    ]);
  });

  test("of several adjustments that arrive together only the last one opens an engine", async () => {
    const { engine, made, taken } = scripted();
    for (const numDisparities of [24, 32, 16]) engine.adjust({ numDisparities });
    await settle();
    expect([made.length, made[1]!.options.match.numDisparities, taken()]).toEqual([2, 16, ["changed to 16"]]);
  });

  test("that waits gives way to a newer one, also to the options in use", async () => {
    const { engine, made, submit, finish, closed, taken } = scripted();
    submit("frame");
    const adjust = async (numDisparities: number) => {
      engine.adjust({ numDisparities });
      await settle();
    };
    await adjust(24);
    await adjust(24);
    expect(made).toHaveLength(2);
    await adjust(32);
    expect(closed()).toEqual([false, true, false]);
    await adjust(START);
    expect([closed(), engine.framesInFlight]).toEqual([[false, true, true], 2]);
    finish(0);
    expect([closed(), taken()]).toEqual([[false, true, true], [`frame of ${START}`]]);
  });

  test("that cannot be opened changes nothing, and the next one can", async () => {
    const { engine, options, next, made, withDisparities, closed, taken, change } = scripted();
    next.error = new Error("no memory");
    await expect(change(withDisparities(24))).rejects.toThrow("no memory");
    engine.adjust({ numDisparities: 24 });
    await settle();
    next.error = undefined;
    expect([engine.options, taken()]).toEqual([options, ["problem no memory"]]);
    await expect(change({ ...options, slots: options.slots + 1 })).rejects.toMatchObject({
      code: "INTERNAL",
      message: `expected ${options.slots} slots as before, got ${options.slots + 1}`,
    });
    await change({ ...options, leftRgb: true });
    // Neither the refused change nor the refused adjustment is remembered.
    expect([made[1]!.options, closed()]).toEqual([{ ...options, leftRgb: true }, [true, false]]);
  });

  test("whose commit fails is rejected, and the engine works", async () => {
    const { engine, withDisparities, taken } = scripted();
    const failing = engine.change(withDisparities(24), false, () => {
      throw new Error("no commit");
    });
    await expect(failing).rejects.toThrow("no commit");
    expect(taken()).toEqual(["changed to 24"]);
  });

  const [map, matrix] = [new Int32Array(4), { x: 0, y: 0, width: 8, height: 4 }];
  test.each<[before: Partial<EngineOptions>, after: Partial<EngineOptions>, opens: boolean]>([
    [{}, {}, false],
    [{ leftRgb: true }, {}, true],
    [{}, { leftRgb: true }, true],
    [{ region: matrix }, { region: { ...matrix } }, false],
    [{ region: matrix }, { region: { ...matrix, x: 1 } }, true],
    [{ region: matrix }, {}, true],
    [{}, { region: matrix }, true],
    [{ leftMap: map }, { leftMap: map }, false],
    [{ leftMap: map }, { leftMap: map.slice() }, true],
    [{ inputMemory: [pair.left] as never }, { inputMemory: [pair.left] as never }, true],
  ])("from %j to %j opens another engine: %s", async (before, after, opens) => {
    const { made, options, change } = scripted("cuda", before);
    const plain = Object.fromEntries(Object.entries(options).filter(([key]) => !(key in before)));
    await change({ ...plain, ...after } as EngineOptions);
    expect(made).toHaveLength(opens ? 2 : 1);
  });
});

test("facts of a frame are the encodings that were asked for, and the pixels of the region", async () => {
  const plain = scripted();
  expect(plain.engine.computed).toEqual({ encodings: {}, width: 64, height: 48, askedPixels: 64 * 48 });
  const encodings = {
    encodeDepth: "rvl",
    encodeDisparity: "rvl",
    leftRgb: true,
    rightGrey: true,
    points: { element: "float32" },
    voxels: { sizeMillimetres: 100 },
    registration: { camera: "rgb" },
  } as never as Partial<EngineOptions>;
  const region = { x: 1, y: 2, width: 8, height: 4 };
  await plain.change({ ...plain.options, ...encodings, region });
  expect(plain.engine.computed).toEqual({ encodings, width: 64, height: 48, askedPixels: 32 });
  expect(scripted("cuda", encodings).engine.computed.encodings).toEqual(encodings);
});

describe("the backend", () => {
  test("never falls from a GPU to the CPU by a change", async () => {
    const { engine, options, next, withDisparities, closed, taken, change } = scripted("cuda");
    next.backend = "cpu";
    const message = "The GPU refused another engine, so the one in use continues: reason";
    await expect(change(withDisparities(24))).rejects.toMatchObject({
      code: "BACKEND_UNAVAILABLE",
      message: `${message} 1`,
    });
    engine.adjust({ numDisparities: 24 });
    await settle();
    expect(engine.tryOut(options.match)).toBeUndefined();
    expect([closed(), taken()]).toEqual([[false, true, true, true], [`problem ${message} 2`]]);
  });

  test("what can be computed is tried out with the options in force", () => {
    const { engine, options, made, next, closed } = scripted("cuda", { leftRgb: true });
    const match = { ...options.match, numDisparities: 24 };
    expect(engine.tryOut(match)).toEqual({ backend: "cuda", backendReason: "reason 1" });
    expect([made[1]!.options, closed()]).toEqual([{ ...options, match }, [false, true]]);
    next.error = new Error("not this");
    expect(engine.tryOut(match)).toBeUndefined();
  });

  test("the CPU is not asked for a GPU again, and the first reason stays while auto is set", async () => {
    const { engine, options, made, withDisparities, change } = scripted("cpu");
    for (const numDisparities of [24, 32]) await change(withDisparities(numDisparities));
    expect(made.map(({ options: { backend } }) => backend)).toEqual(["auto", "cpu", "cpu"]);
    expect(engine.info).toEqual({ backend: "cpu", backendReason: "reason 0" });
    expect(engine.options.backend).toBe("auto");
    await change({ ...options, backend: "cpu" });
    expect(engine.info).toEqual({ backend: "cpu", backendReason: "reason 3" });
  });

  test("a device that is found later is used between two frames, with the options that wait", async () => {
    const { engine, next, made, submit, finish, withDisparities, closed, taken } = scripted("cpu");
    await expect(engine.retryDevice()).rejects.toMatchObject({
      code: "BACKEND_UNAVAILABLE",
      message: "reason 1",
    });
    expect([made[1]!.options.backend, closed()]).toEqual(["auto", [false, true]]);
    submit("frame");
    engine.adjust({ numDisparities: 24 });
    await settle();
    next.backend = "cuda";
    let isFound = false;
    const found = engine.retryDevice().then(() => (isFound = true));
    await settle();
    expect([closed(), isFound]).toEqual([[false, true, true, false], false]);
    finish(0);
    await found;
    expect(engine.info).toEqual({ backend: "cuda", backendReason: "reason 3" });
    expect([engine.options, closed()]).toEqual([withDisparities(24), [true, true, true, false]]);
    await engine.retryDevice();
    expect([made.length, taken().length]).toEqual([4, 2]);
  });

  test.each<[Backend, EngineOptions["backend"]]>([
    ["cpu", "cpu"],
    ["cuda", "auto"],
  ])("on %s, asked for %s, no device is looked for", async (backend, asked) => {
    const { engine, made } = scripted(backend, { backend: asked });
    await engine.retryDevice();
    expect(made).toHaveLength(1);
  });
});

describe("the end", () => {
  const ENDED = { code: "RUN_ENDED", message: "the run ended before the change took effect" };

  test("rejects the change that waits and all later ones, and closes the open engine", async () => {
    const { engine, made, submit, finish, withDisparities, closed, taken, change } = scripted("cpu");
    submit("frame");
    const waiting = change(withDisparities(24));
    await settle();
    const [queued, retried] = [change(withDisparities(32)), engine.retryDevice()];
    engine.close();
    for (const one of [waiting, queued, retried]) await expect(one).rejects.toMatchObject(ENDED);
    engine.adjust({ numDisparities: 48 });
    await settle();
    finish(0);
    engine.rest();
    expect([made.length, closed(), taken()]).toEqual([2, [true, true], [expect.stringMatching(/^frame/)]]);
  });

  test("closes an engine that opens meanwhile", async () => {
    const { engine, next, withDisparities, closed, taken, change } = scripted("cpu");
    next.onOpen = () => engine.close();
    await expect(change(withDisparities(24))).rejects.toMatchObject(ENDED);
    expect([closed(), taken()]).toEqual([[true, true], []]);
    const other = scripted("cpu");
    other.next.backend = "cuda";
    other.next.onOpen = () => other.engine.close();
    await expect(other.engine.retryDevice()).rejects.toMatchObject(ENDED);
    expect(other.closed()).toEqual([true, true]);
  });
});

test("a frame that is refused is not in work; results and errors of others come back", async () => {
  const { engine, made, finish, withDisparities, change } = scripted();
  made[0]!.failure = new Error("busy");
  expect(() => engine.submit(0, pair.left, pair.right, () => {})).toThrow("busy");
  await change(withDisparities(24));
  expect(engine.match.numDisparities).toBe(24);
  const other = new Uint8Array(1);
  const computed = engine.compute(pair.left, pair.right, other);
  expect(made[1]!.submitted).toEqual([[0, pair.left, pair.right, true, other]]);
  finish(1);
  expect(await computed).toEqual({});
  const failed = engine.compute(pair.left, pair.right);
  made[1]!.flying.shift()!(new Error("lost"), {} as FrameResult);
  await expect(failed).rejects.toThrow("lost");
});

test("a right map goes to the engine in use and to those that come", async () => {
  const { engine, options, made, change } = scripted();
  const map = new Int32Array(4);
  engine.setRightMap(map);
  expect([made[0]!.maps, engine.options.rightMap]).toEqual([[map], map]);
  await change({ ...options, rightMap: map });
  expect(made).toHaveLength(1);
});
