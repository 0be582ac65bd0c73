// SPDX-License-Identifier: Apache-2.0
// Frames of a helper in shared memory: a C program that follows the rules, and the same one when it breaks them.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { SharedFrames } from "../../../../camera/command/shared-frames.js";
import {
  type CommandSettings,
  openCommandSource,
  openForeignSource,
  type PairSource,
} from "../../../../camera/index.js";
import { until } from "../../../doubles/frames.js";
import { needs } from "../../../doubles/needs.js";

const [RING_BYTES, SLOT_BYTES, SLOTS, FRAME_BYTES, OFFSET] = [4096, 1024, 3, 600, 64];
let folder: string;
let helper: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-shared-frames-"));
  helper = join(folder, "shared_helper");
});
afterAll(() => rmSync(folder, { recursive: true }));

const opened: PairSource[] = [];
const files: SharedFrames[] = [];
afterEach(async () => {
  for (const source of opened.splice(0)) await source.stop();
  for (const file of files.splice(0)) file.close();
});

/** A ring in which frame 1 to `last` were written, as bytes. */
function ring(last: number): Buffer {
  const bytes = Buffer.alloc(RING_BYTES + SLOTS * SLOT_BYTES);
  bytes.write("DWRG\u0001", "latin1");
  bytes.writeUInt32LE(SLOTS, 8);
  bytes.writeBigUInt64LE(BigInt(SLOT_BYTES), 16);
  for (let number = 1; number <= last; number++) {
    const slot = RING_BYTES + ((number - 1) % SLOTS) * SLOT_BYTES;
    bytes.writeBigUInt64LE(2n * BigInt(number), slot);
    bytes.writeUInt32LE(OFFSET, slot + 16);
    bytes.writeUInt32LE(FRAME_BYTES, slot + 20);
    bytes.fill(number, slot + OFFSET, slot + OFFSET + FRAME_BYTES);
  }
  return bytes;
}

function open(bytes: Buffer, name = "ring"): SharedFrames {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  const frames = new SharedFrames(path, FRAME_BYTES);
  files.push(frames);
  return frames;
}

test("a frame is read whole or in part; one that was overwritten is false", () => {
  const frames = open(ring(5));
  const target = new Uint8Array(500);
  for (const number of [3, 4, 5]) {
    expect(frames.read(number, target)).toBe(true);
    expect([...new Set(target)]).toEqual([number]);
  }
  for (const number of [1, 2]) expect(frames.read(number, target)).toBe(false);
});

test("a frame that is being overwritten is false", () => {
  const bytes = ring(3);
  // Frame 4 is being written over frame 1.
  bytes.writeBigUInt64LE(9n, RING_BYTES);
  bytes.writeUInt32LE(0xffffffff, RING_BYTES + 20);
  expect(open(bytes).read(1, new Uint8Array(500))).toBe(false);
});

test("a frame that is overwritten while it is read is false", () => {
  const [frames, bytes] = [open(ring(3)), ring(3)];
  bytes.writeBigUInt64LE(9n, RING_BYTES);
  const target = new Uint8Array(500);
  // The helper begins frame 4 between the check before the copy and the copy.
  Object.defineProperty(target, "length", {
    get: () => {
      writeFileSync(join(folder, "ring"), bytes);
      return 500;
    },
  });
  expect(frames.read(1, target)).toBe(false);
});

test("a frame whose header is overwritten while it is read is false", () => {
  const torn = ring(3).fill(255, RING_BYTES + 16, RING_BYTES + 24);
  const frames = open(torn);
  // The helper writes the place and the size of frame 4, then its number.
  const read = vi.spyOn(Buffer.prototype, "readUInt32LE").mockImplementationOnce(() => {
    torn.writeBigUInt64LE(9n, RING_BYTES);
    writeFileSync(join(folder, "ring"), torn);
    return 0xffffffff;
  });
  expect(frames.read(1, new Uint8Array(500))).toBe(false);
  expect(read).toHaveBeenCalled();
  read.mockRestore();
});

test.each<[string, (bytes: Buffer) => Buffer, RegExp]>([
  ["another magic", (bytes) => bytes.fill("X", 0, 4), /ring of frames of version 1/],
  ["another version", (bytes) => bytes.fill(2, 4, 5), /ring of frames of version 1/],
  ["one slot", (bytes) => bytes.fill(1, 8, 9), /expected 2 to 64 slots of at least 624 bytes/],
  ["too many slots", (bytes) => bytes.fill(65, 8, 9), /expected 2 to 64 slots/],
  ["slots beyond the memory", (bytes) => bytes.fill(4, 8, 9), /found 4 of 1024 in 7168 bytes/],
  ["slots smaller than a frame", (bytes) => bytes.fill(1, 17, 18).fill(0, 16, 17), /found 3 of 256/],
  ["slots of 2^64 - 1 bytes", (bytes) => bytes.fill(255, 16, 24), /found 3 of 18446744073709551615/],
  ["less than a header", (bytes) => bytes.subarray(0, 20), /has become smaller/],
  ["nothing", () => Buffer.alloc(0), /has become smaller/],
])("memory with %s is refused", (_, change, message) => {
  expect(() => open(change(ring(1)))).toThrow(
    expect.objectContaining({ code: "COMMAND_FAILED", message: expect.stringMatching(message) }),
  );
});

test.each<[string, (bytes: Buffer) => unknown, number, RegExp]>([
  ["was never written", () => {}, 5, /expected frame 5 to be complete .* found 4/],
  [
    "is not complete",
    (bytes) => bytes.writeBigUInt64LE(1n, RING_BYTES),
    1,
    /frame 1 to be complete .* found 1/,
  ],
  ["has another size", (bytes) => bytes.writeUInt32LE(599, RING_BYTES + 20), 1, /found 599 bytes at 64/],
  ["leaves its slot", (bytes) => bytes.writeUInt32LE(425, RING_BYTES + 16), 1, /found 600 bytes at 425/],
  ["begins in its header", (bytes) => bytes.writeUInt32LE(8, RING_BYTES + 16), 1, /found 600 bytes at 8/],
])("a frame that %s is an error", (_, change, number, message) => {
  const bytes = ring(3);
  change(bytes);
  const frames = open(bytes);
  expect(() => frames.read(number, new Uint8Array(500))).toThrow(
    expect.objectContaining({ code: "COMMAND_FAILED", message: expect.stringMatching(message) }),
  );
});

test("2 and 64 slots, slots just as large as a frame with its header, and frames at either end of a slot are read", () => {
  const frames = (slots: number, slotBytes: number, offset: number) => {
    const bytes = Buffer.alloc(RING_BYTES + slots * slotBytes);
    ring(1).copy(bytes, 0, 0, RING_BYTES);
    bytes.writeUInt32LE(slots, 8);
    bytes.writeBigUInt64LE(BigInt(slotBytes), 16);
    const last = RING_BYTES + (slots - 1) * slotBytes;
    bytes.writeBigUInt64LE(2n * BigInt(slots), last);
    bytes.writeUInt32LE(offset, last + 16);
    bytes.writeUInt32LE(FRAME_BYTES, last + 20);
    for (let at = 0; at < FRAME_BYTES; at++) bytes[last + offset + at] = at % 251;
    const target = new Uint8Array(FRAME_BYTES);
    expect(open(bytes).read(slots, target)).toBe(true);
    expect(target).toEqual(Uint8Array.from({ length: FRAME_BYTES }, (_, at) => at % 251));
  };
  frames(2, 624, 24);
  frames(64, 1024, 24);
  frames(3, 1024, 424);
});

test("memory is closed after use, and at once if it cannot be used", () => {
  const path = join(folder, "closed");
  const isOpen = () =>
    readdirSync("/proc/self/fd").some((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`) === path;
      } catch {
        return false;
      }
    });
  writeFileSync(path, ring(1));
  const frames = new SharedFrames(path, FRAME_BYTES);
  expect(isOpen()).toBe(true);
  frames.close();
  expect(isOpen()).toBe(false);
  writeFileSync(path, ring(1).fill("X", 0, 4));
  expect(() => new SharedFrames(path, FRAME_BYTES)).toThrow(
    `expected a ring of frames of version 1 at ${path}`,
  );
  expect(isOpen()).toBe(false);
});

test("memory that shrinks after it was opened is an error", () => {
  const frames = open(ring(1), "shrinks");
  writeFileSync(join(folder, "shrinks"), ring(1).subarray(0, RING_BYTES + 200));
  expect(() => frames.read(1, new Uint8Array(500))).toThrow(/has become smaller/);
});

test("a missing file, a folder and a pipe are refused, and a pipe blocks nothing", () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  for (const [path, message] of [
    [join(folder, "missing"), /ENOENT/],
    [folder, /found another kind/],
    [pipe, /found another kind/],
  ] as const)
    expect(() => new SharedFrames(path, FRAME_BYTES)).toThrow(message);
});

needs("toolchain").suite("a helper with frames in its memory", () => {
  const LIVE: CommandSettings = { format: "y4m", live: true, timeoutMs: 10_000 };

  beforeAll(() => {
    const source = new URL("../../../doubles/native/shared_helper.c", import.meta.url).pathname;
    execFileSync("gcc", ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", source, "-o", helper]);
  });

  async function play(mode: string, settings = LIVE) {
    const source = await openCommandSource({ ...settings, sideBySide: `${helper} ${mode}` });
    opened.push(source);
    const pairs: { values: number[]; sequence: number }[] = [];
    const states: (string | undefined)[] = [];
    source.start({
      onPair: (pair) => {
        const values = [pair.left, pair.right].flatMap(({ data, width, height, strideBytes }) =>
          Array.from({ length: height }, (_, y) => [
            ...data.subarray(y * strideBytes, y * strideBytes + width),
          ]).flat(),
        );
        pairs.push({ values: [...new Set(values)], sequence: pair.left.sequence });
        pair.release();
      },
      onDegraded: (reason) => states.push(reason),
      onEnd: () => {},
      onError: (error) => {
        throw error;
      },
    });
    return { source, pairs, states };
  }

  test("both images of each frame arrive, with the stated number", async () => {
    const { pairs, source } = await play("good");
    await until("five pairs", () => pairs.length >= 5);
    for (const { values, sequence } of pairs) expect(values).toEqual([(sequence - 100) & 255]);
    expect(source.counters().dropsLeft.garbage).toBeUndefined();
  });

  test("overwritten frames are counted and never delivered", async () => {
    const { source } = await play("overwrites");
    await until("four drops", () => source.counters().dropsLeft.overwritten === 4);
  });

  test.each([
    ["early", /expected frame 3 to be complete/],
    ["shrinks", /has become smaller/],
    ["dies", /was ended by SIGKILL/],
  ])("one that %s is reported and started again", async (mode, message) => {
    const { pairs, states } = await play(mode);
    await until("a report", () => states.some((state) => message.test(state ?? "")));
    const before = pairs.length;
    await until("more pairs", () => pairs.length > before);
    for (const { values, sequence } of pairs) expect(values).toEqual([sequence - 100]);
  });

  test.each([
    ["beyond", /expected 2 to 64 slots .* found 3 of 4096/],
    ["huge", /expected 2 to 64 slots .* found 2 of 18446744073709551608/],
  ])("one whose memory has slots %s it does not start", async (mode, message) => {
    await expect(play(mode)).rejects.toThrow(message);
  });

  test("a recording is refused, because its frames would be overwritten", async () => {
    await expect(play("good", { ...LIVE, live: false })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });

  async function playForeign(mode: string, live = true) {
    const source = await openForeignSource({ command: `${helper} ${mode}`, live, timeoutMs: 10_000 });
    opened.push(source);
    const frames: { number: number; planes: unknown[][] }[] = [];
    const states: (string | undefined)[] = [];
    source.start({
      onPair: (pair) => {
        const { left, right } = pair;
        const pixels = left.width * left.height;
        const at = (plane: number) => right.data.byteOffset + plane * pixels;
        const { buffer } = right.data;
        const planes = [
          left.data.subarray(0, pixels),
          right.data.subarray(0, pixels),
          new Int16Array(buffer, at(1), pixels),
          new Uint8Array(buffer, at(3), pixels),
        ];
        frames.push({ number: left.sequence - 100, planes: planes.map((plane) => [...new Set(plane)]) });
        pair.release();
      },
      onDegraded: (reason) => states.push(reason),
      onEnd: () => {},
      onError: (error) => {
        throw error;
      },
    });
    return { source, frames, states };
  }

  test("another engine's images, disparity and confidence arrive through its memory", async () => {
    const { source, frames } = await playForeign("pairs");
    await until("five pairs", () => frames.length >= 5);
    expect(source.description).toMatchObject({ width: 32, height: 16, rightFormat: "GREY_DISPARITY" });
    for (const { number, planes } of frames)
      expect(planes).toEqual([
        [number & 255],
        [(number + 1) & 255],
        [160 + (number & 63)],
        [(number + 2) & 255],
      ]);
    await expect(playForeign("pairs", false)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  });

  test("a wrong disparity in its memory ends the helper, which is started again", async () => {
    const { source, frames, states } = await playForeign("wrong");
    await until("the report", () =>
      states.some((state) => /expected disparities of 0 to 2047 px/.test(state ?? "")),
    );
    expect(source.counters().dropsLeft.garbage).toBe(1);
    const before = frames.length;
    await until("more pairs", () => frames.length > before);
    for (const { number, planes } of frames) expect(planes[2]).toEqual([160 + (number & 63)]);
  });

  test.each([
    ["XMEMORY=frames", "DEVICE_UNSUITABLE", /XMEMORY with an absolute path/],
    ["XCLOCK=realtime", "DEVICE_UNSUITABLE", /XCLOCK=monotonic .* got realtime/],
    ["XMEMORY=/dev/null", "COMMAND_FAILED", /found another kind/],
  ])("a first line with %s is refused", async (word, code, message) => {
    const script = `printf 'YUV4MPEG2 W32 H16 Cmono ${word}\\nFRAME\\n'; sleep 9`;
    const opening = openCommandSource({ ...LIVE, shell: true, sideBySide: script });
    await expect(opening).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  test("a frame without XFRAME in a stream with memory, and the reverse, are garbage", async () => {
    const path = join(folder, "mixed");
    const bytes = ring(1);
    writeFileSync(path, bytes);
    for (const [word, line, message] of [
      [` XMEMORY=${path}`, "FRAME XSEQ=1", /expected XFRAME in the FRAME lines of a stream with XMEMORY/],
      ["", "FRAME XFRAME=1", /expected no XFRAME in the FRAME lines of a stream without XMEMORY/],
      [` XMEMORY=${path}`, "FRAME XFRAME=0", /expected XFRAME from 1/],
    ] as const) {
      const script = `printf 'YUV4MPEG2 W30 H20 Cmono${word}\\n${line}\\n'; sleep 9`;
      const opening = openCommandSource({ ...LIVE, shell: true, sideBySide: script });
      await expect(opening).rejects.toThrow(message);
    }
  });

  test("the helper is clean under the sanitizers", () => {
    const source = new URL("../../../doubles/native/shared_helper.c", import.meta.url).pathname;
    const program = `${helper}_checked`;
    execFileSync("gcc", ["-std=c11", "-fsanitize=address,undefined", "-g", source, "-o", program]);
    const { stdout, stderr, signal } = spawnSync(program, ["dies"], { encoding: "latin1" });
    expect(signal).toBe("SIGKILL");
    expect(stderr).toBe("");
    expect(stdout.match(/FRAME /g)).toHaveLength(2);
  });
});
