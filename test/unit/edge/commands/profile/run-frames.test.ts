// SPDX-License-Identifier: Apache-2.0
// When a profile hands frames to its engine: two at a time, or at the ticks of a camera that does not wait.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LendFrame } from "../../../../../edge/commands/profile/added-work.js";
import { runFrames } from "../../../../../edge/commands/profile/run-frames.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "hrtime"] });
  vi.advanceTimersByTime(12_345);
});
afterEach(() => void vi.useRealTimers());

const nowMs = () => Math.round(Number(process.hrtime.bigint()) / 1e6);

/** An engine that takes `milliseconds()` for each frame. */
function open(slots: number, milliseconds: (frame: number) => number) {
  const beganMs = nowMs();
  const submitted: { ms: number; slot: number; image: unknown }[] = [];
  const engine = {
    slots: Array.from({ length: slots }, (_, slot) => ({ slot })),
    submit(slot: number, left: unknown, _: unknown, onDone: (error: Error | null, result: object) => void) {
      const frame = submitted.length;
      submitted.push({ ms: nowMs() - beganMs, slot, image: left });
      const done = () => onDone(null, { validPixels: frame });
      if (milliseconds(frame) === 0) queueMicrotask(done);
      else setTimeout(done, milliseconds(frame));
    },
  };
  return { engine: engine as never, submitted };
}
const PAIRS = ["a", "b", "c"].map((name) => ({ left: name, right: name })) as never;

async function settled(run: Promise<void>, ms: number): Promise<string> {
  let state = "runs";
  run.then(
    () => (state = "done"),
    (error: Error) => (state = error.message),
  );
  await vi.advanceTimersByTimeAsync(ms);
  return state;
}

test("as fast as it can: two frames at once, no frame after the end, every pair in turn", async () => {
  const { engine, submitted } = open(3, () => 40);
  const done: [number, number][] = [];
  const beganMs = nowMs();
  const onFrame = (takenNs: bigint, valid: number) =>
    done.push([Math.round(Number(takenNs) / 1e6) - beganMs, valid]);
  const run = runFrames(engine, PAIRS, "max", 0.1, onFrame);
  expect(submitted.map(({ image }) => image)).toEqual(["a", "b"]);
  expect(await settled(run, 119)).toBe("runs");
  expect(await settled(run, 1)).toBe("done");
  expect(submitted.map(({ ms, image }) => [ms, image])).toEqual([
    [0, "a"],
    [0, "b"],
    [40, "c"],
    [40, "a"],
    [80, "b"],
    [80, "c"],
  ]);
  expect(done).toEqual([0, 0, 40, 40, 80, 80].map((ms, i) => [ms, i]));
});

test("one slot: one frame at a time", async () => {
  const { engine, submitted } = open(1, () => 40);
  expect(
    await settled(
      runFrames(engine, PAIRS, "max", 0.1, () => {}),
      120,
    ),
  ).toBe("done");
  expect(submitted.map(({ ms, slot }) => [ms, slot])).toEqual([0, 40, 80].map((ms) => [ms, 0]));
});

test("at a rate: ticks that pass while the engine is busy are not made up for", async () => {
  const { engine, submitted } = open(2, (frame) => (frame === 1 ? 250 : 30));
  const run = runFrames(engine, PAIRS, 10, 0.65, () => {});
  // Timers round down.
  expect(await settled(run, 698)).toBe("runs");
  expect(await settled(run, 2)).toBe("done");
  expect(submitted.map(({ ms }) => Math.round(ms / 10) * 10)).toEqual([0, 100, 400, 500, 600]);
});

test("a lent frame keeps its slot until it is released", async () => {
  const { engine, submitted } = open(1, () => 10);
  const lent: { slot: unknown; result: unknown; release: () => void }[] = [];
  const lend: LendFrame = (slot, result, _takenNs, release) => void lent.push({ slot, result, release });
  const run = runFrames(engine, PAIRS, "max", 0.1, () => {}, lend);
  expect(await settled(run, 50)).toBe("runs");
  expect(lent).toMatchObject([{ slot: { slot: 0 }, result: { validPixels: 0 } }]);
  lent[0]!.release();
  expect(await settled(run, 60)).toBe("runs");
  expect(submitted.map(({ ms }) => ms)).toEqual([0, 50]);
  lent[1]!.release();
  expect(await settled(run, 0)).toBe("done");
});

test("an engine that fails ends the run", async () => {
  const engine = {
    slots: [{}],
    submit: (_slot: number, _left: unknown, _right: unknown, onDone: (error: Error) => void) =>
      setTimeout(() => onDone(new Error("of the engine")), 5),
  };
  const frames: unknown[] = [];
  const run = runFrames(engine as never, PAIRS, "max", 0.1, (...frame) => frames.push(frame));
  expect(await settled(run, 5)).toBe("of the engine");
  expect(frames).toEqual([]);
});

test("no frame at the moment of the end, and one frame for each tick of an engine that takes no time", async () => {
  const exact = open(1, () => 25);
  expect(
    await settled(
      runFrames(exact.engine, PAIRS, "max", 0.1, () => {}),
      100,
    ),
  ).toBe("done");
  expect(exact.submitted.map(({ ms }) => ms)).toEqual([0, 25, 50, 75]);
  const instant = open(1, () => 0);
  expect(
    await settled(
      runFrames(instant.engine, PAIRS, 4, 0.6, () => {}),
      750,
    ),
  ).toBe("done");
  expect(instant.submitted.map(({ ms }) => ms)).toEqual([0, 250, 500]);
});
