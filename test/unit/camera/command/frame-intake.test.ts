// SPDX-License-Identifier: Apache-2.0
// Frames of a command in this process: times, numbers, losses and memory over several starts, and layouts to the byte.
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FrameIntake, type IntakeOptions } from "../../../../camera/command/frame-intake.js";
import { type CommandFrame, FRAMES, FramePool } from "../../../../camera/command/frames.js";
import { rawLayout, widthOfOne } from "../../../../camera/command/layout.js";
import { checkDisparities, PAIRS } from "../../../../camera/command/pairs-header.js";
import { memoryPathIn, rateFrom, tagsOf, y4mLayout, y4mStamp } from "../../../../camera/command/y4m.js";

const [WIDTH, HEIGHT] = [16, 16];
const PIXELS = WIDTH * HEIGHT;
const NOW = 5_000_000_000_000n;
const S = 1_000_000_000n;

const head = (tags = "F25:1") => Buffer.from(`YUV4MPEG2 W${WIDTH} H${HEIGHT} ${tags} Cmono\n`);
const frame = (words = "", grey = 9) =>
  Buffer.concat([Buffer.from(`FRAME${words}\n`), Buffer.alloc(PIXELS, grey)]);

/** An intake that has begun, and the frames that it made. */
function bench(more: Partial<IntakeOptions> = {}, give = true) {
  const frames: CommandFrame[] = [];
  const intake = new FrameIntake({
    layout: undefined,
    rateHz: undefined,
    sideBySide: false,
    live: true,
    nowNs: () => NOW,
    onFrame: (one) => {
      frames.push(one);
      if (give) one.giveBack();
    },
    ...more,
  });
  intake.begin();
  const facts = () =>
    frames.map(({ timestampNs, isTimed, images }) => [timestampNs, isTimed, images[0]!.sequence]);
  return { intake, frames, facts };
}

const stamped = (ageNs: bigint, sequence: number) => frame(` XTIME=${NOW - ageNs} XSEQ=${sequence}`);

describe("times and numbers", () => {
  test("of a live command are stated ones, or those of arrival and a count", () => {
    const { intake, frames } = bench({}, false);
    intake.push(head());
    expect(intake.period.periodNs).toBe(4e7);
    intake.push(Buffer.concat([frame(), stamped(7n, 40), frame(" XSEQ=41")]));
    expect(frames.map((one) => [one.timestampNs, one.isTimed, one.images[0]!.sequence])).toEqual([
      [NOW, false, 0],
      [NOW - 7n, true, 40],
      [NOW, false, 41],
    ]);
    expect(intake.layout).toMatchObject({ width: WIDTH, height: HEIGHT, rateHz: 25 });
    expect(intake.drops).toEqual({});
  });

  test.each([
    ["F10:1", 100_000_000n],
    ["F0:0", 33_333_333n],
  ])("of a recording with %s are the stream's, unless they are stated", (tags, stepNs) => {
    const { intake, frames } = bench({ live: false, nowNs: () => expect.unreachable() }, false);
    intake.push(Buffer.concat([head(tags), frame(), frame(), frame(" XTIME=5")]));
    expect(frames.map((one) => one.timestampNs)).toEqual([0n, stepNs, 5n]);
  });

  test.each([
    [10n * S, true],
    [10n * S + 1n, false],
    [-1_000_000n, true],
    [-1_000_001n, false],
  ])("an age of %s ns is possible: %s", (ageNs, possible) => {
    const { intake, frames } = bench();
    const push = () => intake.push(Buffer.concat([head(), stamped(ageNs, 1)]));
    if (!possible) expect(push).toThrow(expect.objectContaining({ code: "COMMAND_FAILED" }));
    else push();
    expect(frames).toHaveLength(possible ? 1 : 0);
    expect(intake.drops).toEqual(possible ? {} : { garbage: 1 });
  });
});

describe("losses", () => {
  test("are gaps of the camera's numbers, but not over a new start", () => {
    const { intake } = bench();
    intake.push(Buffer.concat([head(), ...[5, 8, 9, 12].map((number) => stamped(0n, number))]));
    expect(intake.drops).toEqual({ driver: 4 });
    intake.end();
    intake.begin();
    intake.push(Buffer.concat([head(), stamped(0n, 50), stamped(0n, 52)]));
    expect(intake.drops).toEqual({ driver: 5 });
  });

  test("of memory: a live command continues, a recording waits in front of the frame", () => {
    const bytes = Buffer.concat([head(), ...Array.from({ length: FRAMES + 2 }, () => frame())]);
    const live = bench({}, false);
    expect(live.intake.push(bytes)).toBe(bytes.length);
    expect([live.frames.length, live.intake.drops]).toEqual([FRAMES, { noFreeBuffer: 2 }]);
    live.frames[0]!.giveBack();
    live.intake.push(frame());
    // The lost ones have been counted.
    expect(live.frames[FRAMES]!.images[0]!.sequence).toBe(FRAMES + 2);
    const recording = bench({ live: false }, false);
    const taken = recording.intake.push(bytes);
    expect([taken, recording.frames.length]).toEqual([
      head().length + FRAMES * frame().length + "FRAME\n".length,
      FRAMES,
    ]);
    recording.frames[0]!.giveBack();
    recording.intake.push(bytes.subarray(taken));
    expect(recording.frames.at(-1)!.images[0]!.sequence).toBe(FRAMES);
    expect(recording.intake.drops).toEqual({});
  });

  test("at an end within a frame: it is cut, and its memory is used again", () => {
    const { intake, frames } = bench();
    for (let round = 0; round < FRAMES + 2; round++) {
      intake.push(Buffer.concat([head(), frame().subarray(0, 20)]));
      intake.end();
      intake.end();
      intake.begin();
    }
    expect(intake.drops).toEqual({ cut: FRAMES + 2 });
    intake.push(Buffer.concat([head(), frame()]));
    expect(frames).toHaveLength(1);
  });

  test("a helper's frame with impossible disparities fails, and its memory is used again", () => {
    const { intake } = bench({ withDisparity: true });
    const start = `DEPTHWATT-PAIRS W${WIDTH} H${HEIGHT} F30:1\n`;
    const bad = Buffer.concat([Buffer.from(`${start}FRAME\n`), Buffer.alloc(5 * PIXELS, 0x80)]);
    for (let round = 1; round <= FRAMES + 2; round++) {
      intake.begin();
      expect(() => intake.push(bad)).toThrow(/disparities of 0 to 2047 px/);
      expect(intake.drops).toEqual({ garbage: round });
      intake.end();
    }
  });
});

test.each([
  [`YUV4MPEG2 W32 H${HEIGHT} Cmono\n`, /^expected it to come back with GREY 16x16, got GREY 32x16$/],
  [`YUV4MPEG2 W${WIDTH} H32 Cmono\n`, /got GREY 16x32$/],
  [`YUV4MPEG2 W${WIDTH} H${HEIGHT} Cmono16\n`, /got Y16 16x16$/],
])("a command that comes back as %j cannot be used", (line, message) => {
  const { intake } = bench();
  intake.push(Buffer.concat([head(), frame()]));
  intake.end();
  intake.begin();
  expect(() => intake.push(Buffer.from(line))).toThrow(
    expect.objectContaining({ code: "DEVICE_UNSUITABLE", message: expect.stringMatching(message) }),
  );
  expect(intake.drops).toEqual({});
});

test("raw frames have their layout and rate at once, and keep them over starts", () => {
  const { intake, frames } = bench({ layout: rawLayout("I420", WIDTH, HEIGHT), rateHz: 50 });
  expect([intake.layout.skipBytes, intake.period.periodNs]).toEqual([PIXELS / 2, 2e7]);
  const { period } = intake;
  intake.push(Buffer.alloc(PIXELS + PIXELS / 2, 3));
  intake.begin();
  expect(intake.period).toBe(period);
  expect(Buffer.from(frames[0]!.data)).toEqual(Buffer.alloc(PIXELS, 3));
});

test("the period of frames is that of their times, whether stated or not", () => {
  const { intake } = bench();
  intake.push(head("F0:0"));
  expect(intake.period.periodNs).toBeUndefined();
  intake.push(Buffer.concat([stamped(21_000_000n, 1), stamped(14_000_000n, 2), stamped(7_000_000n, 3)]));
  expect(intake.period.periodNs).toBe(7e6);
});

test("frames in a helper's memory are read at their lines, those that were overwritten are lost", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-intake-"));
  const path = join(folder, "ring");
  const [slots, slotBytes, offset] = [2, 512, 64];
  /** Writes a ring (docs/reference/shared-memory.md) whose slots hold these frames. */
  const write = (...numbers: number[]) => {
    const bytes = Buffer.alloc(4096 + slots * slotBytes);
    bytes.write("DWRG\u0001", "latin1");
    bytes.writeUInt32LE(slots, 8);
    bytes.writeBigUInt64LE(BigInt(slotBytes), 16);
    for (const number of numbers) {
      const at = 4096 + ((number - 1) % slots) * slotBytes;
      bytes.writeBigUInt64LE(2n * BigInt(number), at);
      bytes.writeUInt32LE(offset, at + 16);
      bytes.writeUInt32LE(PIXELS, at + 20);
      bytes.fill(number, at + offset, at + offset + PIXELS);
    }
    writeFileSync(path, bytes);
  };
  const isOpen = () =>
    readdirSync("/proc/self/fd").some((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`) === path;
      } catch {
        return false;
      }
    });
  const at = (number: number) => Buffer.from(`FRAME XFRAME=${number} XSEQ=${10 * number}\n`);
  try {
    write(1, 2);
    const { intake, frames } = bench({}, false);
    intake.push(head(`F25:1 XMEMORY=${path}`));
    expect(isOpen()).toBe(true);
    intake.push(Buffer.concat([at(1), at(2)]));
    const seen = frames.map(({ data, images }) => [images[0]!.sequence, [...new Set(data)]]);
    expect(seen).toEqual([
      [10, [1]],
      [20, [2]],
    ]);
    expect(intake.drops).toEqual({ driver: 9 });
    for (const one of frames.splice(0)) one.giveBack();
    write(3, 4);
    // The memory of a frame that is lost is used again, and the helper's next frames are read.
    for (let round = 0; round < FRAMES; round++) intake.push(at(2));
    intake.push(Buffer.concat([at(3), at(4)]));
    expect(intake.drops).toMatchObject({ overwritten: FRAMES });
    expect(frames.map(({ data }) => data[0])).toEqual([3, 4]);
    for (let round = 0; round < FRAMES; round++) intake.push(at(4));
    expect(intake.drops).toMatchObject({ noFreeBuffer: 2 });
    intake.end();
    expect([isOpen(), intake.drops.cut]).toEqual([false, undefined]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a recording cannot be in shared memory", () => {
  const line = head("F25:1 XMEMORY=/proc/1/fd/3");
  expect(() => bench({ live: false }).intake.push(line)).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID" }),
  );
});

describe("images of a frame", () => {
  const images = (layout: ReturnType<typeof rawLayout>, sideBySide: boolean) => {
    const taken = new FramePool(layout, sideBySide).take()!;
    return taken.images.map(({ data, width, height, strideBytes, format }) => [
      data.byteOffset - taken.data.byteOffset,
      width,
      height,
      strideBytes,
      format,
    ]);
  };

  test("are one, its two halves, or a grey image and its disparities", () => {
    expect(images(rawLayout("YUYV", 32, 16), false)).toEqual([[0, 32, 16, 64, "YUYV"]]);
    expect(images(rawLayout("YUYV", 32, 16), true)).toEqual([
      [0, 16, 16, 64, "YUYV"],
      [32, 16, 16, 64, "YUYV"],
    ]);
    const layout = PAIRS.layout("DEPTHWATT-PAIRS W16 H20");
    expect(images(layout, true)).toEqual([
      [0, 16, 20, 16, "GREY"],
      [320, 16, 20, 16, "GREY_DISPARITY"],
    ]);
  });

  test("are given back with their pair, once, and carry the stated moment", () => {
    const layout = rawLayout("GREY", 16, 16);
    const [leftPool, rightPool] = [new FramePool(layout, false), new FramePool(layout, false)];
    const [left, right] = [leftPool.take()!, rightPool.take()!];
    left.stamp(5n, 6, true);
    right.stamp(7n, 8, false);
    let released = 0;
    const pair = left.pair.hold(right, "monotonic", () => released++);
    expect([pair.left.timestampNs, pair.left.sequence, pair.right.timestampNs, pair.right.sequence]).toEqual([
      5n,
      6,
      7n,
      8,
    ]);
    expect([pair.clock, pair.timestampPoint]).toEqual(["monotonic", "startOfExposure"]);
    pair.release();
    expect([released, leftPool.take(), rightPool.take()]).toEqual([1, left, right]);
    expect(() => pair.release()).toThrow(/released twice/);
    const both = new FramePool(rawLayout("GREY", 32, 16), true).take()!;
    both.stamp(9n, 1, false);
    const halves = both.pair.hold(both, "file", () => {});
    expect([halves.left, halves.right]).toEqual([both.images[0], both.images[1]]);
    expect([halves.clock, halves.timestampPoint]).toEqual(["file", undefined]);
    halves.release();
  });
});

describe("layouts", () => {
  test.each([
    ["GREY", 17, [17, 51, 0, "GREY"]],
    ["NV12", 17, [17, 51, 36, "GREY"]],
    ["I420", 18, [18, 54, 36, "GREY"]],
    ["UYVY", 18, [36, 108, 0, "UYVY"]],
    ["RGB8", 18, [54, 162, 0, "RGB8"]],
    ["Y10P", 18, [25, 75, 0, "Y10P"]],
    ["Y10P", 20, [25, 75, 0, "Y10P"]],
    ["Y12P", 17, [27, 81, 0, "Y12P"]],
  ] as const)("%s, %i wide", (name, width, expected) => {
    const { strideBytes, imageBytes, skipBytes, format } = rawLayout(name, width, 3);
    expect([strideBytes, imageBytes, skipBytes, format]).toEqual(expected);
  });

  test("NV12 keeps its colours where they are read and the width is even", () => {
    const parts = (width: number) => {
      const { format, imageBytes, skipBytes, strideBytes } = rawLayout("NV12", width, 3, true);
      return [format, strideBytes, imageBytes, skipBytes];
    };
    expect(parts(18)).toEqual(["NV12", 18, 90, 0]);
    expect(parts(17)).toEqual(["GREY", 17, 51, 36]);
    expect(rawLayout("GREY", 18, 3, true).format).toBe("GREY");
  });

  test.each([
    ["GREY", 34, 17],
    ["GREY", 33, undefined],
    ["Y16", 34, 17],
    ["YUYV", 36, 18],
    ["YUYV", 34, undefined],
    ["UYVY", 34, undefined],
    ["Y12P", 36, 18],
    ["Y12P", 34, undefined],
    ["Y10P", 40, 20],
    ["Y10P", 36, undefined],
    ["BAYER_RGGB10P", 36, undefined],
    ["BAYER_RGGB", 34, undefined],
  ] as const)("half of %s with %i pixels is %s", (name, width, half) => {
    const layout = { width, format: name } as unknown as ReturnType<typeof rawLayout>;
    expect(widthOfOne(layout, false)).toBe(width);
    if (half !== undefined) expect(widthOfOne(layout, true)).toBe(half);
    else
      expect(() => widthOfOne(layout, true)).toThrow(expect.objectContaining({ code: "DEVICE_UNSUITABLE" }));
  });

  test("a pair with disparities is not halved", () => {
    expect(widthOfOne(PAIRS.layout("DEPTHWATT-PAIRS W17 H16"), true)).toBe(17);
  });

  test.each([
    ["W16 H16384", { width: 16, height: 16_384, strideBytes: 16, imageBytes: 5 * 16 * 16_384 }],
    ["W15 H16", undefined],
    ["W16 H16385", undefined],
    ["W16", undefined],
    ["W016x H16", undefined],
  ])("a helper's %s", (tags, layout) => {
    const read = () => PAIRS.layout(`DEPTHWATT-PAIRS ${tags} F30:2`);
    if (layout === undefined) expect(read).toThrow(expect.objectContaining({ code: "DEVICE_UNSUITABLE" }));
    else expect(read()).toEqual({ ...layout, format: "GREY_DISPARITY", rateHz: 15, skipBytes: 0 });
  });

  test.each([
    ["W16 H32768", true],
    ["W15 H32768", false],
    ["W16 H32769", false],
  ])("a stream's %s is possible: %s", (tags, possible) => {
    const read = () => y4mLayout(`YUV4MPEG2 ${tags}`);
    if (possible) expect(read()).toMatchObject({ width: 16, height: 32_768 });
    else expect(read).toThrow(expect.objectContaining({ code: "DEVICE_UNSUITABLE" }));
  });
});

describe("words of a line", () => {
  test("are known by their first letter, without those of other programs", () => {
    expect([...tagsOf("YUV4MPEG2 W64  H48 XYSCSS=420 F30:1 A1:1")]).toEqual([
      ["W", "64"],
      ["H", "48"],
      ["F", "30:1"],
      ["A", "1:1"],
    ]);
    expect(
      ["30000:1001", "25", "0:1", "1:0", "-5:1", "x:y", undefined].map((text) => rateFrom(text)),
    ).toEqual([30_000 / 1001, ...Array(6).fill(undefined)]);
  });

  test.each([
    ["YUV4MPEG2 W1 XCLOCK=monotonic XMEMORY=/dev/shm/a", "/dev/shm/a"],
    ["YUV4MPEG2 W1 XCLOCK=monotonic", undefined],
    ["YUV4MPEG2 W1", undefined],
  ])("%s names the memory %s", (line, path) => {
    expect(memoryPathIn(line)).toBe(path);
  });

  test.each(["XCLOCK=realtime", "XMEMORY=dev/shm/a", "XMEMORY=", "XCLOCK="])("%s is refused", (word) => {
    expect(() => memoryPathIn(`YUV4MPEG2 W1 ${word}`)).toThrow(
      expect.objectContaining({ code: "DEVICE_UNSUITABLE" }),
    );
  });

  test.each([
    ["XFRAME=1", { frame: 1 }],
    ["XFRAME=999999999999999", { frame: 999_999_999_999_999 }],
    ["XFRAME=0", undefined],
    ["XFRAME=1000000000000000", undefined],
    ["XSEQ=4294967295", { sequence: 2 ** 32 - 1 }],
    ["XSEQ=4294967296", undefined],
    ["XSEQ=00000000001", undefined],
  ])("FRAME %s", (word, expected) => {
    const read = () => y4mStamp(`FRAME ${word}`);
    if (expected === undefined) expect(read).toThrow(expect.objectContaining({ code: "COMMAND_FAILED" }));
    else expect(read()).toEqual({ timestampNs: undefined, sequence: undefined, ...expected });
  });
});

test.each([
  [-32_768, 0, true],
  [-1, 0, false],
  [0, 0, true],
  [16 * 2047, 0, true],
  [16 * 2047 + 1, 0, false],
  [-1, 61, false],
  [-1, 60, true],
  [-1, 244, false],
])("a disparity of %i at pixel %i is possible or not looked at: %s", (found, at, good) => {
  const bytes = new Uint8Array(5 * PIXELS);
  new Int16Array(bytes.buffer, 2 * PIXELS, PIXELS)[at] = found;
  const check = () => checkDisparities(bytes);
  if (good) check();
  else expect(check).toThrow(expect.objectContaining({ code: "COMMAND_FAILED", context: { found } }));
});
