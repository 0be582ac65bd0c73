// SPDX-License-Identifier: Apache-2.0
// Tests invalid arguments from JavaScript to native code: sizes that wrap in 32 bits, arrays of another type, numbers
// that are not finite, memory that was transferred. Without the checks each of these reads or writes next to an array.
import { expect, test } from "vitest";
import { SyntheticSource } from "../../camera/index.js";
import { createEngine } from "../../cuda/index.js";
import { engineOptions } from "../doubles/engine-call.js";
import { emptyAnswer, sgm } from "../doubles/sgm-call.js";
import { native } from "../doubles/stages.js";

const refused = (message: RegExp) =>
  expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringMatching(message) });
const stage = (name: string) => native.stages[name] as unknown as (call: object) => unknown;

/** Moves the memory away, as a message to a worker does. */
const transfer = (buffer: ArrayBuffer) => structuredClone(buffer, { transfer: [buffer] });

test("a volume of 2^32 cells is not taken for one of none", () => {
  const [width, height] = [4096, 2048];
  const census = new Uint32Array(width * height);
  const call = { width, height, numDisparities: 512, censusLeft: census, censusRight: census };
  const results = emptyAnswer(width * height);
  expect(() => sgm("reference", { ...call, sums: new Uint16Array(10) }, results)).toThrow(
    refused(/^Expected at least 8589934592 bytes for sums, got 20\.$/),
  );
  const sums = { variant: "reference", width, height, numDisparities: 512, sums: new Uint16Array(10) };
  expect(() => stage("select")({ ...sums, ...results })).toThrow(refused(/8589934592 bytes for sums/));
});

test("times go into a Float64Array and nowhere else", () => {
  const census = new Uint32Array(64);
  const call = { width: 8, height: 8, numDisparities: 8, censusLeft: census, censusRight: census };
  for (const timesNs of [new Uint8Array(8), new Float32Array(3), {}, 5]) {
    expect(() => sgm("scalar", { ...call, timesNs: timesNs as never })).toThrow(refused(/for timesNs/));
  }
});

test("an image of a stage has sides of 1 to 32768 pixels and a stride that holds its row", () => {
  const refusal = (change: object) => {
    const image = { width: 8, height: 1, image: new Uint8Array(32768), census: new Uint32Array(32768) };
    try {
      stage("census")({ variant: "reference", ...image, ...change });
      return "none";
    } catch (error) {
      return (error as Error).message;
    }
  };
  const whole = (low: number, high: number, name: string, found: number) =>
    `Expected a whole number from ${low} to ${high} for ${name}, got ${found}.`;
  const bytes = (needed: number, name = "image") =>
    `Expected at least ${needed} bytes for ${name}, got ${needed - 1}.`;
  const of = (width: number, height: number, strideBytes: number, length: number) => ({
    width,
    height,
    strideBytes,
    image: new Uint8Array(length),
  });
  const table: [object, string][] = [
    [{ width: 32768 }, "none"],
    [{ width: 32769 }, whole(1, 32768, "width", 32769)],
    [{ width: 0 }, whole(1, 32768, "width", 0)],
    [{ width: 1, height: 32768 }, "none"],
    [{ height: 32769 }, whole(1, 32768, "height", 32769)],
    [{ height: 0 }, whole(1, 32768, "height", 0)],
    [{ strideBytes: 8 }, "none"],
    [{ strideBytes: 7 }, whole(8, 2 ** 24, "strideBytes", 7)],
    [{ strideBytes: 2 ** 24 }, "none"],
    [{ strideBytes: 2 ** 24 + 1 }, whole(8, 2 ** 24, "strideBytes", 2 ** 24 + 1)],
    [{ image: new Uint16Array(8), strideBytes: 15 }, whole(16, 2 ** 24, "strideBytes", 15)],
    [{ image: new Uint16Array(8), strideBytes: 16 }, "none"],
    // 2 x 11 + 8 bytes.
    [of(8, 3, 11, 30), "none"],
    [of(8, 3, 11, 29), bytes(30)],
    [{ census: new Uint32Array(8) }, "none"],
    [{ census: new Uint32Array(new ArrayBuffer(28)) }, "Expected at least 32 bytes for census, got 28."],
    [
      { image: new Int16Array(8) },
      "Expected a typed array of the element type that native.ts names for image.",
    ],
  ];
  for (const [change, message] of table) expect(refusal(change), JSON.stringify(change)).toBe(message);
});

const pair = { width: 32, height: 16, left: new Uint8Array(512), right: new Uint8Array(512) };

test("a slot is a whole number in range, and its memory is still its own", async () => {
  const engine = createEngine(engineOptions(pair));
  const submit = (slot: unknown) =>
    new Promise<void>((resolve, reject) => {
      engine.submit(slot as number, pair.left, pair.right, (error) => (error ? reject(error) : resolve()));
    });
  for (const [slot, found] of [
    [Number.NaN, "NaN"],
    [-1, "-1"],
    [2, "2"],
    [0.5, "0.5"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    ["0", "'0'"],
    ["slot ".repeat(9), `'${"slot ".repeat(8)}'`],
    [undefined, "undefined"],
    [null, "no number"],
    [{}, "no number"],
    [true, "no number"],
  ]) {
    await expect(submit(slot), String(slot)).rejects.toMatchObject({
      code: "ENGINE_PARAMETER",
      message: `Expected a slot from 0 to 1, got ${found}.`,
    });
  }
  await submit(0);
  for (const { buffer, byteLength } of [engine.slots[1]!.left, engine.slots[1]!.encodedDepth]) {
    // Node 20 copies it, later ones throw.
    try {
      transfer(buffer as ArrayBuffer);
    } catch {}
    expect(buffer.byteLength).toBe(byteLength + 128);
  }
  await submit(1);
  engine.close();
});

test("a session refuses a slot whose memory was transferred, and an image that was", () => {
  const memory = () => new ArrayBuffer(128 + 2 * 512);
  const slot = () => ({
    left: memory(),
    disparityQ4: memory(),
    confidence: memory(),
    depthMillimetres: memory(),
    encodedDepth: memory(),
    encodedDisparity: memory(),
  });
  const slots = [slot(), slot()];
  // The addon's own form of the options, as createEngine hands it over.
  let options: unknown;
  const Session = (
    native as unknown as {
      Session: new (...words: unknown[]) => { submit(...words: unknown[]): void; close(): void };
    }
  ).Session;
  (native as { Session: unknown }).Session = class {
    constructor(given: unknown) {
      options = given;
      throw new Error("seen");
    }
  };
  expect(() => createEngine(engineOptions(pair))).toThrow("seen");
  (native as { Session: unknown }).Session = Session;

  expect(() => new Session(options, slots, "no function")).toThrow(refused(/a list of slots and a function/));
  expect(() => new Session(options, [{ ...slot(), left: {} }, slot()], () => {})).toThrow(
    refused(/an ArrayBuffer for left of slot 0/),
  );
  const session = new Session(options, slots, () => {});
  transfer(slots[1]!.confidence);
  expect(() => session.submit(1, pair.left, pair.right)).toThrow(
    refused(/confidence was transferred or replaced/),
  );
  slots[1]!.confidence = memory();
  expect(() => session.submit(1, pair.left, pair.right)).toThrow(
    refused(/confidence was transferred or replaced/),
  );
  const left = new Uint8Array(512);
  transfer(left.buffer);
  expect(() => session.submit(0, left, pair.right)).toThrow(refused(/at least 512 and 512 bytes/));
  session.close();
});

test("every buffer of a slot has its size, and stays that of the opened engine", () => {
  type Memory = Record<string, ArrayBuffer>;
  const camera = { camera: "ir", width: 20, height: 10, matrix: new Float64Array(12), fill: false };
  const rgb = new Uint8Array(3 * 512);
  const layout = {
    leftFormat: "RGB8",
    rightFormat: "RGB8",
    leftStrideBytes: 96,
    rightStrideBytes: 96,
  } as const;
  const options = engineOptions(pair, {
    ...layout,
    leftRgb: true,
    rightGrey: true,
    geometry: { focalPixels: 40, baselineMetres: 0.1, disparityOffsetPixels: 0 },
    encodeDepth: "rvl",
    encodeDisparity: "raw",
    points: { frame: "camera", element: "int16", colours: true, cx: 16, cy: 8 },
    voxels: { frame: "camera", cx: 16, cy: 8 } as never,
    registration: { ...camera, image: { format: "RGB8", strideBytes: 60 } },
    floor: { cx: 16, cy: 8 },
    grid: {
      cellMetres: 0.1,
      aheadCells: 7,
      leftCells: 9,
      obstacleMetres: 0.1,
      tallMetres: 1,
      dropMetres: 0.1,
      errorPixels: 0.5,
      minPixels: 1,
      stepX: 1,
    },
  });
  interface Session {
    submit(...words: unknown[]): void;
    close(): void;
  }
  const addon = native as unknown as { Session: new (...words: unknown[]) => Session };
  const { Session } = addon;
  let given: unknown;
  let slots: Memory[] = [];
  addon.Session = class {
    constructor(options: unknown, memory: Memory[]) {
      [given, slots] = [options, memory];
      throw new Error("seen");
    }
  } as never;
  expect(() => createEngine(options)).toThrow("seen");
  addon.Session = Session;

  // Each after 128 bytes: 512 pixels, 200 of the other camera.
  const bytes = Object.fromEntries(
    Object.entries(slots[1]!).map(([name, { byteLength }]) => [name, byteLength]),
  );
  expect(bytes).toEqual({
    left: 128 + 512,
    leftRgb: 128 + 3 * 512,
    right: 128 + 512,
    disparityQ4: 128 + 2 * 512,
    confidence: 128 + 512,
    depthMillimetres: 128 + 2 * 512,
    encodedDepth: bytes.encodedDepth,
    encodedDisparity: 128 + 2 * 512,
    registered: 128 + 2 * 200,
    registeredConfidence: 128 + 200,
    registeredImage: 128 + 3 * 200,
    floor: 128 + 8 * 13,
    grid: 128 + 7 * 9,
    voxels: 128 + 8 * 513,
    points: 128 + 10 * 512,
  });
  const session = new Session(given, slots, () => {});
  const left = new Uint8Array(3 * 512);
  for (const [name, byteLength] of Object.entries(bytes)) {
    const tooSmall = [slots[0]!, { ...slots[1]!, [name]: new ArrayBuffer(byteLength - 1) }];
    expect(() => new Session(given, tooSmall, () => {}), name).toThrow(
      refused(new RegExp(`^Expected ${byteLength} bytes for ${name} of slot 1, got ${byteLength - 1}\\.$`)),
    );
    const kept = slots[1]![name]!;
    slots[1]![name] = new ArrayBuffer(byteLength);
    expect(() => session.submit(1, left, rgb), name).toThrow(
      refused(new RegExp(`slot 1 .* ${name} was transferred or replaced`)),
    );
    slots[1]![name] = kept;
  }
  for (const [registered, found] of [
    [new Uint8Array(599), 599],
    [{}, 0],
  ] as const)
    expect(() => session.submit(1, left, rgb, true, registered)).toThrow(
      refused(new RegExp(`at least 600 bytes for the registered camera's image, got ${found}\\.$`)),
    );
  expect(() => session.submit(1, left.subarray(1), rgb)).toThrow(
    refused(/1536 and 1536 .* got 1535 and 1536/),
  );
  expect(() => session.submit(1, left, rgb.subarray(1))).toThrow(
    refused(/1536 and 1536 .* got 1536 and 1535/),
  );
  session.close();
  expect(() => session.submit(1, left, rgb)).toThrow("this one is closed");
  expect(() => new Session(given, slots.slice(1), () => {})).toThrow(refused(/memory of 2 slots, got 1/));
});

test("the scene draws into no memory that was transferred", () => {
  const source = new SyntheticSource(native, { width: 64, height: 48, rateHz: "max" });
  transfer(source.inputMemory[0]!.buffer as ArrayBuffer);
  const last = source.inputMemory.length - 1;
  transfer(source.inputMemory[last]!.buffer as ArrayBuffer);
  expect(() =>
    source.start({ onPair: () => {}, onEnd: () => {}, onError: () => {}, onDegraded: () => {} }),
  ).toThrow(refused(/was transferred or replaced/));
});

test("a sampler writes into doubles only", () => {
  const sampler = native.power.createSampler({
    sources: [{ file: "/proc/uptime" }],
    periodNs: 1e6,
    capacityRows: 16,
  }) as unknown as { available: boolean; drain(out: unknown): number; stop(): void };
  expect(sampler.available).toBe(true);
  for (const out of [undefined, {}, [], new Uint8Array(64), new Float32Array(64)])
    expect(() => sampler.drain(out)).toThrow(/Float64Array/);
  expect(sampler.drain(new Float64Array(64))).toBeGreaterThanOrEqual(0);
  sampler.stop();
});
