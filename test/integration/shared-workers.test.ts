// SPDX-License-Identifier: Apache-2.0
// Engines of one process share a team of threads, and each still computes its frames as it does alone.
import { readdirSync, readFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { createEngine, type NativeEngine } from "../../cuda/index.js";
import { engineOptions } from "../doubles/engine-call.js";
import { layeredPair } from "../doubles/stereo-pair.js";

const open: NativeEngine[] = [];
afterEach(() => {
  for (const engine of open.splice(0)) engine.close();
});

const pair = layeredPair(160, 96);

function engine(threads: number, numDisparities: number): NativeEngine {
  const options = engineOptions(pair);
  const match = { ...options.match, numDisparities };
  const opened = createEngine({ ...options, match, backend: "cpu", threads, slots: 4 });
  open.push(opened);
  return opened;
}

function workers(): number {
  const names = readdirSync("/proc/self/task").map((task) =>
    readFileSync(`/proc/self/task/${task}/comm`, "utf8"),
  );
  return names.filter((name) => name.trim() === "dw-worker").length;
}

test("a second engine starts no threads, and one with its own number does", () => {
  const before = workers();
  const { threads } = engine(0, 32).info;
  expect(workers() - before).toBe(threads - 1);
  engine(0, 48);
  expect(workers() - before).toBe(threads - 1);
  engine(2, 32);
  expect(workers() - before).toBe(threads);
  for (const one of open.splice(0)) one.close();
  expect(workers()).toBe(before);
});

/** Computes `count` frames with all slots in use. @returns the disparities of the last one */
function frames(one: NativeEngine, count: number): Promise<Int16Array> {
  return new Promise((resolve, reject) => {
    let [begun, done] = [0, 0];
    const submit = (slot: number) => {
      if (begun === count) return;
      begun++;
      one.submit(slot, pair.left, pair.right, (error) => {
        if (error !== null) return reject(error);
        if (++done === count) resolve(one.slots[slot]!.disparityQ4.slice());
        else submit(slot);
      });
    };
    for (let slot = 0; slot < 4; slot++) submit(slot);
  });
}

test("engines that compute at once get the results of engines alone", async () => {
  const alone: Int16Array[] = [];
  for (const numDisparities of [32, 48, 64]) {
    alone.push(await frames(engine(0, numDisparities), 1));
    open.pop()!.close();
  }
  const together = [32, 48, 64].map((numDisparities) => engine(0, numDisparities));
  const found = await Promise.all(together.map((one) => frames(one, 50)));
  for (const [index, disparities] of found.entries())
    expect(Buffer.from(disparities.buffer).equals(Buffer.from(alone[index]!.buffer))).toBe(true);
});
