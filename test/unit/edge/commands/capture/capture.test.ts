// SPDX-License-Identifier: Apache-2.0
// Which pairs depthwatt capture saves, shows to a measurement and gives back; the files it writes, and the texts of its tests.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { encodePng, type FramePair, type RawImage, type SourceEvents } from "../../../../../camera/index.js";
import { savePairs } from "../../../../../edge/commands/capture/command.js";
import { lookAtPairs } from "../../../../../edge/commands/capture/look-at-pairs.js";
import { printSync, syncSignFrom } from "../../../../../edge/commands/capture/sync-test.js";

let folder = "";
let [out, err] = ["", ""];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-capture-"));
  for (const side of ["left", "right"]) mkdirSync(join(folder, side));
  [out, err] = ["", ""];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    out += text;
    return true;
  });
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    err += text;
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const [WIDTH, HEIGHT] = [2, 2];
/** A source that a test plays by hand. */
function createSource(format: "GREY" | "RGB8" = "GREY") {
  let events: SourceEvents | undefined;
  const channels = format === "RGB8" ? 3 : 1;
  const released: number[] = [];
  const image = (value: number): RawImage => ({
    data: new Uint8Array(WIDTH * HEIGHT * channels).fill(value),
    width: WIDTH,
    height: HEIGHT,
    strideBytes: WIDTH * channels,
    format,
    timestampNs: BigInt(1000 + value),
    sequence: value,
  });
  return {
    released,
    source: {
      start: (given: SourceEvents) => {
        events = given;
      },
    },
    events: () => events!,
    /** The left image is filled with the number of the pair, the right one with 100 more. */
    deliver(number: number) {
      const pair = { left: image(number), right: image(100 + number), clock: "monotonic" };
      events!.onPair({ ...pair, release: () => released.push(number) } as FramePair);
    },
  };
}
const files = (side: string) => readdirSync(join(folder, side)).sort();

test("the pairs after those that are skipped are saved by their times, and each is given back", async () => {
  const { source, deliver, released } = createSource();
  const saved = savePairs(source, { save: folder, skip: 2, frames: 3 });
  for (let number = 0; number < 7; number++) deliver(number);
  expect(await saved).toBe(3);
  expect(files("left")).toEqual(["1002.png", "1003.png", "1004.png"]);
  expect(files("right")).toEqual(["1102.png", "1103.png", "1104.png"]);
  expect(released.sort()).toEqual([0, 1, 2, 3, 4, 5, 6]);
  const grey = await encodePng({ data: new Uint8Array(4).fill(103), width: WIDTH, height: HEIGHT });
  expect(readFileSync(join(folder, "right", "1103.png")).equals(grey)).toBe(true);
});

test("a source that ends early, and its notices", async () => {
  const { source, deliver, events } = createSource();
  const saved = savePairs(source, { save: folder, skip: 0, frames: 3, raw: true });
  deliver(7);
  events().onDegraded("one camera is late");
  events().onDegraded(undefined);
  events().onWarning?.("it is dark");
  events().onEnd();
  expect(await saved).toBe(1);
  expect(err).toContain("note: one camera is late\nnote: it is dark\n");
  expect(err).not.toContain("undefined");
  expect([...readFileSync(join(folder, "left", "1007.raw"))]).toEqual([7, 7, 7, 7]);
});

test("colours are kept only if asked for", async () => {
  for (const [color, channels] of [
    [true, 3],
    [false, 1],
  ] as const) {
    const { source, deliver } = createSource("RGB8");
    const saved = savePairs(source, { save: folder, skip: 0, frames: 1, color });
    deliver(channels);
    await saved;
    const data = new Uint8Array(WIDTH * HEIGHT * channels).fill(channels);
    const expected = await encodePng({ data, width: WIDTH, height: HEIGHT });
    expect(readFileSync(join(folder, "left", `${1000 + channels}.png`)).equals(expected)).toBe(true);
  }
});

test("of a pair that cannot be written no image stays; a source that fails ends it", async () => {
  rmSync(join(folder, "right"), { recursive: true });
  const { source, deliver } = createSource();
  const saved = savePairs(source, { save: folder, skip: 0, frames: 1 });
  deliver(1);
  await expect(saved).rejects.toMatchObject({ code: "ENOENT" });
  expect(files("left")).toEqual([]);
  const failing = createSource();
  const failed = savePairs(failing.source, { save: folder, skip: 0, frames: 1 });
  failing.events().onError(new Error("unplugged") as never);
  await expect(failed).rejects.toThrow("unplugged");
});

test("a measurement sees the same pairs before they are given back", async () => {
  const seen: (number | string)[] = [];
  const { source, deliver, events, released } = createSource();
  const look = (pair: FramePair) => void seen.push(pair.left.data[0]!, `${released.length} back`);
  let isDone = false;
  const done = lookAtPairs(source, { skip: 1, frames: 2 }, look).then(() => {
    isDone = true;
  });
  for (const number of [5, 6]) deliver(number);
  await new Promise((resolve) => setImmediate(resolve));
  expect(isDone).toBe(false);
  for (const number of [7, 8]) deliver(number);
  events().onDegraded("late");
  events().onDegraded(undefined);
  events().onWarning?.("dark");
  await done;
  expect(seen).toEqual([6, "1 back", 7, "2 back"]);
  expect(released).toEqual([5, 6, 7, 8]);
  expect(err).toContain("note: late\nnote: dark\n");
  expect(err).not.toContain("undefined");
  const short = createSource();
  const ended = lookAtPairs(short.source, { skip: 0, frames: 9 }, look);
  short.events().onEnd();
  await ended;
  const failing = createSource();
  const failed = lookAtPairs(failing.source, { skip: 0, frames: 9 }, look);
  failing.events().onError(new Error("unplugged") as never);
  await expect(failed).rejects.toThrow("unplugged");
});

test("the sign of a test of synchronisation, and what it measured", () => {
  for (const [text, sign] of [
    ["screen", "screen"],
    ["1", 1],
    ["20000", 20_000],
    ["172.5", 172.5],
  ] as const)
    expect(syncSignFrom(text)).toBe(sign);
  for (const text of ["0.99", "20001", "", "tv"])
    expect(() => syncSignFrom(text)).toThrow("expected Hz, from 1 to 20000");
  const figure = (value: number, uncertainty: number) => ({ value, uncertainty });
  printSync({
    offsetUs: figure(12.34, 0.56),
    periodUs: 5780.35,
    statedUs: -3.21,
    lineTimeUs: { left: figure(14.8126, 0.0049), right: figure(14.9, 0.0051) },
    frames: 40,
  } as never);
  expect(out.split("\n")).toEqual([
    "right after left  12.3 +- 0.6 us, or any multiple of 5780.4 us more",
    "time stamps say   -3.2 us",
    "row after row     left 14.813 +- 0.005 us, right 14.900 +- 0.005 us",
    "pairs             40",
    "",
  ]);
});
