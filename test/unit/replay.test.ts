// SPDX-License-Identifier: Apache-2.0
// Tests recordings: listing, pairing, counts, monotonic numbers, and bad files.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type FramePair,
  openReplaySource,
  type ReplayOptions,
  type ReplaySource,
  writeImage,
} from "../../camera/index.js";
import {
  listImages,
  matchesPattern,
  type ReplayEntry,
  settleTimes,
} from "../../camera/recordings/replay-listing.js";
import { medianPeriodNs, planSteps } from "../../camera/recordings/replay-plan.js";
import { cpuMsSince } from "../doubles/cpu-time.js";
import { needsData } from "../doubles/needs.js";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "depthwatt-replay-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** 4x2 PGM images; the first pixel distinguishes them. */
async function side(folder: string, images: Record<string, number>, width = 4): Promise<string> {
  const path = join(root, folder);
  mkdirSync(path, { recursive: true });
  for (const [name, value] of Object.entries(images)) {
    await writeImage(join(path, name), { data: new Uint8Array(width * 2).fill(value), width, height: 2 });
  }
  return path;
}

interface Played {
  source: ReplaySource;
  /** "left value/right value" of each pair. */
  pairs: string[];
  stampsNs: bigint[];
  sequences: number[];
  degraded: (string | undefined)[];
  error: Error | undefined;
}

/** Plays to the end (or to an error); every pair is released at once unless `hold` says otherwise. */
async function play(
  options: ReplayOptions,
  onPair?: (pair: FramePair, count: number) => void,
): Promise<Played> {
  const source = await openReplaySource(options);
  const played: Played = { source, pairs: [], stampsNs: [], sequences: [], degraded: [], error: undefined };
  await new Promise<void>((resolve) => {
    source.start({
      onPair(pair) {
        played.pairs.push(`${pair.left.data[0]}/${pair.right.data[0]}`);
        played.stampsNs.push(pair.left.timestampNs);
        played.sequences.push(pair.left.sequence);
        if (onPair) onPair(pair, played.pairs.length);
        else pair.release();
      },
      onDegraded: (reason) => played.degraded.push(reason),
      onEnd: resolve,
      onError(error) {
        played.error = error;
        resolve();
      },
    });
  });
  await source.stop();
  return played;
}

const entries = (...stampsNs: number[]): ReplayEntry[] =>
  stampsNs.map((stamp, sequence) => ({ file: `${stamp}`, timestampNs: BigInt(stamp), sequence }));

describe("pairs by time", () => {
  const plan = (left: number[], right: number[], windowNs: number) =>
    planSteps(entries(...left), entries(...right), BigInt(windowNs)).map(
      (step) => `${step.left?.file ?? "-"}|${step.right?.file ?? "-"}`,
    );

  test("nearest within the window, in order of time", () => {
    expect(plan([0, 100, 200], [10, 90, 205], 50)).toEqual(["0|10", "100|90", "200|205"]);
  });

  test("the window's edge belongs to it", () => {
    expect(plan([0], [50], 50)).toEqual(["0|50"]);
    expect(plan([0], [51], 50)).toEqual(["0|-", "-|51"]);
  });

  test("a lost image leaves its partner single and shifts no other", () => {
    expect(plan([0, 100, 200, 300], [0, 200, 300], 50)).toEqual(["0|0", "100|-", "200|200", "300|300"]);
    expect(plan([100, 200], [0, 100, 200, 300], 50)).toEqual(["-|0", "100|100", "200|200", "-|300"]);
  });

  test("one image never serves two pairs: it goes to the nearer one", () => {
    expect(plan([0, 40], [35], 50)).toEqual(["0|-", "40|35"]);
    expect(plan([20], [0, 30], 50)).toEqual(["-|0", "20|30"]);
  });

  test("of two equally near images the earlier one is taken", () => {
    expect(plan([50], [0, 100], 50)).toEqual(["50|0", "-|100"]);
  });

  test("period is the median gap, so one hole does not widen the window", () => {
    expect(medianPeriodNs(entries(0, 100, 200, 900, 1000))).toBe(100n);
    expect(medianPeriodNs(entries(0, 100, 400, 600))).toBe(200n);
    expect(medianPeriodNs(entries(0, 100))).toBe(100n);
    expect(medianPeriodNs(entries(5))).toBeUndefined();
  });

  test("random recordings: no image twice, none lost, order kept, every pair inside the window", () => {
    let state = 99;
    const random = () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 2 ** 32;
    };
    for (let round = 0; round < 200; round++) {
      const cameraNames = () =>
        [
          ...new Set(
            Array.from({ length: 1 + Math.floor(random() * 30) }, () => Math.floor(random() * 2000)),
          ),
        ].sort((a, b) => a - b);
      const [left, right] = [entries(...cameraNames()), entries(...cameraNames())];
      const steps = planSteps(left, right, 40n);
      expect(steps.flatMap((step) => step.left ?? [])).toEqual(left);
      expect(new Set(steps.flatMap((step) => step.right ?? []))).toEqual(new Set(right));
      expect(steps.filter((step) => step.right).length).toBe(right.length);
      for (const { left: a, right: b } of steps) {
        if (a && b) expect(Math.abs(Number(a.timestampNs - b.timestampNs))).toBeLessThanOrEqual(40);
      }
    }
  });
});

describe("listing", () => {
  test("names that are times, with any number of digits; other files are skipped", async () => {
    const path = await side("a", { "9999999999999.png": 0, "10000000000000.pgm": 1 });
    writeFileSync(join(path, "sensor.yaml"), "x");
    const listing = await listImages(path);
    expect(listing.files.map((file) => basename(file))).toEqual(["9999999999999.png", "10000000000000.pgm"]);
    expect(listing.stampsNs).toEqual([9999999999999n, 10000000000000n]);
  });

  test("frame numbers sort as numbers and are no times", async () => {
    const listing = await listImages(await side("a", { "f10.pgm": 0, "f9.pgm": 0, "f2.pgm": 0 }));
    expect(listing.files.map((file) => basename(file))).toEqual(["f2.pgm", "f9.pgm", "f10.pgm"]);
    expect(listing.stampsNs).toBeUndefined();
    expect(listing.numbers).toEqual([2, 9, 10]);
  });

  test.each<[string, string[], string[], { stamps?: bigint[]; numbers?: number[] }]>([
    [
      "12 digits are numbers",
      ["100000000001.pgm", "99.pgm"],
      ["99.pgm", "100000000001.pgm"],
      { numbers: [99, 100000000001] },
    ],
    [
      "13 digits are times",
      ["1000000000001.png", "1000000000000.PNG"],
      ["1000000000000.PNG", "1000000000001.png"],
      { stamps: [1000000000000n, 1000000000001n], numbers: [1000000000000, 1000000000001] },
    ],
    [
      "one name without a number: by name",
      ["b1.jpg", "a.jpeg", "b0.ppm"],
      ["a.jpeg", "b0.ppm", "b1.jpg"],
      {},
    ],
    ["one number twice: by name", ["b2x.pgm", "a2.pgm"], ["a2.pgm", "b2x.pgm"], {}],
    [
      "the last number counts, and other files do not",
      ["c1_20.pgm", "c9_3b.pgm", "c2.txt", "c0.pgmx"],
      ["c9_3b.pgm", "c1_20.pgm"],
      { numbers: [3, 20] },
    ],
    [
      "beyond whole numbers: by name",
      ["a9007199254740992.pgm", "b1.pgm"],
      ["a9007199254740992.pgm", "b1.pgm"],
      {},
    ],
    [
      "a time and a number: by number",
      ["1000000000000.pgm", "7.pgm"],
      ["7.pgm", "1000000000000.pgm"],
      { numbers: [7, 1000000000000] },
    ],
  ])("%s", async (_, names, order, { stamps, numbers }) => {
    const path = await side("names", {});
    for (const name of names) writeFileSync(join(path, name), "");
    const listing = await listImages(path);
    expect(listing.files.map((file) => basename(file))).toEqual(order);
    expect([listing.stampsNs, listing.numbers]).toEqual([stamps, numbers]);
    const [entries] = settleTimes([listing], "rate", 10n);
    const first = numbers?.[0] ?? 0;
    const sequences = order.map((_, at) =>
      numbers === undefined || stamps !== undefined ? at : numbers[at]! - first,
    );
    expect(entries!.map(({ sequence }) => sequence)).toEqual(sequences);
    expect(entries!.map(({ timestampNs }) => timestampNs)).toEqual(sequences.map((at) => BigInt(at) * 10n));
  });

  test("stars stand for anything, in time that is linear", () => {
    const cases: [string, string, boolean][] = [
      ["left01.pgm", "left*.pgm", true],
      ["left.pgm", "left*.pgm", true],
      ["left.pg", "left*.pgm", false],
      ["lef", "l*ef*f", false],
      ["aXbXc", "a*b*c", true],
      ["abab", "*ab", true],
      ["aba", "ab*ba", false],
      ["abcbc", "a*bc*bc", true],
      ["xabx", "*ab*ab*", false],
      ["1aba3", "*ab*ba*", false],
      ["1ab2ba3", "*ab*ba*", true],
      ["a+b", "a+*", true],
      ["aab", "a+*", false],
      ["any", "**", true],
      ["any", "any", true],
    ];
    for (const [name, pattern, expected] of cases)
      expect(matchesPattern(name, pattern), `${name} as ${pattern}`).toBe(expected);
    const before = process.cpuUsage();
    expect(matchesPattern(`${"a".repeat(200)}b`, `${"a*".repeat(100)}c`)).toBe(false);
    expect(matchesPattern("a".repeat(255), `${"*a".repeat(127)}*b*`)).toBe(false);
    expect(cpuMsSince(before)).toBeLessThan(5000); // where it is not, this takes hours
  });

  test("a name that no clock can have is a name, in a list an error", async () => {
    const path = await side("huge", {
      "1111111111111111111111111.pgm": 1,
      "1111111111111111111111112.pgm": 2,
    });
    const { stampsNs } = await listImages(path);
    expect(stampsNs).toBeUndefined();
    writeFileSync(join(path, "list.txt"), `${2n ** 63n} a.pgm\n`);
    await expect(listImages(join(path, "list.txt"))).rejects.toThrow(
      /times in ns below 2\^63, found 9223372036854775808/,
    );
    writeFileSync(join(path, "list.txt"), `${"1a".repeat(200_000)}.pgm\n`);
    const before = process.cpuUsage();
    await listImages(join(path, "list.txt"));
    expect(cpuMsSince(before)).toBeLessThan(2000);
  });

  test("a star picks one side out of a common folder", async () => {
    const path = await side("both", { "left01.pgm": 1, "right01.pgm": 2, "left02.pgm": 3, "right02.pgm": 4 });
    const listing = await listImages(join(path, "left*.pgm"));
    expect(listing.files.map((file) => basename(file))).toEqual(["left01.pgm", "left02.pgm"]);
  });

  test("list files: comments, times, EuRoC's data folder", async () => {
    const path = await side("mav/cam0/data", { "b.pgm": 0, "a.pgm": 1 });
    const list = join(path, "..", "data.csv");
    writeFileSync(list, "#timestamp [ns],filename\r\n20000000000000,a.pgm\r\n10000000000000,b.pgm\r\n\r\n");
    const listing = await listImages(list);
    expect(listing.files).toEqual([join(path, "b.pgm"), join(path, "a.pgm")]);
    expect(listing.stampsNs).toEqual([10000000000000n, 20000000000000n]);
    writeFileSync(list, "data/b.pgm # first\ndata/a.pgm\n");
    expect((await listImages(list)).files).toEqual([join(path, "b.pgm"), join(path, "a.pgm")]);
  });

  test("refusals name the path", async () => {
    await expect(listImages(join(root, "none"))).rejects.toThrow(`expected images at ${join(root, "none")}`);
    await expect(listImages(root)).rejects.toMatchObject({ code: "SOURCE_EMPTY" });
    const list = join(root, "list.txt");
    writeFileSync(list, "10000000000000,a.png\n10000000000000,b.png\n");
    await expect(listImages(list)).rejects.toThrow(
      /own time, found 10000000000000 ns for both .*a\.png and .*b\.png/,
    );
    const plain = await listImages(await side("a", { "1.pgm": 0 }));
    expect(() => settleTimes([plain], "names", 1n)).toThrow(/file names that are times in ns.*found 1\.pgm/);
  });

  test("a time of up to 40 digits is named, a longer one only by its length", async () => {
    const list = join(root, "long.txt");
    for (const [digits, found] of [
      [40, "9".repeat(40)],
      [41, "a number of 41 digits"],
    ] as const) {
      writeFileSync(list, `${"9".repeat(digits)},a.png\n`);
      await expect(listImages(list)).rejects.toMatchObject({
        code: "SOURCE_UNREADABLE",
        message: `${list}: expected times in ns below 2^63, found ${found}`,
        context: { file: list },
      });
    }
  });

  test("files of a list are those next to it, and only missing ones those in data/", async () => {
    await side("data", { "a.pgm": 1, "b.pgm": 2 });
    await side(".", { "a.pgm": 3 });
    const list = join(root, "list.txt");
    writeFileSync(list, `a.pgm\nb.pgm\nc.pgm\n${join(root, "b.pgm")}\n`);
    expect((await listImages(list)).files).toEqual(
      ["a.pgm", "data/b.pgm", "c.pgm", "b.pgm"].map((name) => join(root, name)),
    );
  });

  test("a list that is no text is refused in words, one of odd line ends is read", async () => {
    const list = join(root, "odd.txt");
    for (const bytes of [Buffer.from([0x31, 0xff, 0xfe, 0x0d, 0x80]), Buffer.from("1 a.png\n\0")]) {
      writeFileSync(list, bytes);
      await expect(listImages(list)).rejects.toMatchObject({
        code: "SOURCE_UNREADABLE",
        message: expect.stringMatching(/found other bytes than UTF-8 text$/),
      });
    }
    writeFileSync(list, "10000000000000 a\rb\u2028c");
    expect((await listImages(list)).files).toEqual([join(root, "a\rb\u2028c")]);
  });

  test("a socket is no list", async () => {
    const path = join(root, "socket");
    const server = createServer().listen(path);
    await once(server, "listening");
    await expect(listImages(path)).rejects.toMatchObject({ code: "SOURCE_UNREADABLE" });
    server.close();
  });

  test("a number missing from one side.s names stays missing", async () => {
    const left = await listImages(await side("l", { "3.pgm": 0, "4.pgm": 0, "6.pgm": 0 }));
    const right = await listImages(await side("r", { "4.pgm": 0, "5.pgm": 0, "6.pgm": 0 }));
    const [a, b] = settleTimes([left, right], "auto", 10n);
    expect(a!.map((entry) => entry.sequence)).toEqual([0, 1, 3]);
    expect(planSteps(a!, b!, 5n).map((step) => [step.left?.sequence, step.right?.sequence])).toEqual([
      [0, undefined],
      [1, 1],
      [undefined, 2],
      [3, 3],
    ]);
  });
});

describe("playing", () => {
  const stamped = (count: number, offset = 0, first = 0) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, i) => [`${10 ** 15 + i * 50_000_000 + offset}.pgm`, i + 1 + first]),
    );

  test("left and right folders, times from names, clock file", async () => {
    const left = await side("l", stamped(3));
    const right = await side("r", stamped(3, 2_000_000, 100));
    const played = await play({ left, right, rateHz: "max" });
    expect(played.pairs).toEqual(["1/101", "2/102", "3/103"]);
    await (await openReplaySource({ left, right, rateHz: 0.25 })).stop();
    expect(played.stampsNs).toEqual([10n ** 15n, 10n ** 15n + 50_000_000n, 10n ** 15n + 100_000_000n]);
    expect(played.source.pairsPerLap).toBe(3);
    expect(played.source.description).toMatchObject({
      width: 4,
      height: 2,
      leftFormat: "GREY",
      leftStrideBytes: 4,
      rateHz: undefined,
      clock: "file",
    });
    expect(played.source.counters()).toMatchObject({ pairs: 3, dropsLeft: {}, skewMsMean: 2, skewMsP99: 2 });
    expect(played.error).toBeUndefined();
  });

  test("singles are counted per side", async () => {
    const left = await side("l", stamped(5));
    const right = await side("r", stamped(4));
    unlinkSync(join(right, `${10 ** 15 + 50_000_000}.pgm`));
    const played = await play({ left, right, rateHz: "max" });
    expect(played.pairs).toEqual(["1/1", "3/3", "4/4"]);
    expect(played.sequences).toEqual([0, 2, 3]);
    expect(played.source.counters()).toMatchObject({ dropsLeft: { unmatched: 2 }, dropsRight: {} });
  });

  test("looped: time stamps and sequence numbers continue rising by one period", async () => {
    const left = await side("l", stamped(3));
    const right = await side("r", stamped(3));
    const played = await play({ left, right, rateHz: "max", loop: true, frames: 8 });
    expect(played.pairs.map((pair) => pair[0]).join("")).toBe("12312312");
    const gaps = played.stampsNs.slice(1).map((stamp, i) => stamp - played.stampsNs[i]!);
    expect(gaps).toEqual(Array.from({ length: 7 }, () => 50_000_000n));
    expect(played.sequences).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test("looped: numbers that are missing stay missing in every lap, and times follow them", async () => {
    const images = { "3.pgm": 1, "4.pgm": 2, "6.pgm": 3, "7.pgm": 4 };
    const [left, right] = [await side("l", images), await side("r", images)];
    const played = await play({ left, right, rateHz: 1000, loop: true, frames: 9 });
    expect(played.pairs.map((pair) => pair[0]).join("")).toBe("123412341");
    expect(played.sequences).toEqual([0, 1, 3, 4, 5, 6, 8, 9, 10]);
    expect(played.stampsNs).toEqual(played.sequences.map((sequence) => BigInt(sequence) * 1_000_000n));
    expect(played.source.description.title).toMatch(/, 4 pairs 4x2, 1000 Hz, looped$/);
    expect(played.source.counters()).toEqual({
      pairs: 9,
      dropsLeft: {},
      dropsRight: {},
      skewMsMean: 0,
      skewMsP99: 0,
      driftPpm: undefined,
    });
  });

  test("a recording plays once, for at most as many pairs as are asked for", async () => {
    const folder = await side("l", stamped(3));
    for (const [frames, pairs] of [
      [undefined, 3],
      [2, 2],
      [4, 3],
    ] as const) {
      const options = { left: folder, right: folder, rateHz: "max", ...(frames && { frames }) } as const;
      const { source, pairs: played, degraded } = await play(options);
      expect([played.length, degraded]).toEqual([pairs, []]);
      expect(source.description.title).toMatch(/, 3 pairs 4x2, as fast as they are taken$/);
      const events = { onPair() {}, onDegraded() {}, onEnd() {}, onError() {} };
      expect(() => source.start(events)).toThrow("a replay source was started twice");
    }
  });

  test("side by side, time stamps from the rate", async () => {
    const path = join(root, "sbs");
    mkdirSync(path);
    const data = new Uint8Array([1, 1, 2, 2, 1, 1, 2, 2]);
    await writeImage(join(path, "a.png"), { data, width: 4, height: 2 });
    await writeImage(join(path, "b.png"), { data: data.map((value) => value + 5), width: 4, height: 2 });
    const played = await play({ sideBySide: path, rateHz: 100 });
    expect(played.pairs).toEqual(["1/2", "6/7"]);
    expect(played.stampsNs).toEqual([0n, 10_000_000n]);
    expect(played.source.description).toMatchObject({ width: 2, height: 2, rateHz: 100 });
  });

  test("16-bit images are Y16, little-endian", async () => {
    for (const side of ["l", "r"]) {
      mkdirSync(join(root, side));
      const image = { data: new Uint16Array([0x1234, 5]), width: 2, height: 1 };
      await writeImage(join(root, side, "0.png"), image);
    }
    let bytes: number[] = [];
    const played = await play({ left: join(root, "l"), right: join(root, "r"), rateHz: "max" }, (pair) => {
      bytes = [...pair.left.data];
      pair.release();
    });
    expect(bytes).toEqual([0x34, 0x12, 5, 0]);
    expect(played.source.description).toMatchObject({ leftFormat: "Y16", leftStrideBytes: 4 });
  });

  test("paced: never earlier than the rate allows", async () => {
    const folder = await side("l", stamped(6));
    const begin = performance.now();
    await play({ left: folder, right: folder, rateHz: 50 });
    expect(performance.now() - begin).toBeGreaterThanOrEqual(5 * 20);
  });

  test("as fast as they are taken: at most two pairs are out, and nothing is dropped", async () => {
    const folder = await side("l", stamped(12));
    const held: FramePair[] = [];
    let max = 0;
    const played = await play({ left: folder, right: folder, rateHz: "max" }, (pair) => {
      held.push(pair);
      max = Math.max(max, held.length);
      const giveBack = () => {
        for (const one of held.splice(0)) one.release();
      };
      if (held.length === 1) setTimeout(giveBack, 5);
    });
    expect(max).toBe(2);
    expect(played.pairs.length).toBe(12);
    expect(played.source.counters().dropsLeft).toEqual({});
  });

  test("at a rate, a slow consumer slows the recording down: every pair arrives, and a stop waits for those held", async () => {
    const folder = await side("l", stamped(8));
    const held: FramePair[] = [];
    const options = { left: folder, right: folder, rateHz: 500, maxHeldPairs: 3 };
    const source = await openReplaySource(options);
    let maxHeld = 0;
    await new Promise<void>((resolve, reject) => {
      const onPair = (pair: FramePair) => {
        held.push(pair);
        maxHeld = Math.max(maxHeld, held.length);
        if (held.length === 3 && source.counters().pairs < 8) setTimeout(() => held.shift()!.release(), 10);
      };
      source.start({ onPair, onDegraded() {}, onEnd: resolve, onError: reject });
    });
    expect(maxHeld).toBe(3);
    expect(source.counters()).toMatchObject({ pairs: 8, dropsLeft: {}, dropsRight: {} });
    const stopped = source.stop();
    let done = false;
    void stopped.then(() => {
      done = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(done).toBe(false);
    for (const pair of held) pair.release();
    await stopped;
    expect(() => held[0]!.release()).toThrow(/released twice/);
  });

  test("stop in the middle: no pair and no end after it", async () => {
    const folder = await side("l", stamped(5));
    const source = await openReplaySource({ left: folder, right: folder, rateHz: 200, loop: true });
    let count = 0;
    let ended = false;
    await new Promise<void>((resolve) => {
      source.start({
        onPair(pair) {
          pair.release();
          if (++count === 7) resolve();
        },
        onDegraded() {},
        onEnd: () => {
          ended = true;
        },
        onError() {},
      });
    });
    await source.stop();
    const before = count;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect([count, ended]).toEqual([before, false]);
  });
});

describe("bad files", () => {
  const numbered = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${i}.pgm`, i + 1]));

  test("a damaged, a wrongly sized and a vanished file in the middle: named, counted, skipped", async () => {
    const left = await side("l", numbered(6));
    const right = await side("r", numbered(6));
    writeFileSync(join(left, "2.pgm"), "P5\n4 2\n255\nabc");
    await writeImage(join(right, "3.pgm"), { data: new Uint8Array(6), width: 3, height: 2 });
    unlinkSync(join(left, "4.pgm"));
    const played = await play({ left, right, rateHz: "max" });
    expect(played.pairs).toEqual(["1/1", "2/2", "6/6"]);
    expect(played.source.counters()).toMatchObject({
      dropsLeft: { unreadable: 1, partnerLost: 1 },
      dropsRight: { partnerLost: 1, wrongSize: 1, unmatched: 1 },
    });
    expect(played.degraded).toEqual([
      expect.stringMatching(/l\/2\.pgm: expected at least 8 bytes for 4x2 pixels, found 3/),
      expect.stringMatching(/r\/3\.pgm: expected 4x2 with 8 bits like the first pair, found 3x2 with 8 bits/),
      undefined,
    ]);
  });

  test("a folder that goes away fills no log: ten files are named, each once, and all are counted", async () => {
    const left = await side("l", numbered(40));
    const right = await side("r", numbered(40));
    const removed = (name: string) => Number(name.split(".")[0]) >= 15;
    const options = { left, right, rateHz: "max", loop: true, rememberBytes: 0, frames: 45 } as const;
    const played = await play(options, (pair, count) => {
      if (count === 1)
        for (const name of Object.keys(numbered(40)).filter(removed)) unlinkSync(join(left, name));
      pair.release();
    });
    expect(played.pairs.slice(15, 30)).toEqual(played.pairs.slice(0, 15));
    const named = played.degraded.filter((reason) => reason !== undefined);
    expect(named).toHaveLength(10);
    expect(named[0]).toMatch(/l\/15\.pgm, found: no such file$/);
    expect(named[9]).toMatch(/l\/24\.pgm, found: no such file; more of them in a row are only counted$/);
    expect(played.source.counters().dropsLeft.unreadable).toBeGreaterThanOrEqual(2 * 25);
  });

  test("a pipe or a folder that is named like an image is none", async () => {
    const left = await side("l", { "0.pgm": 1, "1.pgm": 2 });
    execFileSync("mkfifo", [join(left, "2.pgm")]);
    mkdirSync(join(left, "3.pgm"));
    const source = await openReplaySource({ left, right: left, rateHz: "max" });
    expect(source.pairsPerLap).toBe(2);
  });

  test("a file name that is not UTF-8 is refused as that", async () => {
    const left = await side("l", { "0.pgm": 1 });
    const name = Buffer.concat([Buffer.from(`${left}/caf`), Buffer.from([0xe9]), Buffer.from(".pgm")]);
    writeFileSync(name, "P5 1 1 255 x");
    await expect(openReplaySource({ left, right: left, rateHz: "max" })).rejects.toMatchObject({
      code: "SOURCE_UNREADABLE",
      message: expect.stringMatching(/l: expected file names in UTF-8, found "caf\ufffd\.pgm"$/),
    });
  });

  test("a recording of hours has more images than a call may have arguments", async () => {
    const left = await side("l", { "0.pgm": 1 });
    const lines = Array.from({ length: 140_000 }, (_, i) => `${10n ** 18n + BigInt(i) * 33_333_333n},0.pgm`);
    writeFileSync(join(left, "times.csv"), lines.join("\n"));
    const path = join(left, "times.csv");
    const source = await openReplaySource({ left: path, right: path, rateHz: "max" });
    expect(source.pairsPerLap).toBe(140_000);
  });

  test("a file that vanishes after the recording was opened", async () => {
    const left = await side("l", numbered(8));
    const source = await openReplaySource({ left, right: left, rateHz: "max", prefetchPairs: 1 });
    unlinkSync(join(left, "5.pgm"));
    const values: number[] = [];
    await new Promise<void>((resolve, reject) => {
      source.start({
        onPair(pair) {
          values.push(pair.left.data[0]!);
          pair.release();
        },
        onDegraded() {},
        onEnd: resolve,
        onError: reject,
      });
    });
    expect(values).toEqual([1, 2, 3, 4, 5, 7, 8]);
    expect(source.counters().dropsLeft).toEqual({ unreadable: 1 });
  });

  test("stop mode ends with the file's error", async () => {
    const left = await side("l", numbered(4));
    const right = await side("r", numbered(4));
    writeFileSync(join(right, "1.pgm"), "garbage");
    const played = await play({ left, right, rateHz: "max", onBadFile: "stop" });
    expect(played.pairs).toEqual(["1/1"]);
    expect(played.error).toMatchObject({ code: "IMAGE_UNSUPPORTED" });
    expect(played.error!.message).toContain(join(right, "1.pgm"));
  });

  test("a loop in which nothing can be read any more ends with an error instead of spinning", async () => {
    const left = await side("l", numbered(2));
    const source = await openReplaySource({ left, right: left, rateHz: "max", loop: true, rememberBytes: 0 });
    for (const name of ["0.pgm", "1.pgm"]) unlinkSync(join(left, name));
    const error = await new Promise<Error>((resolve) => {
      source.start({ onPair: (pair) => pair.release(), onDegraded() {}, onEnd() {}, onError: resolve });
    });
    expect(error).toMatchObject({ code: "SOURCE_EMPTY" });
  });

  test("refused at open: images of different size, nothing in common, wrong options", async () => {
    const left = await side("l", { "0.pgm": 1 });
    const right = await side("r", { "0.pgm": 1 }, 6);
    await expect(openReplaySource({ left, right, rateHz: "max" })).rejects.toThrow(
      /of one size, found 4x2 and 6x2/,
    );
    const early = await side("early", { "10000000000000.pgm": 1, "10000050000000.pgm": 1 });
    const late = await side("late", { "20000000000000.pgm": 1 });
    await expect(openReplaySource({ left: early, right: late, rateHz: "max" })).rejects.toThrow(
      /within 25 ms of each other/,
    );
    await expect(openReplaySource({ left, rateHz: "max" })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await expect(openReplaySource({ left, right, rateHz: 0 })).rejects.toThrow(/rateHz above 0/);
  });
});

needsData("seq/euroc_raw").suite("EuRoC, 20 raw pairs", (folder) => {
  test("all pair up, 50 ms apart, and the JavaScript thread stays free", async () => {
    let turns = 0;
    let running = true;
    const turn = () => {
      turns++;
      if (running) setImmediate(turn);
    };
    turn();
    const played = await play({ left: join(folder, "cam0"), right: join(folder, "cam1"), rateHz: "max" });
    running = false;
    expect(played.pairs.length).toBe(20);
    expect(played.source.description).toMatchObject({ width: 752, height: 480, leftFormat: "GREY" });
    expect(Number(played.stampsNs[19]! - played.stampsNs[0]!) / 1e6).toBeCloseTo(950, 0);
    expect(played.source.counters()).toMatchObject({ skewMsMean: 0, dropsLeft: {}, dropsRight: {} });
    // 34 to 52 thousand, on an idle machine and next to four others; decoded on this thread, each image would be one long turn.
    expect(turns).toBeGreaterThan(5000);
  });
});

needsData("seq/kitti_odom_seq1").suite("KITTI odometry", (folder) => {
  test("30 pairs by frame number", async () => {
    const played = await play({ left: join(folder, "left"), right: join(folder, "right"), rateHz: "max" });
    expect(played.pairs.length).toBe(30);
    expect(played.source.counters().dropsLeft).toEqual({});
  });
});
