// SPDX-License-Identifier: Apache-2.0
// Tests a recording against a bad disk: full, faulty, cut off from power. Flushed data can be read, and losses are
// counted.
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { rectify, sceneCalibration, stringifyCalibration } from "../../../camera/index.js";
import type { FrameLease, OutputContext } from "../../../edge/contracts/output.js";
import { loadZstd } from "../../../edge/mcap/compression.js";
import { openRecording } from "../../../edge/mcap/recording.js";
import { type RecordingDisk, realDisk } from "../../../edge/mcap/recording-file.js";
import { scanRecording } from "../../../edge/mcap/scan.js";
import { METRICS, STATE } from "../../../edge/mcap/schemas.js";
import { frameChannels } from "../../../edge/outputs/mcap/channels.js";
import { openMcapOutput } from "../../../edge/outputs/mcap/mcap-output.js";
import {
  Recorder,
  type RecorderOptions,
  type RecorderSurroundings,
  realSurroundings,
} from "../../../edge/outputs/mcap/recorder.js";
import { recordingName } from "../../../edge/outputs/mcap/recording-name.js";
import { until } from "../../doubles/frames.js";
import { Random } from "../../doubles/random.js";
import { readRosImage } from "../../doubles/ros-reader.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-recorder-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const zstd = await loadZstd();

/** A recorder whose clock, disk and free space the test holds in its hands. */
function start(changes: Partial<RecorderOptions> = {}, disk: RecordingDisk = realDisk) {
  const clock = { ms: 1000 };
  const space = { free: 50, total: 100 };
  const reported = {
    written: 0,
    bytes: 0,
    lost: {} as Record<string, number>,
    problems: [] as (string | undefined)[],
    files: [] as string[],
    notices: [] as string[],
  };
  const around: RecorderSurroundings = {
    disk,
    free() {
      if (space.total === 0) throw new Error("ENOSYS");
      return space;
    },
    now: () => ({ ms: clock.ms, date: new Date(clock.ms) }),
  };
  const file = join(folder, "out.mcap");
  const recorder = new Recorder(
    { file, flushMs: 500, rotateBytes: 0, rotateSeconds: 0, keepFreePercent: 10, ...changes },
    {
      channels: [
        { topic: "/frames", schema: METRICS },
        { topic: "/state", schema: STATE },
      ],
      attachments: [],
    },
    zstd,
    {
      onWritten: (frames, bytes) => {
        reported.written += frames;
        reported.bytes += bytes;
      },
      onLost: (frames, cause) => (reported.lost[cause] = (reported.lost[cause] ?? 0) + frames),
      onProblem: (problem) => reported.problems.push(problem),
      onFile: (path) => reported.files.push(path),
      onNotice: (text) => reported.notices.push(text),
    },
    around,
  );
  let number = 0;
  const random = new Random(5);
  const frame = (bytes = 100) => {
    // Noise: it takes as much room packed as it does plain.
    const noise = Uint32Array.from({ length: Math.ceil(bytes / 4) }, () => random.whole(0, 2 ** 32 - 1));
    const data = new Uint8Array(noise.buffer, 0, bytes);
    const part = { channel: 0, data, publishNs: BigInt(number), sequence: number };
    recorder.frame([part], BigInt(Math.round(clock.ms)) * 1_000_000n);
    return number++;
  };
  return { recorder, clock, space, reported, frame, file };
}

async function framesIn(
  file: string,
): Promise<{ frames: number[]; index: string | undefined; bytes: number }> {
  const recording = await openRecording(file);
  try {
    const frames: number[] = [];
    const channel = [...recording.channels.values()].find(({ topic }) => topic === "/frames");
    for await (const message of recording.messages({ channels: new Set([channel?.id ?? -1]) }))
      frames.push(message.sequence);
    return { frames, index: recording.loss.index, bytes: recording.loss.bytes };
  } finally {
    await recording.close();
  }
}

test("frames come back in order, with the index and without loss", async () => {
  const { recorder, frame, file, reported } = start();
  for (let i = 0; i < 10; i++) frame();
  recorder.end();
  expect(await framesIn(file)).toEqual({
    frames: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    index: undefined,
    bytes: 0,
  });
  expect(reported).toMatchObject({ written: 10, lost: {}, files: [file] });
});

test("what waits is flushed when it is flushMs old, or 4 MiB large", () => {
  const { recorder, frame, clock, reported } = start();
  expect(recorder.dueInMs).toBeUndefined();
  frame();
  expect(recorder.dueInMs).toBe(500);
  clock.ms += 499;
  frame();
  expect(reported.written).toBe(0);
  clock.ms += 1;
  frame();
  expect(reported.written).toBe(3);
  recorder.frame([{ channel: 0, data: new Uint8Array(5 << 20), publishNs: 0n, sequence: 0 }], 0n);
  expect(reported.written).toBe(4);
  // Without a limit of size or time all of it is one file.
  clock.ms += 3_600_000;
  frame();
  recorder.flush();
  expect(reported).toMatchObject({ written: 5, files: [expect.any(String)] });
});

/** A disk that remembers, of each file, what was synced: that is what a power cut leaves. */
function watchedDisk() {
  const files = new Map<number, { path: string; synced: number }>();
  const disk: RecordingDisk = {
    ...realDisk,
    open(path) {
      const file = realDisk.open(path);
      files.set(file, { path, synced: 0 });
      return file;
    },
    sync(file) {
      realDisk.sync(file);
      const known = files.get(file)!;
      known.synced = statSync(known.path).size;
    },
  };
  return { disk, synced: () => [...files.values()] };
}

test("a power cut costs no more than what came since the last flush, at most 0.5 s", async () => {
  const { disk, synced } = watchedDisk();
  const { frame, clock, file, recorder } = start({}, disk);
  const taken: number[] = [];
  for (let at = 0; at < 100; at++) {
    // As the thread's timer would do.
    if (recorder.dueInMs === 0) recorder.flush();
    frame(2000);
    taken.push(clock.ms);
    clock.ms += 33;
    const [kept] = synced();
    if (kept === undefined || kept.synced === 0) continue;
    const { frames } = await afterPowerCut(file, kept.synced);
    const lost = taken.slice(frames.length);
    expect(clock.ms - (lost[0] ?? clock.ms)).toBeLessThanOrEqual(533);
  }
});

async function afterPowerCut(file: string, bytes: number) {
  const { copyFileSync, truncateSync } = await import("node:fs");
  const copy = `${file}.cut`;
  copyFileSync(file, copy);
  truncateSync(copy, bytes);
  return framesIn(copy);
}

test("a full disk: the chunk is counted as lost, the file stays whole, and it continues when there is room", async () => {
  let room = 30_000;
  const disk: RecordingDisk = {
    ...realDisk,
    write(file, bytes, position) {
      const part = Math.min(bytes.length, room);
      if (part === 0) throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
      room -= part;
      return realDisk.write(file, bytes.subarray(0, part), position);
    },
  };
  const { recorder, frame, reported, file } = start({}, disk);
  for (let i = 0; i < 10; i++) frame(2000);
  recorder.flush();
  for (let i = 0; i < 10; i++) frame(2000);
  recorder.flush(); // half of it fits
  expect(reported.lost).toEqual({ diskFull: 10 });
  expect(reported.problems.at(-1)).toMatch(/cannot write to .*out\.mcap: ENOSPC/);
  const whole = await framesIn(file);
  expect(whole.frames).toHaveLength(10);
  expect(whole.bytes).toBe(0);
  room = 1e9;
  for (let i = 0; i < 10; i++) frame(2000);
  recorder.end();
  expect(reported.problems.at(-1)).toBeUndefined();
  const { frames, index } = await framesIn(file);
  expect(index).toBeUndefined();
  expect(frames).toEqual([
    ...Array.from({ length: 10 }, (_, i) => i),
    ...Array.from({ length: 10 }, (_, i) => 20 + i),
  ]);
});

test.each([
  ["ENOSPC", "diskFull"],
  ["EDQUOT", "diskFull"],
  ["EFBIG", "writeFailed"],
])("frames that a disk refuses with %s are lost as %s", (code, cause) => {
  const refuse = () => {
    throw Object.assign(new Error(`${code}: refused`), { code });
  };
  const { recorder, frame, reported } = start({}, { ...realDisk, write: refuse });
  frame();
  recorder.flush();
  expect(reported.lost).toEqual({ [cause]: 1 });
});

test("a disk that has room for documents alone still has its problem", () => {
  const disk: RecordingDisk = {
    ...realDisk,
    write(file, bytes, position) {
      if (bytes.length > 1000) throw Object.assign(new Error("EFBIG: file too large"), { code: "EFBIG" });
      return realDisk.write(file, bytes, position);
    },
  };
  const { recorder, frame, reported } = start({}, disk);
  frame(5000);
  recorder.flush();
  recorder.document({ channel: 0, data: Buffer.from("{}"), publishNs: 0n, sequence: 0 }, 0n);
  recorder.flush();
  expect(reported.lost).toEqual({ writeFailed: 1 });
  expect(reported.problems.at(-1)).toMatch(/cannot write to .*: EFBIG/);
  frame(10);
  recorder.flush();
  expect(reported.problems.at(-1)).toBeUndefined();
});

test("a disk that fails in any of its calls costs counted frames, never an exception", async () => {
  for (const call of ["open", "write", "sync"] as const) {
    let broken = true;
    const disk = { ...realDisk } as Record<string, unknown> as unknown as RecordingDisk;
    const fault = (...words: unknown[]) => {
      if (broken) throw Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
      return (realDisk[call] as (...all: unknown[]) => unknown)(...words);
    };
    Object.assign(disk, { [call]: fault });
    const { recorder, frame, reported } = start({ file: join(folder, `${call}.mcap`) }, disk);
    frame();
    recorder.flush();
    expect(reported.lost, call).toEqual({ writeFailed: 1 });
    expect(reported.problems.at(-1)).toMatch(/EIO/);
    broken = false;
    frame();
    recorder.end();
    expect(reported.written, call).toBe(1);
    expect(reported.problems.at(-1)).toBeUndefined();
    const recorded = await framesIn(reported.files.at(-1)!);
    expect(recorded.frames).toEqual([1]);
  }
});

test.each([
  ["the file's first bytes", 0],
  ["its calibration", 1],
])("a disk that has no room for %s gets no empty file for each frame, and no file stays open", (_, room) => {
  let full = true;
  const open = new Map<number, number>();
  const disk: RecordingDisk = {
    ...realDisk,
    open(path) {
      const file = realDisk.open(path);
      open.set(file, 0);
      return file;
    },
    close(file) {
      open.delete(file);
      realDisk.close(file);
    },
    write(file, bytes, position) {
      const written = open.get(file)!;
      if (full && written >= room) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
      open.set(file, written + 1);
      return realDisk.write(file, bytes, position);
    },
  };
  const { recorder, frame, reported } = start({}, disk);
  const data = new TextEncoder().encode("{}");
  recorder.head = {
    ...recorder.head,
    attachments: [{ name: "calibration.json", mediaType: "application/json", data }],
  };
  for (let i = 0; i < 5; i++) frame();
  expect(reported.lost).toEqual({ diskFull: 5 });
  expect({ open: open.size, files: readdirSync(folder) }).toEqual({ open: 0, files: [] });
  full = false;
  frame();
  recorder.end();
  expect(reported.written).toBe(1);
  expect({ open: open.size, files: readdirSync(folder) }).toEqual({ open: 0, files: ["out.mcap"] });
});

test("an index that cannot be written is reported, and the file is read without it", async () => {
  let writes = 0;
  const disk: RecordingDisk = {
    ...realDisk,
    write(file, bytes, position) {
      if (++writes > 2) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
      return realDisk.write(file, bytes, position);
    },
  };
  const { recorder, frame, reported, file } = start({}, disk);
  frame();
  recorder.end();
  expect(reported.notices).toEqual([expect.stringMatching(/has no index, but can be read/)]);
  expect(reported.problems.at(-1)).toBeUndefined();
  expect((await framesIn(file)).frames).toEqual([0]);
});

test("recording leaves the disk its share, and continues when there is more", () => {
  const { recorder, frame, space, clock, reported } = start();
  frame();
  space.free = 9;
  clock.ms += 600;
  frame();
  expect(reported).toMatchObject({ written: 1, lost: { diskReserve: 1 } });
  expect(reported.problems.at(-1)).toMatch(/9\.0 % of the disk .* is free, and 10 % is to be kept/);
  space.free = 11;
  frame(); // it looks again half a second later
  clock.ms += 600;
  frame();
  recorder.end();
  expect(reported).toMatchObject({ written: 2, lost: { diskReserve: 2 } });
  expect(reported.problems.at(-1)).toBeUndefined();
});

test("rotation by size and by time: every file is whole and begins with the newest state", async () => {
  const bySize = start({ rotateBytes: 100_000 });
  const state = {
    channel: 1,
    data: new TextEncoder().encode('{"state":"online"}'),
    publishNs: 0n,
    sequence: 0,
  };
  bySize.recorder.begins(state);
  for (let i = 0; i < 40; i++) {
    bySize.frame(10_000);
    bySize.clock.ms += 100;
  }
  bySize.recorder.end();
  expect(bySize.reported.files.length).toBeGreaterThanOrEqual(3);
  expect(bySize.reported.files[0]).toMatch(/out-0001\.mcap$/);
  const all: number[] = [];
  for (const file of bySize.reported.files) {
    const recording = await openRecording(file);
    expect([...recording.channels.values()].map(({ topic }) => topic).sort()).toEqual(["/frames", "/state"]);
    await recording.close();
    all.push(...(await framesIn(file)).frames);
  }
  expect(all).toEqual(Array.from({ length: 40 }, (_, i) => i));

  const byTime = start({ rotateSeconds: 2, file: join(folder, "time.mcap") });
  for (let i = 0; i < 50; i++) {
    byTime.frame();
    byTime.clock.ms += 100;
  }
  byTime.recorder.end();
  expect(byTime.reported.files).toHaveLength(3);
});

test("the share that the disk keeps, at its border and between two looks at it", () => {
  const { recorder, frame, space, clock, reported } = start();
  const at = (ms: number, free: number) => {
    clock.ms = ms;
    space.free = free;
    frame();
    return [reported.lost.diskReserve ?? 0, reported.written];
  };
  // 10 % are enough, and for half a second it is not looked at again.
  expect(at(1000, 10)).toEqual([0, 0]);
  expect(at(1499, 9)).toEqual([0, 0]);
  expect(at(1500, 9.96)).toEqual([1, 2]);
  const problem = `10.0 % of the disk of ${folder} is free, and 10 % is to be kept: nothing is recorded until there is more`;
  expect(reported.problems).toEqual([undefined, problem]);
  recorder.document({ channel: 1, data: Buffer.from("{}"), publishNs: 0n, sequence: 0 }, 0n);
  expect(recorder.dueInMs).toBeUndefined();
  expect(at(1999, 10)).toEqual([2, 2]);
  expect(at(2000, 10)).toEqual([2, 2]);
  expect(reported.problems.slice(2)).toEqual([undefined]);
  recorder.end();
  expect([reported.written, reported.files.length]).toEqual([3, 1]);
  const all = start({ keepFreePercent: 0, file: join(folder, "all.mcap") });
  all.space.free = 0;
  all.frame();
  all.recorder.end();
  expect(all.reported).toMatchObject({ written: 1, lost: {} });
  const { free, total } = realSurroundings.free(folder);
  // A block has 512 bytes or a multiple of it.
  expect([free <= total, total > 1e6, free % 512, total % 512]).toEqual([true, true, 0, 0]);
});

test("a file ends when it is as old or as large as it may be, and parts are numbered from 1", () => {
  const names = (files: string[]) => files.map((file) => file.slice(folder.length + 1));
  const old = start({ rotateSeconds: 2, file: join(folder, "old.mcap") });
  for (const ms of [1000, 2999, 3000, 4999, 5000]) {
    old.clock.ms = ms;
    old.frame();
    old.recorder.flush();
  }
  // The second file begins at 4999.
  expect(names(old.reported.files)).toEqual(["old-0001.mcap", "old-0002.mcap"]);
  old.recorder.end();
  // Files whose first chunk holds the same bytes, and how many files two chunks are.
  const files = (rotateBytes: number) => {
    const { recorder, frame, reported } = start({ file: join(folder, `${rotateBytes}.mcap`), rotateBytes });
    frame(0);
    recorder.flush();
    const { size } = statSync(reported.files[0]!);
    frame(0);
    recorder.end();
    return { size, names: names(reported.files) };
  };
  const whole = files(1e9);
  expect(whole.names).toEqual(["1000000000-0001.mcap"]);
  // The end of a file has its index.
  const { size: ended } = files(1);
  expect(ended).toBeGreaterThan(whole.size);
  expect(files(whole.size).names).toEqual([`${whole.size}-0001.mcap`, `${whole.size}-0002.mcap`]);
  expect(files(whole.size + 1).names).toEqual([`${whole.size + 1}-0001.mcap`]);
});

const document = (text: string, channel = 1) => ({
  channel,
  data: new TextEncoder().encode(text),
  publishNs: 5n,
  sequence: 0,
});

/** Messages of a file in the order of the disk, by topic, documents as their text; and how its chunks are packed. */
async function contents(file: string) {
  const recording = await openRecording(file);
  const messages: (number | string)[] = [];
  for await (const { channelId, data, sequence } of recording.messages())
    messages.push(
      recording.channels.get(channelId)!.topic === "/frames" ? sequence : Buffer.from(data).toString(),
    );
  await recording.close();
  const handle = await open(file);
  const { scanned } = await scanRecording(handle, statSync(file).size);
  await handle.close();
  const chunks = scanned!.chunkIndexes;
  return {
    messages,
    packed: chunks.map(({ compression }) => compression),
    bytes: chunks.reduce((sum, one) => sum + Number(one.chunkLength + one.messageIndexLength), 0),
  };
}

test("a file has its documents in order, packed, and the next one begins with the newest of each channel", async () => {
  const { recorder, frame, reported } = start();
  recorder.begins(document("old"));
  recorder.begins(document("new"));
  frame();
  recorder.document(document("now"), 1_000_000_000n);
  frame();
  recorder.end();
  recorder.document(document("last"), 1_000_000_000n);
  recorder.end();
  const [first, second] = [await contents(reported.files[0]!), await contents(reported.files[1]!)];
  expect(first).toMatchObject({ messages: ["new", 0, "now", 1], packed: ["zstd"] });
  expect(second).toMatchObject({ messages: ["new", "last"], packed: ["zstd"] });
  expect(reported).toMatchObject({ written: 2, bytes: first.bytes + second.bytes, lost: {}, notices: [] });
});

test("a chunk is written from 4 MiB on", () => {
  const { recorder, reported } = start();
  const blank = (bytes: number) =>
    recorder.frame([{ channel: 0, data: new Uint8Array(bytes), publishNs: 0n, sequence: 0 }], 0n);
  const mebibyte = 1 << 20;
  // 10,000 bytes are enough for the schema and the heads of all records.
  for (const bytes of [mebibyte, mebibyte, mebibyte, mebibyte - 10_000]) blank(bytes);
  expect(reported.written).toBe(0);
  blank(10_000);
  expect(reported.written).toBe(5);
});

test("what waits is due when its oldest message is flushMs old", () => {
  const { recorder, frame, clock, reported } = start({ flushMs: 50 });
  frame();
  clock.ms += 20;
  frame();
  expect(recorder.dueInMs).toBe(30);
  clock.ms += 40;
  expect([recorder.dueInMs, reported.written]).toEqual([0, 0]);
  recorder.flush();
  expect([recorder.dueInMs, reported.written]).toEqual([undefined, 2]);
});

test("a document that is lost is no lost frame", () => {
  const refuse = () => {
    throw Object.assign(new Error("ENOSPC: refused"), { code: "ENOSPC" });
  };
  const full = start({}, { ...realDisk, write: refuse });
  full.recorder.document(document("a"), 1n);
  full.recorder.flush();
  const reserve = start();
  reserve.space.free = 9;
  reserve.recorder.document(document("a"), 1n);
  // Not even a cause with the count 0.
  expect([full.reported.lost, reserve.reported.lost]).toEqual([{}, {}]);
  expect(full.reported.problems).toEqual([`cannot write to ${full.file}: ENOSPC: refused`]);
});

test("a problem names the file that is written, and the least share is kept", () => {
  const { recorder, frame, space, clock, reported } = start({ rotateSeconds: 1, keepFreePercent: 1 });
  frame();
  clock.ms += 999;
  recorder.flush();
  expect(reported.files).toHaveLength(1);
  frame();
  clock.ms += 1;
  recorder.flush();
  // The file was a second old: it has ended.
  frame();
  expect(reported.files).toEqual([join(folder, "out-0001.mcap"), join(folder, "out-0002.mcap")]);
  space.free = 0.5;
  clock.ms += 500;
  frame();
  expect(reported.lost).toEqual({ diskReserve: 1 });
  const broken = start(
    { rotateSeconds: 1 },
    {
      ...realDisk,
      sync: () => {
        throw new Error("EIO: i/o error");
      },
    },
  );
  broken.frame();
  broken.recorder.flush();
  expect(broken.reported.problems.at(-1)).toBe(
    `cannot write to ${join(folder, "out-0003.mcap")}: EIO: i/o error`,
  );
});

test("the number of a part is not given twice, though its file was moved away", () => {
  const { recorder, frame, reported } = start();
  const name = (number: number) => (number === 1 ? "out.mcap" : `out-000${number}.mcap`);
  for (const number of [1, 2, 3]) {
    frame();
    recorder.end();
    expect(readdirSync(folder)).toEqual([name(number)]);
    rmSync(join(folder, name(number)));
  }
  expect(reported.files).toEqual([1, 2, 3].map((number) => join(folder, name(number))));
});

test("a disk whose free space is unknown is written to", () => {
  const { recorder, frame, reported, space } = start();
  space.total = 0;
  frame();
  recorder.end();
  expect(reported).toMatchObject({ written: 1, lost: {} });
});

test("names: the time, the number of the part, and never one that is taken", () => {
  const date = new Date("2026-11-22T18:05:07.123Z");
  expect(recordingName("/a/out-{time}.mcap", date, undefined)).toBe("/a/out-20261122T180507Z.mcap");
  expect(recordingName("out.mcap", date, 2)).toBe("out-0002.mcap");
  const first = start();
  first.frame();
  first.recorder.end();
  first.frame();
  first.recorder.end();
  expect(first.reported.files.map((file) => file.slice(folder.length + 1))).toEqual([
    "out.mcap",
    "out-0002.mcap",
  ]);
});

describe("the open output", () => {
  const picture = (width: number, more: object = {}) => ({
    width,
    height: 2,
    hasDepth: false,
    rig: undefined,
    rateHz: 30,
    input: {
      width,
      height: 2,
      leftFormat: "GREY",
      rightFormat: "GREY",
      leftStrideBytes: width,
      rightStrideBytes: width,
    },
    ...more,
  });

  async function openOutput(changes: object = {}) {
    const settings = {
      file: join(folder, "live.mcap"),
      recording: true,
      depth: "image",
      left: true,
      compression: "none",
      flushMs: 50,
      rotateMegabytes: 0,
      rotateSeconds: 0,
      keepFreePercent: 0,
      maxPendingBytes: 1 << 26,
      ...changes,
    };
    const notices: string[] = [];
    const output = await openMcapOutput({
      settings,
      ...picture(4),
      base: "depthwatt",
      device: "rig",
      notice: (text: string) => notices.push(text),
    } as unknown as OutputContext<never>);
    const configure = (recording: boolean, shape: object = picture(4)) =>
      output.configure!({ ...settings, recording } as never, shape as never);
    const lend = (leftSequence: number, width = 4, leftTimestampNs = 1000n, clock = "realtime") => {
      const lease = { released: 0, sent: 0 };
      const slot = {
        left: new Uint8Array(2 * width).fill(leftSequence),
        disparityQ4: new Int16Array(2 * width).fill(16 * leftSequence),
      };
      const rightTimestampNs = leftTimestampNs + 5n;
      const times = { leftTimestampNs, rightTimestampNs, leftSequence, rightSequence: leftSequence };
      const frame = { width, height: 2, slot, encodings: {}, result: {}, clock, ...times };
      const count = { sent: () => lease.sent++, release: () => lease.released++ };
      output.frame({ frame, ...count } as unknown as FrameLease);
      expect(lease.released).toBe(1);
      return lease;
    };
    return { output, notices, configure, lend };
  }

  /** All messages of a file by topic, and the bytes of its chunks with their indexes. */
  async function readAll(name: string) {
    const file = join(folder, name);
    const recording = await openRecording(file);
    const messages: Record<string, unknown[]> = {};
    const times: Record<string, bigint[]> = {};
    for await (const { channelId, data, publishTime, logTime, sequence } of recording.messages()) {
      const { topic, messageEncoding } = recording.channels.get(channelId)!;
      const leaf = topic.replace("/depthwatt/rig/", "");
      const isText = messageEncoding === "json";
      messages[leaf] = [
        ...(messages[leaf] ?? []),
        isText ? JSON.parse(Buffer.from(data).toString()) : sequence,
      ];
      // Documents have the time of writing, which is earlier for those with which a later file begins.
      if (isText) expect([publishTime <= logTime, publishTime > 10n ** 18n]).toEqual([true, true]);
      else times[leaf] = [...(times[leaf] ?? []), publishTime];
      expect(Math.abs(Number(logTime / 1_000_000n) - Date.now())).toBeLessThan(600_000);
      if (topic.endsWith("left/image_rect")) {
        const image = readRosImage(data);
        expect(image.stampNs).toBe(publishTime);
        expect([...image.data]).toEqual(Array(2 * image.width).fill(sequence));
      }
    }
    const calibration = await recording.attachment("calibration.json");
    await recording.close();
    const handle = await open(file);
    const { scanned } = await scanRecording(handle, statSync(file).size);
    await handle.close();
    const bytes = scanned!.chunkIndexes.reduce(
      (sum, { chunkLength, messageIndexLength }) => sum + Number(chunkLength + messageIndexLength),
      0,
    );
    return { messages, times, bytes, calibration };
  }

  test("records documents and frames while it is on, and each file begins with the newest documents", async () => {
    const { output, configure, lend } = await openOutput();
    const streams = ["/depthwatt/rig/left/image_rect", "/depthwatt/rig/disparity/image_rect"];
    expect(output.streams).toEqual([...streams, "/depthwatt/rig/energy"]);
    const file = join(folder, "live.mcap");
    expect(output.greeting!()).toEqual([["recording", file]]);
    output.state!("online", "one");
    output.settings!({ a: 1 }, "start");
    output.settings!({ b: "mqtt://anna:secret@broker" }, "page");
    output.info!({ i: 3n });
    output.metrics!({ m: 4 });
    output.notice!("five");
    const leases = [lend(7, 4, 123_456_789n), lend(8, 4, 0n, "file")];
    configure(true);
    configure(false);
    expect(output.streams).toEqual([]);
    const off = `off, until outputs.mcap.recording is true: ${file}`;
    expect(output.greeting!()).toEqual([["recording", off]]);
    output.state!("degraded", "two");
    output.metrics!({ m: 5 });
    output.notice!("six");
    await until("the first file ended", () => output.counters().sent === 2);
    expect(leases.map(({ sent }) => sent)).toEqual([1, 1]);
    configure(true);
    expect(output.streams).toHaveLength(3);
    const next = `next to ${file}, which exists: NAME-0002 or higher`;
    expect(output.greeting!()).toEqual([["recording", next]]);
    lend(9);
    await output.close();
    expect(output.streams).toEqual([]);
    const [first, second] = [await readAll("live.mcap"), await readAll("live-0002.mcap")];
    const state = (name: string, reason: string) => ({ state: name, reason });
    const hidden = expect.not.stringContaining("secret");
    expect(first.messages).toEqual({
      state: [state("online", "one")],
      settings: [
        { from: "start", values: { a: 1 } },
        { from: "page", values: { b: hidden } },
      ],
      info: [{ i: "3" }],
      metrics: [{ m: 4 }],
      notice: [{ text: "five" }],
      "left/image_rect": [7, 8],
      "disparity/image_rect": [7, 8],
    });
    // A reader would take the time 0 for none.
    expect(first.times["left/image_rect"]).toEqual([123_456_789n, 1n]);
    expect(second.messages).toEqual({
      state: [state("degraded", "two")],
      settings: [{ from: "start", values: { a: 1, b: hidden } }],
      info: [{ i: "3" }],
      "left/image_rect": [9],
      "disparity/image_rect": [9],
    });
    expect(output.counters()).toEqual({
      sent: 3,
      bytes: first.bytes + second.bytes,
      drops: {},
      details: { recording: true, files: 2, pendingBytes: 0, file: join(folder, "live-0002.mcap") },
    });
    expect(output.failure).toBeUndefined();
  });

  test("another source begins another file, with its calibration", async () => {
    const { output, configure, lend } = await openOutput();
    lend(1);
    const calibration = sceneCalibration({ width: 8, height: 2, view: "rectified" });
    const shape = picture(8, { rig: { calibration, rectification: rectify(calibration) } });
    configure(true, shape);
    lend(2, 8);
    configure(true, shape);
    lend(3, 8);
    await output.close();
    const [first, second] = [await readAll("live.mcap"), await readAll("live-0002.mcap")];
    expect([first.messages["left/image_rect"], first.calibration]).toEqual([[1], undefined]);
    expect(second.messages).toMatchObject({ "left/image_rect": [2, 3], "left/camera_info": [2, 3] });
    expect(Buffer.from(second.calibration!).toString()).toBe(stringifyCalibration(calibration));
    expect(output.counters().details).toMatchObject({ files: 2 });
  });

  test.each([0, 1])(
    "frames beyond maxPendingBytes are dropped: with %i bytes less than two need",
    async (less) => {
      const context = { settings: { left: true }, prefix: "/a", ...picture(4) } as never;
      const frame = {
        slot: { left: new Uint8Array(8), disparityQ4: new Int16Array(8) },
        encodings: {},
      } as never;
      const bytes = frameChannels(context).reduce((sum, channel) => sum + (channel.bytes(frame) ?? 0), 0);
      const held = Math.ceil(1.25 * bytes);
      const { output, lend } = await openOutput({ maxPendingBytes: held + bytes - less });
      // The topics of the output are longer than those of the channels here, which are in no message.
      const leases = [lend(1), lend(2)];
      expect(output.counters().drops).toEqual(less === 0 ? {} : { diskBusy: 1 });
      expect(output.counters().details!.pendingBytes).toBe(less === 0 ? 2 * held : held);
      await output.close();
      expect(leases.map(({ sent }) => sent)).toEqual([1, 1 - less]);
      expect(output.counters()).toMatchObject({ sent: 2 - less, details: { pendingBytes: 0 } });
    },
  );

  test("a disk with too little room is a failure, and its frames are lost", async () => {
    const { output, lend } = await openOutput({ keepFreePercent: 100 });
    const lease = lend(1);
    await until("it is lost", () => output.counters().drops.diskReserve === 1);
    expect(output.failure).toMatchObject({ code: "DISK_FULL", message: expect.stringContaining("100 %") });
    await output.close();
    expect([lease.sent, output.counters().sent, readdirSync(folder)]).toEqual([0, 0, []]);
  });

  test("a missing folder is refused", async () => {
    await expect(openOutput({ file: join(folder, "none", "a.mcap") })).rejects.toMatchObject({
      code: "OUTPUT_UNWRITABLE",
    });
  });
});
