// SPDX-License-Identifier: Apache-2.0
// Tests which pairs a calibration reads: files of one moment, moments of a stream, every n-th one of many.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { encodePng } from "../../../../camera/index.js";
import {
  inParallel,
  listPairs,
  type NamedPair,
  takePairs,
} from "../../../../edge/rig/calibrate/read-pairs.js";
import { ScriptedSource } from "../../../doubles/run-script.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-pairs-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Writes images whose pixels are all the number in their name. */
async function write(side: string, numbers: readonly number[], prefix = "") {
  mkdirSync(join(folder, side));
  for (const number of numbers) {
    const data = new Uint8Array(4).fill(number);
    writeFileSync(
      join(folder, side, `${prefix}${number}.png`),
      await encodePng({ data, width: 2, height: 2 }),
    );
  }
  return join(folder, side);
}

test("images of one moment make a pair, with those of further cameras", async () => {
  const left = await write("left", [1, 2, 4]);
  const right = await write("right", [2, 3, 4]);
  const place = await write("rgb", [4, 5], "c");
  const pairs = await listPairs({ left, right }, [{ name: "rgb", place }]);
  expect(pairs.map(({ name, others }) => [name, others?.map((other) => other?.name)])).toEqual([
    ["2.png", [undefined]],
    ["4.png", ["c4.png"]],
  ]);
  const { left: image, right: other } = await pairs[1]!.read();
  expect([image.data[0], other.data[0]]).toEqual([4, 4]);
  expect((await pairs[1]!.others![0]!.read()).data[0]).toBe(4);
  const renamed = await write("b", [2], "r");
  expect((await listPairs({ left, right: renamed })).map(({ name }) => name)).toEqual(["2.png and r2.png"]);
});

test("images without partners, and places that do not go together, are refused", async () => {
  const left = await write("left", [1]);
  const right = await write("right", [9]);
  await expect(listPairs({ left, right })).rejects.toMatchObject({ code: "SOURCE_EMPTY" });
  for (const places of [{}, { left }, { right }])
    await expect(listPairs(places)).rejects.toMatchObject({ code: "USAGE" });
  const others = [{ name: "rgb", place: right }];
  await expect(listPairs({ sideBySide: left }, others)).rejects.toMatchObject({ code: "USAGE" });
  const [pair] = await listPairs({ sideBySide: left });
  expect(pair!.name).toBe("1.png");
});

test.each([
  [400, 400],
  [401, 201],
  [801, 267],
])("of %i images %i are used", async (count, used) => {
  writeFileSync(join(folder, "0.png"), "");
  const list = join(folder, "list.txt");
  writeFileSync(list, "0.png\n".repeat(count));
  expect(await listPairs({ sideBySide: list })).toHaveLength(used);
});

test("a stream gives pairs that are far enough apart, one at a time, and at most 400", async () => {
  const open = () =>
    new ScriptedSource(0, { width: 2, height: 1 }, (sequence) => ({
      left: Uint8Array.of(sequence, 0),
      right: Uint8Array.of(sequence, 1),
    }));
  const taken: [NamedPair, number][] = [];
  let atOnce = 0;
  const onPair = async (pair: NamedPair) => {
    taken.push([pair, ++atOnce]);
    await Promise.resolve();
    atOnce--;
  };
  const source = open();
  const done = takePairs(source, 0.5, onPair);
  for (const ms of [1000, 1499, 1500, 1999, 2010, 2500]) source.deliver(BigInt(ms) * 1_000_000n);
  source.events!.onDegraded("late");
  source.events!.onEnd();
  await done;
  expect(taken.map(([{ name }, count]) => [name, count])).toEqual([
    ["0.00 s", 1],
    ["0.50 s", 1],
    ["1.01 s", 1],
  ]);
  const { left, right } = await taken[1]![0].read();
  expect([[...left.data], [...right.data]]).toEqual([
    [2, 0],
    [2, 1],
  ]);
  expect([source.delivered, source.released]).toEqual([6, 6]);
  const many = open();
  taken.length = 0;
  const all = takePairs(many, 0, onPair);
  for (let i = 0; i < 402; i++) many.deliver(BigInt(i));
  many.events!.onEnd();
  await all;
  expect([taken.length, many.released]).toEqual([400, 402]);
});

test("a stream that fails, or whose pair fails, ends with the error", async () => {
  const image = { left: new Uint8Array(2), right: new Uint8Array(2) };
  const source = new ScriptedSource(0, { width: 2, height: 1 }, () => image);
  const failed = takePairs(source, 0, () => Promise.reject(new Error("of the pair")));
  source.deliver(1n);
  await expect(failed).rejects.toThrow("of the pair");
  expect(source.released).toBe(1);
  const broken = new ScriptedSource(0, { width: 2, height: 1 }, () => image);
  broken.failure = new Error("of the source");
  await expect(takePairs(broken, 0, async () => {})).rejects.toThrow("of the source");
});

test("work in parallel keeps the order, has as many workers as cores, and begins nothing after an error", async () => {
  let [running, max] = [0, 0];
  const items = Array.from({ length: 3 * availableParallelism() }, (_, i) => i);
  const results = await inParallel(items, async (item, at) => {
    max = Math.max(max, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return [item, at];
  });
  expect(results).toEqual(items.map((item) => [item, item]));
  expect(max).toBe(availableParallelism());
  const begun: number[] = [];
  const failing = inParallel(items, async (item) => {
    begun.push(item);
    throw new Error("of an item");
  });
  await expect(failing).rejects.toThrow("of an item");
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun.length).toBeLessThanOrEqual(availableParallelism());
});
