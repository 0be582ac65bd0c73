// SPDX-License-Identifier: Apache-2.0
// Everything that the addon offers, called with what it does not expect: each call answers or throws an error with a code, and
// neither writes next to memory nor waits for ever. The stages have their own attack in programme.test.ts.
// DEPTHWATT_HOSTILE_COUNT: tries of each kind. DEPTHWATT_SEED repeats a failure.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { greyPairLayout, SyntheticSource } from "../../camera/index.js";
import { ERROR_CATALOGUE } from "../../core/index.js";
import { createEngine, STAGE_NAMES } from "../../cuda/index.js";
import { engineOptions } from "../doubles/engine-call.js";
import { reportFuzz } from "../doubles/fuzz-report.js";
import { native, Random } from "../doubles/stages.js";

const COUNT = Number(process.env.DEPTHWATT_HOSTILE_COUNT ?? 300);
const random = new Random();
const folder = mkdtempSync(join(tmpdir(), "depthwatt-native-"));
const counts: Record<string, number> = {};
const count = (what: string) => {
  counts[what] = (counts[what] ?? 0) + 1;
};
afterAll(() => {
  rmSync(folder, { recursive: true });
  reportFuzz("native calls", { seed: random.seed, counts });
});

const shrinking = (bytes: number) =>
  new Uint8Array(
    Reflect.construct(ArrayBuffer, [bytes, { maxByteLength: 2 * bytes }]) as ArrayBuffer & {
      resize(bytes: number): void;
    },
  );
const emptied = (bytes: number) => {
  const array = new Uint8Array(bytes);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
};

const ODD: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => true,
  () => Number.NaN,
  () => Number.NEGATIVE_INFINITY,
  () => -1,
  () => 2 ** 31,
  () => 2 ** 53,
  () => 0.5,
  () => "",
  () => "x".repeat(100_000),
  () => "\u0000",
  () => Symbol("odd"),
  () => 10n,
  () => () => {},
  () => ({}),
  () => [],
  () => [[]],
  () => new Array(3),
  () => Object.create(null),
  () => ({ toString: () => "16", valueOf: () => 16 }),
  () => new Proxy({}, {}),
  () => new Date(),
  () => new Map(),
  () => new ArrayBuffer(random.whole(0, 5000)),
  () => new SharedArrayBuffer(64),
  () => new DataView(new ArrayBuffer(8)),
  () => new Uint8Array(random.whole(0, 5000)),
  () => new Uint8ClampedArray(8),
  () => new Float32Array(8),
  () => new BigInt64Array(4),
  () => emptied(4096),
  () => shrinking(4096),
];
const odd = () => random.pick(ODD)();

const CODES = new Set(Object.keys(ERROR_CATALOGUE));
function expectRefusal(what: string, error: unknown): void {
  const { code } = error as { code: string };
  if (!(error instanceof Error && CODES.has(code) && code !== "INTERNAL"))
    expect.fail(`seed ${random.seed}: ${what}: ${code} ${error}`);
  count(`${what} refused`);
}

/** The call's value, or undefined where it was refused rightly. */
function attempt<T>(what: string, call: () => T): T | undefined {
  count(what);
  try {
    return call();
  } catch (error) {
    expectRefusal(what, error);
    return undefined;
  }
}

/** As attempt(), of a call whose answer is a promise; whether it throws or rejects. */
async function promised(what: string, call: unknown, word: unknown): Promise<void> {
  count(what);
  try {
    await (call as (word: unknown) => Promise<unknown>)(word);
  } catch (error) {
    expectRefusal(what, error);
  }
}

/** `value` with one to three things in it, at any depth, replaced. */
function bent<T>(value: T): T {
  const places: { holder: Record<string, unknown>; key: string }[] = [];
  const copy = (item: unknown): unknown => {
    if (typeof item !== "object" || item === null || ArrayBuffer.isView(item) || item instanceof ArrayBuffer)
      return item;
    const holder = (Array.isArray(item) ? [...item] : { ...item }) as Record<string, unknown>;
    for (const key of Object.keys(holder)) {
      holder[key] = copy(holder[key]);
      places.push({ holder, key });
    }
    return holder;
  };
  const whole = copy(value) as T;
  for (let i = random.whole(1, 3); i > 0; i--) {
    const { holder, key } = random.pick(places);
    if (random.whole(0, 3) === 0) delete holder[key];
    else holder[key] = odd();
  }
  return whole;
}

const pair = { width: 32, height: 16, left: new Uint8Array(512), right: new Uint8Array(512) };
const goodOptions = () => ({
  ...engineOptions(pair),
  ...greyPairLayout(32, 16),
  width: 32,
  height: 16,
  threads: 1,
});
const memory = () => new ArrayBuffer(128 + 4096);
const slot = () => ({
  left: memory(),
  disparityQ4: memory(),
  confidence: memory(),
  depthMillimetres: memory(),
  encodedDepth: memory(),
  encodedDisparity: memory(),
});

test("sessions: options, slots, functions and engines of any kind; frames of any kind", async () => {
  for (let i = 0; i < COUNT; i++) {
    const words: unknown[] = [goodOptions(), [slot(), slot()], () => {}, undefined];
    const place = random.whole(0, 3);
    words[place] = place < 2 && random.whole(0, 2) > 0 ? bent(words[place]) : odd();
    const session = attempt("sessions", () => Reflect.construct(native.Session, words));
    if (session === undefined) continue;
    attempt("session information", () => session.info);
    for (let frame = 0; frame < 4; frame++) {
      const image = () => random.pick([odd, () => pair.left, () => shrinking(512)])();
      attempt("frames submitted", () =>
        (session.submit as (...words: unknown[]) => void)(random.pick([0, 1, odd()]), image(), image()),
      );
    }
    session.close();
    attempt("frames submitted after the end", () => session.submit(0, pair.left, pair.right));
  }
  for (let i = 0; i < COUNT / 10; i++) {
    const opening = attempt("engines opened at the same time", () =>
      (native.openEngine as (options: unknown) => Promise<never>)(
        random.whole(0, 3) === 0 ? odd() : bent(goodOptions()),
      ),
    );
    const opened = await opening?.catch((error: { code?: string }) => {
      expect(Object.keys(ERROR_CATALOGUE)).toContain(error.code);
      return undefined;
    });
    if (opened === undefined) continue;
    // Twice: the second session finds it empty.
    for (let session = 0; session < 2; session++)
      attempt("sessions of an engine", () =>
        new native.Session(goodOptions() as never, [slot(), slot()] as never, () => {}, opened).close(),
      );
  }
  for (let i = 0; i < COUNT; i++)
    attempt("bounds", () =>
      (native.encodedBound as (...words: unknown[]) => number)(random.pick(["rvl", odd()]), odd(), odd()),
    );
}, 120_000);

test("an image that can shrink is refused: threads read it after the call", async () => {
  const engine = createEngine(engineOptions(pair));
  const refused = expect.objectContaining({
    code: "ENGINE_PARAMETER",
    message: "Expected memory of a fixed size for right.",
  });
  expect(() => engine.submit(0, pair.left, shrinking(512), () => {})).toThrow(refused);
  // The slot is still free.
  await new Promise<void>((resolve) => engine.submit(0, pair.left, pair.right, () => resolve()));
  engine.close();
  const slots = [{ ...slot(), left: shrinking(5000).buffer }, slot()];
  const call = () => new native.Session({ ...goodOptions(), slots: 2 } as never, slots as never, () => {});
  expect(call).toThrow(/fixed size for left/);
});

test("an engine that was opened for larger pictures than its session says", async () => {
  const large = {
    width: 512,
    height: 512,
    left: new Uint8Array(512 * 512),
    right: new Uint8Array(512 * 512),
  };
  const options = { ...engineOptions(large), width: 512, height: 512 };
  const opened = await native.openEngine(options as never);
  const room = () => new ArrayBuffer(128 + 4 * 512 * 512);
  const slots = [slot(), slot()].map((one) =>
    Object.fromEntries(Object.keys(one).map((key) => [key, room()])),
  );
  const session = new native.Session(goodOptions() as never, slots as never, () => {}, opened);
  expect(() => session.submit(0, pair.left, pair.right, true)).toThrow(/at least 262144 and 262144 bytes/);
  session.close();
});

const VOXELS = { frame: "camera", cx: 16, cy: 8 };
const RIG = { focalPixels: 50, baselineMetres: 0.1, disparityOffsetPixels: 0 };

test("voxels: calls of the stage, and sessions whose slots have no room for them", async () => {
  const stage = native.stages.voxels as unknown as (call: unknown) => string;
  const pixels = 32 * 16;
  const good = () => ({
    ...RIG,
    ...VOXELS,
    variant: "scalar",
    width: 32,
    height: 16,
    threads: 2,
    sizeMillimetres: 50,
    uncertaintyPixels: 0.5,
    disparityQ4: random.fill(new Int16Array(pixels), -32_768, 32_767),
    voxels: new Int16Array(4 * (pixels + 1)),
  });
  const largest: Record<string, unknown>[] = [
    ...["cx", "cy", "focalPixels", "baselineMetres", "uncertaintyPixels", "disparityOffsetPixels"].flatMap(
      (key) => [1e308, 5e-324, -1e308].map((value) => ({ [key]: value })),
    ),
    ...[1, 100_000].map((sizeMillimetres) => ({ sizeMillimetres, frame: "robot" })),
  ];
  for (let i = 0; i < COUNT; i++) {
    const call = random.pick([() => bent(good()), () => ({ ...good(), ...random.pick(largest) }), odd])();
    attempt("voxel calls", () => stage(call));
  }
  // The list after the last voxel, and the image after its last row, belong to others.
  const refused: [Record<string, unknown>, RegExp][] = [
    [{ voxels: new Int16Array(4 * pixels) }, /4104 bytes for voxels/],
    [{ disparityQ4: new Int16Array(pixels - 1) }, /1024 bytes for disparityQ4/],
    [{ height: 17 }, /disparityQ4/],
    [{ width: 32_768, height: 32_768 }, /disparityQ4/],
    [{ width: 0 }, /width/],
    [{ threads: 2 ** 31 }, /threads/],
    [{ cx: Number.NaN }, /cx/],
    [{ focalPixels: Number.NaN }, /focalPixels/],
    [{ baselineMetres: 0 }, /baselineMetres above 0/],
    [{ uncertaintyPixels: -1 }, /uncertaintyPixels of 0 or more/],
    [{ sizeMillimetres: 0 }, /sizeMillimetres/],
    [{ frame: "ROBOT" }, /camera or robot/],
  ];
  for (const [change, message] of refused) expect(() => stage({ ...good(), ...change })).toThrow(message);

  const options = () => ({ ...goodOptions(), geometry: RIG, voxels: VOXELS });
  const room = (bytes: number) => ({ ...slot(), voxels: new ArrayBuffer(128 + bytes) });
  const session = (given: unknown, slots: unknown) =>
    Reflect.construct(native.Session, [given, slots, () => {}, undefined]);
  const need = 8 * (pixels + 1);
  for (let i = 0; i < COUNT; i++) {
    const given = random.whole(0, 1) === 0 ? { ...options(), voxels: odd() } : bent(options());
    const opened = attempt("sessions with voxels", () => session(given, [room(need), room(need)]));
    opened?.close();
  }
  const small = expect.objectContaining({
    code: "ENGINE_PARAMETER",
    message: expect.stringContaining("voxels"),
  });
  expect(() => session(options(), [room(need - 1), room(need)])).toThrow(small);
  expect(() => session(options(), [slot(), slot()])).toThrow(small);
  expect(() => session({ ...options(), geometry: undefined }, [room(need), room(need)])).toThrow(/geometry/);
  expect(() =>
    createEngine({
      ...engineOptions(pair),
      voxels: { ...VOXELS, sizeMillimetres: 50, uncertaintyPixels: 0 } as never,
    }),
  ).toThrow(/geometry/);
}, 60_000);

test("scenes: options and calls of any kind", async () => {
  const Scene = native.Scene;
  let good: unknown;
  const proxy = class {
    buffers = [];
    constructor(options: unknown) {
      good = options;
    }
  };
  new SyntheticSource({ Scene: proxy } as never, { width: 32, height: 32, rateHz: "max" });
  for (let i = 0; i < COUNT; i++) {
    const options = random.whole(0, 3) === 0 ? odd() : bent(good);
    const scene = attempt(
      "scenes",
      () => new Scene(options as never, random.pick([() => {}, odd()]) as never),
    );
    scene?.close();
  }
  const scene = new Scene(good as never, () => {});
  const truth = {
    frame: 0,
    side: 0,
    width: 8,
    height: 8,
    focalPixels: 9,
    cx: 4,
    cy: 4,
    disparity: new Float32Array(64),
    visible: new Uint8Array(64),
  };
  for (let i = 0; i < COUNT; i++) {
    attempt("pictures drawn", () =>
      scene.render(random.pick([0, odd()]) as never, random.pick([1, odd()]) as never),
    );
    attempt("truths", () => scene.truth((random.whole(0, 3) === 0 ? odd() : bent(truth)) as never));
  }
  scene.close();
  attempt("truths", () => scene.truth(truth as never));
}, 60_000);

test("samplers and NVML: anything as source, period, room and device", () => {
  const good = { sources: [{ file: "/proc/uptime" }], periodNs: 1e6, capacityRows: 16 };
  for (let i = 0; i < COUNT; i++) {
    const options = random.whole(0, 3) === 0 ? odd() : bent(good);
    const sampler = attempt("samplers", () => native.power.createSampler(options as never));
    if (sampler?.available) {
      attempt("drains", () => sampler.drain(odd() as never));
      sampler.stop();
    } else expect(sampler).toMatchObject({ available: false, reason: expect.any(String) });
    attempt("GPUs read", () => native.power.nvmlRead(odd() as never));
    expect(attempt("NVML errors", () => native.power.nvmlErrorText(odd() as never))).toBeTypeOf("string");
  }
});

test("a sampler of a pipe, a folder, a device without end and a file that is not there ends on request", () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const sources = [pipe, folder, "/dev/zero", join(folder, "nothing"), "a\u0000b"].map((file) => ({ file }));
  const sampler = native.power.createSampler({ sources, periodNs: 1e6, capacityRows: 64 });
  if (!sampler.available) throw new Error(sampler.reason);
  const rows = new Float64Array(sources.length * 4);
  const end = performance.now() + 5000;
  while (sampler.drain(rows) === 0 && performance.now() < end);
  const statuses = sources.map((_, i) => rows[4 * i + 3]!);
  expect(
    statuses.every((status) => status !== 0),
    JSON.stringify(statuses),
  ).toBe(true);
  sampler.stop();
}, 20_000);

const alignerOptions = () => ({
  inputWidth: 64,
  inputHeight: 48,
  width: 64,
  height: 48,
  leftFormat: "GREY",
  rightFormat: "GREY",
  leftStrideBytes: 64,
  rightStrideBytes: 64,
  focalPixels: 60,
  cx: 32,
  cy: 24,
  maxWidth: 0,
  rows: 3,
  minDisparity: 0,
  maxDisparity: 16,
});

test("aligners of pairs, and maps that are turned", async () => {
  const picture = () => random.pick([odd, () => new Uint8Array(64 * 48), () => shrinking(64 * 48)])();
  for (let i = 0; i < COUNT / 2; i++) {
    const options = random.pick([alignerOptions, () => bent(alignerOptions()), odd])();
    const aligner = attempt("aligners", () => new native.PairAligner(options as never));
    if (aligner === undefined) continue;
    const numbers = () => random.pick([odd, () => new Float64Array(200)])();
    for (let call = 0; call < 3; call++) {
      attempt("looks", () => aligner.look(picture() as never, picture() as never, numbers() as never));
      attempt("looks begun", () => aligner.begin(picture() as never, picture() as never));
      attempt("looks taken", () => aligner.take(numbers() as never));
    }
    aligner.close();
    attempt("looks after the end", () => aligner.begin(picture() as never, picture() as never));
  }
  const turn = () => ({
    map: new Int32Array(2 * 16 * 16),
    width: 16,
    height: 16,
    inputWidth: 16,
    inputHeight: 16,
    focalPixels: 20,
    cx: 8,
    cy: 8,
    rotation: Float64Array.from([1, 0, 0, 0, 1, 0, 0, 0, 1]),
  });
  for (let i = 0; i < COUNT / 2; i++)
    await promised("maps turned", native.turnMap, random.pick([turn, () => bent(turn()), odd])());
});

test("boards that are looked for, and calibrations that are solved", async () => {
  const detect = () => ({
    image: new Uint8Array(64 * 48),
    width: 64,
    height: 48,
    pattern: random.whole(0, 2),
    columns: 5,
    rows: 4,
    dictionary: 0,
    markerShare: 0.7,
  });
  const points = 24;
  const solve = () => ({
    cameras: 1,
    cameraSpecs: Int32Array.of(random.whole(0, 2), 640, 480),
    views: 2,
    robust: true,
    withoutK3: true,
    count: points,
    viewIndex: new Int32Array(points).map((_, i) => i & 1),
    cameraIndex: new Uint8Array(points),
    used: new Uint8Array(points).fill(1),
    objects: new Float64Array(3 * points).map((_, i) => (i * 7) % 5),
    pixels: new Float64Array(2 * points).map((_, i) => (i * 37) % 480),
    depthCount: 0,
    depthPoints: new Float64Array(0),
    disparityPixels: 0.25,
  });
  for (let i = 0; i < COUNT / 4; i++) {
    await promised("boards", native.detectBoard, random.pick([detect, () => bent(detect()), odd])());
    await promised("calibrations", native.solveCalibration, random.pick([solve, () => bent(solve()), odd])());
  }
}, 240_000);

test("everything that the addon offers is called by a test that means no good", () => {
  const here =
    "Session openEngine encodedBound PairAligner turnMap Scene detectBoard solveCalibration power sdNotify peerCredentials lockFile chooseSearch RingWriter RingReader";
  // Without arguments, and the stages by programme.test.ts.
  const elsewhere = "clocks wallClock giveMemoryBack cpuFeatures cudaUnavailable facts brokenRule stages";
  expect(Object.keys(native).sort()).toEqual(`${here} ${elsewhere}`.split(" ").sort());
});

test("rings of frames in shared memory: writers and readers", () => {
  for (let i = 0; i < COUNT / 3; i++) {
    const options = random.pick([() => bent({ slots: 2, bodyBytes: 5000 }), odd])();
    attempt("rings", () => new native.RingWriter(options as never))?.close();
    attempt("readers", () => {
      const words: unknown[] = [join(folder, "none.sock"), 1, 100, () => {}];
      words[random.whole(0, 3)] = odd();
      return new (native.RingReader as new (...words: unknown[]) => object)(...words);
    });
  }
  const ring = new native.RingWriter({ slots: 2, bodyBytes: 5000 });
  for (let i = 0; i < COUNT; i++) {
    const words = [new Uint8Array(96), new Uint8Array(5000), true] as unknown[];
    words[random.whole(0, 2)] = odd();
    attempt("publishes", () => (ring.publish as (...words: unknown[]) => void)(...words));
    // A small number is a socket of this process, such as the one to the test runner.
    const socket = odd();
    const none = typeof socket === "number" && socket >= 0 ? socket + 65_536 : socket;
    attempt("offers", () => ring.offer(none as never, random.pick([new Uint8Array(16), odd()]) as never));
  }
  ring.close();
  ring.close();
  expect(() => ring.publish(new Uint8Array(96), new Uint8Array(8))).toThrow(/closed/);
  expect(() => ring.offer(1, new Uint8Array(16))).toThrow(/closed/);
});

test("matchers, clocks and the service manager", () => {
  const search = () => [
    goodOptions().match,
    { width: 640, height: 480 },
    { instructionSet: "avx2", multiprocessors: 0 },
  ];
  for (let i = 0; i < COUNT; i++) {
    const words: unknown[] = search();
    const place = random.whole(0, 2);
    words[place] = random.whole(0, 2) > 0 ? bent(words[place]) : odd();
    attempt("searches", () => (native.chooseSearch as (...words: unknown[]) => unknown)(...words));
  }
  for (let i = 0; i < COUNT / 3; i++)
    attempt("datagrams", () => native.sdNotify(odd() as never, odd() as never));
  for (let i = 0; i < COUNT / 3; i++) attempt("peers", () => native.peerCredentials(odd() as never));
  for (let i = 0; i < COUNT / 3; i++) attempt("locks", () => native.lockFile(odd() as never));
  expect(native.facts().matchers.length).toBeGreaterThan(0);
  expect(STAGE_NAMES.length).toBeGreaterThan(0);
});
