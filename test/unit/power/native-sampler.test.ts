// SPDX-License-Identifier: Apache-2.0
// The sampling thread's rows, ring and limits, on files of a temporary folder.
import { readdirSync, readlinkSync } from "node:fs";
import { constants } from "node:os";
import { afterAll, expect, test, vi } from "vitest";
import { loadNative } from "../../../edge/contracts/native.js";
import { powerNative } from "../../../edge/power/open-meter.js";
import {
  type NativeSampler,
  SAMPLE_DOUBLES,
  type SampleSource,
  STATUS_NOT_A_NUMBER,
} from "../../../power/native.js";
import { SysfsTree } from "../../doubles/sysfs-tree.js";

const native = powerNative(loadNative())!;
const tree = new SysfsTree();
afterAll(() => tree[Symbol.dispose]());

/** The first reading is made at once, the next one after 1000 seconds. */
const ONCE = 1e12;
const { ENOENT, EISDIR } = constants.errno;

function start(sources: SampleSource[], periodNs: number, capacityRows: number) {
  const sampler = native.createSampler({ sources, periodNs, capacityRows });
  if (!sampler.available) throw new Error(sampler.reason);
  return sampler;
}

const reached = (sampler: NativeSampler, count: "ticks" | "overruns", least: number) =>
  vi.waitFor(() => expect(sampler.cost()[count]).toBeGreaterThanOrEqual(least), {
    timeout: 5000,
    interval: 1,
  });

const FILES: [text: string | undefined, value: number, status: number][] = [
  ["42\n", 42, 0],
  ["0", 0, 0],
  ["-7\n", -7, 0],
  ["+5\n", 5, 0],
  [" \t 12 \n", 12, 0],
  ["8\0\0", 8, 0],
  ["0091\n", 91, 0],
  ["9007199254740992\n", 2 ** 53, 0],
  // The first 32 bytes of a longer file count.
  [`3${" ".repeat(31)}x`, 3, 0],
  [`3${" ".repeat(30)}x`, 32, STATUS_NOT_A_NUMBER],
  ["", 0, STATUS_NOT_A_NUMBER],
  ["\n5", 2, STATUS_NOT_A_NUMBER],
  ["-", 1, STATUS_NOT_A_NUMBER],
  ["--5", 3, STATUS_NOT_A_NUMBER],
  ["5-", 2, STATUS_NOT_A_NUMBER],
  ["5\t", 2, STATUS_NOT_A_NUMBER],
  ["1.5", 3, STATUS_NOT_A_NUMBER],
  ["/", 1, STATUS_NOT_A_NUMBER],
  [":", 1, STATUS_NOT_A_NUMBER],
  [undefined, 0, ENOENT],
];

test("a row has each file's number or the reason for none, and the time of each reading", async () => {
  const sources: SampleSource[] = FILES.map(([text], at) => {
    if (text !== undefined) tree.write({ [`files/${at}`]: text });
    return { file: tree.path(`files/${at}`) };
  });
  sources.push({ file: tree.path("files") });
  const before = process.hrtime.bigint();
  const sampler = start(sources, ONCE, 2);
  await reached(sampler, "ticks", 1);
  sampler.stop();
  const after = process.hrtime.bigint();
  // Room for a row and all but one number of another.
  const out = new Float64Array(2 * SAMPLE_DOUBLES * sources.length - 1).fill(-99);
  expect(sampler.drain(out)).toBe(1);
  const row = Array.from(sources, (_, at) => [
    ...out.subarray(SAMPLE_DOUBLES * at, SAMPLE_DOUBLES * (at + 1)),
  ]);
  // The value means nothing where there is a status.
  const found = row.map(([, , value, status]) => (status === 0 ? [value, 0] : [undefined, status]));
  const expected = FILES.map(([, value, status]) => (status === 0 ? [value, 0] : [undefined, status]));
  expect(found).toEqual([...expected, [undefined, EISDIR]]);
  expect([...out.subarray(SAMPLE_DOUBLES * sources.length)].every((value) => value === -99)).toBe(true);
  // Each source begins where the one before it ended.
  for (const [at, [from, to]] of row.entries()) {
    expect(to).toBeGreaterThan(from!);
    if (at > 0) expect(from).toBe(row[at - 1]![1]);
  }
  const [first, last] = [row[0]![0]!, row.at(-1)![1]!];
  expect(first).toBeGreaterThan(0);
  expect(sampler.originNs).toBeGreaterThan(before);
  expect(sampler.originNs + BigInt(last)).toBeLessThan(after);
  const cost = sampler.cost();
  expect(cost).toMatchObject({ ticks: 1, missedTicks: 0, overruns: 0 });
  expect(cost.slowestReadSeconds).toBe((last - first) / 1e9);
  expect(cost.wallSeconds).toBeGreaterThan(last / 1e9);
  expect(cost.wallSeconds).toBeLessThan(Number(process.hrtime.bigint() - before) / 1e9);
  for (const part of [cost.readSeconds, cost.ownSeconds, cost.timerSeconds]) {
    expect(part).toBeGreaterThan(0);
    expect(part).toBeLessThan(cost.wallSeconds);
  }
});

test("a full ring keeps its oldest rows, takes new ones once it is drained, and counts the others", async () => {
  tree.write({ a: 1, b: 2 });
  const sampler = start([{ file: tree.path("a") }, { file: tree.path("b") }], 1e6, 3);
  await reached(sampler, "overruns", 2);
  const out = new Float64Array(2 * SAMPLE_DOUBLES * 8);
  const values = (rows: number) =>
    Array.from({ length: 2 * rows }, (_, at) => [...out.subarray(4 * at + 2, 4 * at + 4)]);
  // Two of three rows, then the third one and those that follow.
  expect(sampler.drain(out.subarray(0, 2 * 2 * SAMPLE_DOUBLES))).toBe(2);
  expect(values(2)).toEqual([
    [1, 0],
    [2, 0],
    [1, 0],
    [2, 0],
  ]);
  const second = out[3 * SAMPLE_DOUBLES + 1]!;
  const { overruns } = sampler.cost();
  // The first of two may have met the ring before it was drained.
  await reached(sampler, "overruns", overruns + 2);
  sampler.stop();
  expect(sampler.drain(out)).toBe(3);
  expect(values(3)).toEqual([
    [1, 0],
    [2, 0],
    [1, 0],
    [2, 0],
    [1, 0],
    [2, 0],
  ]);
  const begins = [0, 1, 2].map((row) => out[2 * SAMPLE_DOUBLES * row]!);
  expect(begins).toEqual([...begins].sort((a, b) => a - b));
  expect(begins[0]).toBeGreaterThan(second);
  expect(sampler.drain(out)).toBe(0);
  const cost = sampler.cost();
  expect(cost.ticks - cost.overruns).toBe(5);
});

test("a stopped sampler leaves no descriptor open", async () => {
  tree.write({ open: 1 });
  const file = tree.path("open");
  const targets = () =>
    readdirSync("/proc/self/fd").map((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`);
      } catch {
        return "";
      }
    });
  const count = (target: string) => targets().filter((one) => one === target).length;
  const timers = count("anon_inode:[timerfd]");
  const sampler = start([{ file }], ONCE, 2);
  await reached(sampler, "ticks", 1);
  expect([count(file), count("anon_inode:[timerfd]")]).toEqual([1, timers + 1]);
  sampler.stop();
  expect([count(file), count("anon_inode:[timerfd]")]).toEqual([0, timers]);
  sampler.stop();
});

test("sources, the period and the ring have limits", () => {
  const file = { file: tree.path("limits") };
  const list = (count: number): SampleSource[] => Array.from({ length: count }, () => file);
  const verdict = (changes: object) => {
    const sampler = native.createSampler({ sources: [file], periodNs: ONCE, capacityRows: 2, ...changes });
    if (!sampler.available) return sampler.reason;
    sampler.stop();
    return "accepted";
  };
  const limits = "a sampler needs 1 to 64 sources, a period of 1 ms to 1000 s and room for 2 to 65536 rows";
  const source = "a source is {file} or {nvml, quantity}";
  const table: [object, string][] = [
    [{ sources: list(64) }, "accepted"],
    [{ sources: list(65) }, limits],
    [{ sources: list(66) }, limits],
    [{ sources: [] }, limits],
    [{ sources: undefined }, "a sampler needs a list of sources"],
    [{ sources: [file, 5] }, source],
    [{ sources: [{ nvml: 0 }] }, source],
    [{ sources: [{ nvml: "0", quantity: "power" }] }, source],
    [{ periodNs: 1e6 }, "accepted"],
    [{ periodNs: 1e6 - 1 }, limits],
    [{ periodNs: 1e12 + 1 }, limits],
    [{ periodNs: Number.NaN }, limits],
    [{ periodNs: "1e9" }, limits],
    [{ capacityRows: 1 }, limits],
    [{ capacityRows: 65536 }, "accepted"],
    [{ capacityRows: 65537 }, limits],
  ];
  for (const [changes, expected] of table) expect(verdict(changes), JSON.stringify(changes)).toBe(expected);
});
