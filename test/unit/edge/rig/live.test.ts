// SPDX-License-Identifier: Apache-2.0
// Tests live captures of a board: which pairs are looked at, what a look reports, which size a board has, solutions and ends.
import { afterEach, expect, test } from "vitest";
import type { Board, Detection, RawImage, SeenPair, SourceEvents } from "../../../../camera/index.js";
import { DepthwattError } from "../../../../core/index.js";
import { loadNative } from "../../../../edge/contracts/native.js";
import { captureLive, type LiveLook, type LiveOptions } from "../../../../edge/rig/calibrate/live.js";
import type { WantedBoard } from "../../../../edge/rig/calibrate/look.js";
import { createPoses, createRig, seenPair } from "../../../doubles/calibration-rig.js";
import { Random } from "../../../doubles/random.js";

const native = loadNative();
const board: Board = { pattern: "chessboard", columns: 5, rows: 4, squareMetres: 0.03 };
const SIZE = { width: 320, height: 240 };
const rig = createRig("radtan", SIZE);
const poses = createPoses(rig, board, 12, new Random(5), 0.6);
const noise = new Random(6);
const seenAt = (pose: number): SeenPair => seenPair("", rig, board, poses[pose]!, noise, 0.02);

const UNSIZED: WantedBoard = { pattern: "chessboard", squareMetres: 0.03 };
const absent: Detection = { ...seenAt(0).left, absence: "nothing", columns: 0, rows: 0 };
const ofSize = (columns: number, rows: number): Detection => ({ ...absent, absence: "none", columns, rows });

type Solve = typeof native.solveCalibration;

/** A capture whose looks find what a test says. Each image has its look's number, counted from 1, in every pixel. */
function startCapture(
  wanted: WantedBoard,
  { solve = native.solveCalibration, ...more }: Partial<LiveOptions> & { solve?: Solve } = {},
) {
  let found: readonly [Detection, Detection] = [absent, absent];
  const detected: { image: number[]; columns: number }[] = [];
  const looks: LiveLook[] = [];
  const notices: string[] = [];
  const taken: string[] = [];
  const stop = new AbortController();
  let [nowMs, count, released] = [0, 0, 0];
  let events: SourceEvents | undefined;
  let looked = () => {};
  const scripted = {
    detectBoard: async ({ image, columns }: { image: Uint8Array; columns: number }) => {
      detected.push({ image: [image[0]!, image.at(-1)!], columns });
      return found[(detected.length - 1) % 2]!;
    },
    solveCalibration: solve,
  };
  const done = captureLive(
    scripted as never,
    { start: (all: SourceEvents) => (events = all) } as never,
    wanted,
    {
      lens: "radtan",
      withoutK3: true,
      signal: stop.signal,
      now: () => nowMs,
      onNotice: (text) => notices.push(text),
      onTaken: (pair, images) => taken.push(`${pair.name} ${images.left.data[0]}`),
      onLook: (look) => {
        looks.push(look);
        looked();
      },
      ...more,
    },
  );
  done.catch(() => {});
  /** Delivers a pair without waiting for a look. */
  const deliver = (ms: number, right: { width: number; height: number } = SIZE) => {
    nowMs = ms;
    const number = ++count;
    const image = ({ width, height }: typeof SIZE): RawImage => {
      const data = new Uint8Array(width * height).fill(number);
      data[data.length - 1] = 100 + number;
      const strideBytes = width;
      return {
        data,
        width,
        height,
        strideBytes,
        format: "GREY",
        timestampNs: BigInt(ms) * 1_000_000n,
        sequence: number,
      };
    };
    events!.onPair({ left: image(SIZE), right: image(right), clock: "monotonic", release: () => released++ });
  };
  /** Delivers a pair in which `left` and `right` are found, and waits for the end of its look. */
  const look = async (ms: number, left: Detection = absent, right = left) => {
    found = [left, right];
    const ended = new Promise<void>((resolve) => (looked = resolve));
    deliver(ms);
    await ended;
    await new Promise((resolve) => setImmediate(resolve));
    return looks.at(-1)!;
  };
  /** Holds the board at a pose until it is taken. */
  const hold = async (ms: number, { left, right }: SeenPair) => {
    await look(ms, left, right);
    return look(ms + 200, left, right);
  };
  /** A look begins with a detection in each image. */
  const counts = () => ({ delivered: count, released, looks: detected.length / 2 });
  return { done, stop, look, hold, deliver, looks, notices, taken, detected, counts, events: () => events! };
}

const captures: ReturnType<typeof startCapture>[] = [];
const start = (...options: Parameters<typeof startCapture>) => {
  const capture = startCapture(...options);
  captures.push(capture);
  return capture;
};
afterEach(() => {
  for (const { stop } of captures.splice(0)) stop.abort();
});

test("a named board: looks, a pair that is taken, and the capture at the source's end", async () => {
  const { look, hold, taken, detected, events, done, notices } = start(board);
  const nothing = await look(0);
  expect(nothing).toMatchObject({ verdict: "noBoard", board: "5x4 inner corners", result: undefined });
  expect(nothing.text).toMatch(/: show the whole board to both cameras$/);
  expect([nothing.progress!.pairs, nothing.trouble]).toEqual([0, undefined]);
  const { left, right } = seenAt(0);
  const moving = await look(200, left, right);
  expect([moving.verdict, moving.seen]).toEqual(["moving", { name: "pair 2", left, right }]);
  const held = await hold(400, { name: "", left, right });
  // Taken at the first of these looks, known at the second.
  expect([held.verdict, held.progress!.pairs]).toEqual(["known", 1]);
  expect(taken).toEqual(["pair 3 3"]);
  expect(held.wanted).toContain("side nearer");
  // A shift by 1 px in 0.1 s: boards are still below 0.015 diagonals of 400 px a second.
  const shifted = (one: Detection) => ({ ...one, points: one.points.map((value) => value + Math.SQRT1_2) });
  expect((await look(700, shifted(left), shifted(right))).verdict).toBe("moving");
  // Both images of each look, to their last pixels, in search of 5 columns.
  expect(detected.slice(0, 2)).toEqual([
    { image: [1, 101], columns: 5 },
    { image: [1, 101], columns: 5 },
  ]);
  expect(detected).toHaveLength(10);
  events().onEnd?.();
  const { pairs, ...capture } = await done;
  expect(capture).toEqual({
    board,
    imageSize: SIZE,
    seen: [{ name: "pair 3", left: expect.anything(), right: expect.anything() }],
    notes: [],
    enough: false,
  });
  expect(pairs.map(({ name }) => name)).toEqual(["pair 3"]);
  expect((await pairs[0]!.read()).right).toMatchObject({ ...SIZE, data: expect.anything() });
  expect((await pairs[0]!.read()).left.data[5]).toBe(3);
  expect(notices).toEqual([]);
});

test("the size of an unnamed board is that which three looks see in both images", async () => {
  const { look, notices, detected, stop, done } = start(UNSIZED);
  const five = ofSize(5, 4);
  const hidden: Detection = { ...five, absence: "incomplete" };
  const looks: [Detection, Detection][] = [
    [five, five],
    [five, hidden],
    [hidden, five],
    [five, ofSize(5, 5)],
    [ofSize(7, 5), ofSize(7, 5)],
    [ofSize(5, 2), ofSize(5, 2)],
    [ofSize(5, 2), ofSize(5, 2)],
    [ofSize(5, 2), ofSize(5, 2)],
    [five, five],
  ];
  for (const [at, [left, right]] of looks.entries()) {
    const { board: words, verdict, text, wanted, progress } = await look(200 * at, left, right);
    expect({ words, verdict, text, wanted, progress }).toEqual({
      words: "not seen yet",
      verdict: "noBoard",
      text: "show the whole chessboard to both cameras",
      wanted: "the board",
      progress: undefined,
    });
  }
  expect(notices).toEqual([]);
  expect((await look(2000, five)).board).toBe("5x4 inner corners");
  expect(notices).toEqual(["the board is taken to have 5x4 inner corners"]);
  const { left, right } = seenAt(1);
  expect((await look(2200, left, right)).progress!.pairs).toBe(0);
  // A guess asks for 0 columns.
  expect(detected.map(({ columns }) => columns)).toEqual([...Array<number>(20).fill(0), 5, 5]);
  stop.abort();
  expect((await done).board).toEqual(board);
});

test.each([{}, { columns: 9 }, { rows: 9 }])(
  "with %j alone, sides of three corners make a board",
  async (half) => {
    const { look } = start({ ...UNSIZED, ...half });
    for (const ms of [0, 200]) await look(ms, ofSize(3, 3));
    expect((await look(400, ofSize(3, 3))).board).toBe("3x3 inner corners");
  },
);

test("looks are at least 100 ms apart, one at a time, and none comes after the end; every pair is released", async () => {
  const { look, deliver, counts, stop, done } = start(board);
  await look(1000);
  deliver(1099);
  expect(counts()).toEqual({ delivered: 2, released: 2, looks: 1 });
  await look(1100);
  // The second of these comes while the first is looked at.
  const first = look(1300);
  deliver(1500);
  expect(counts()).toEqual({ delivered: 5, released: 5, looks: 3 });
  await first;
  stop.abort();
  deliver(2000);
  expect((await done).pairs).toEqual([]);
  expect(counts()).toEqual({ delivered: 6, released: 6, looks: 3 });
});

test("images are made upright before they are looked at", async () => {
  const orientation = { left: "rotate180", right: "none" } as const;
  const { look, detected } = start(board, { orientation });
  const { images } = await look(0);
  expect(detected.map(({ image }) => image)).toEqual([
    [101, 1],
    [1, 101],
  ]);
  expect([images.left.data[0], images.right.data[0]]).toEqual([101, 1]);
});

test("what the source says is a notice; its error and images of two sizes end the capture", async () => {
  const { events, notices, done } = start(board);
  events().onDegraded?.(undefined as never);
  events().onDegraded?.("one camera is late");
  events().onWarning?.("the link is slow");
  expect(notices).toEqual(["one camera is late", "the link is slow"]);
  events().onError?.(new Error("unplugged"));
  await expect(done).rejects.toThrow("unplugged");
  for (const size of [
    { width: 320, height: 241 },
    { width: 319, height: 240 },
  ]) {
    const other = start(board);
    other.deliver(0, size);
    await expect(other.done).rejects.toMatchObject({
      code: "IMAGE_SIZE_MISMATCH",
      message: `expected cameras of one size, found 320x240 and ${size.width}x${size.height}`,
    });
    other.deliver(1000);
    expect(other.counts()).toEqual({ delivered: 2, released: 2, looks: 0 });
  }
});

test("a signal before the start starts no source; without a board the number of looks is reported", async () => {
  const early = new AbortController();
  early.abort();
  const { done, events } = start(board, { signal: early.signal });
  await expect(done).rejects.toMatchObject({
    code: "BOARD_NOT_FOUND",
    message: "expected a board before the cameras, saw none in 0 looks",
  });
  expect(events()).toBeUndefined();
  const unsized = start(UNSIZED);
  for (const ms of [0, 200]) await unsized.look(ms);
  unsized.stop.abort();
  await expect(unsized.done).rejects.toThrow("saw none in 2 looks");
});

/** A solver whose answers a test lets through one by one. */
function gatedSolver() {
  const waiting: (() => void)[] = [];
  const views: number[] = [];
  const solve: Solve = async (call) => {
    views.push(call.views);
    await new Promise<void>((resolve) => waiting.push(resolve));
    return native.solveCalibration(call);
  };
  return { solve, views, open: () => waiting.shift()?.() };
}

test("five pairs are solved, one solution at a time, and those taken meanwhile belong to the next", async () => {
  const { solve, views, open } = gatedSolver();
  const { hold, done, stop, looks, taken } = start(board, { solve });
  for (let pose = 0; pose < 4; pose++) await hold(1000 * pose, seenAt(pose));
  expect([taken.length, views]).toEqual([4, []]);
  for (let pose = 4; pose < 7; pose++) await hold(1000 * pose, seenAt(pose));
  expect([taken.length, views]).toEqual([7, [5]]);
  stop.abort();
  let finished = false;
  const end = done.finally(() => (finished = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(finished).toBe(false);
  const timer = setInterval(open, 1);
  const { pairs } = await end;
  clearInterval(timer);
  expect(pairs.map(({ name }) => name)).toEqual(taken.map((text) => text.replace(/ \d+$/, "")));
  expect(views.filter((count) => count === 7)).not.toEqual([]);
  expect(looks.every(({ result }) => result === undefined)).toBe(true);
});

test("an error of the program in a solution ends the capture, a wrong calibration is reported and it continues", async () => {
  const broken = start(board, { solve: () => Promise.reject(new Error("a bug")) });
  for (let pose = 0; pose < 5; pose++) await broken.hold(1000 * pose, seenAt(pose));
  broken.stop.abort();
  await expect(broken.done).rejects.toThrow("a bug");
  const wrong = start(board, { solve: () => Promise.reject(new DepthwattError("ENGINE_FAILED", "no fit")) });
  for (let pose = 0; pose < 5; pose++) await wrong.hold(1000 * pose, seenAt(pose));
  expect((await wrong.look(9000)).trouble).toContain("no fit");
  wrong.stop.abort();
  expect((await wrong.done).pairs).toHaveLength(5);
});

test("a pair that the solution leaves out is no longer part of the capture, with a notice of its reason", async () => {
  const { hold, done, stop, notices, taken } = start(board);
  for (let pose = 0; pose < 8; pose++) {
    const seen = seenAt(pose);
    // The board of the right image lies 6 rows too low.
    const points = seen.right.points.map((value, at) => value + (at % 2 === 1 ? 6 : 0));
    await hold(1000 * pose, pose === 2 ? { ...seen, right: { ...seen.right, points } } : seen);
  }
  stop.abort();
  const { pairs, seen } = await done;
  const names = taken.map((text) => text.replace(/ \d+$/, ""));
  expect(names).toHaveLength(8);
  expect(pairs.map(({ name }) => name)).toEqual(names.filter((_, at) => at !== 2));
  expect(seen.map(({ name }) => name)).toEqual(pairs.map(({ name }) => name));
  for (const { read } of pairs) expect((await read()).left).toMatchObject(SIZE);
  expect(notices).toEqual([expect.stringMatching(new RegExp(`^${names[2]} is left out: .+`))]);
});
