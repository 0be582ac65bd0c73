// SPDX-License-Identifier: Apache-2.0
// Pictures for a program's standard input: their bytes, and programs that are missing, end, hang or flood stderr.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { colourDisparity, DISPARITY_COLOURS } from "../../../camera/index.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import type { Output } from "../../../edge/contracts/output.js";
import { PictureWriter, streamHeader } from "../../../edge/outputs/command/pictures.js";
import { brokenCommand, type CommandOutputSettings } from "../../../edge/outputs/command/settings.js";
import { COMMAND_DEFAULTS, offerPicture as offer, openCommand } from "../../doubles/command-output.js";
import { until } from "../../doubles/frames.js";
import { sharedFrame as makeFrame } from "../../doubles/shared-memory.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-command-"));
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  rmSync(join(folder, "out"), { force: true });
});

const toFile = `cat > ${join(folder, "out")}`;

async function open(...words: Parameters<typeof openCommand>) {
  const opened = await openCommand(...words);
  cleanups.push(() => opened.output.close());
  return opened;
}

async function written(settings: Partial<CommandOutputSettings>, frames: readonly ComputedFrame[]) {
  const { output } = await open({ command: toFile, ...settings });
  for (const [i, frame] of frames.entries()) {
    const lease = offer(output, frame);
    expect(lease.sent).toBe(0);
    await until("it is read", () => output.counters().sent === i + 1);
    expect(lease.sent).toBe(1);
  }
  await output.close();
  expect(output.counters().drops).toEqual({});
  return readFileSync(join(folder, "out"));
}

const bytesOf = (view: ArrayBufferView) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

test("y4m has one header, and a line before each picture", async () => {
  const frames = [makeFrame(1), makeFrame(2)];
  const left = await written({}, frames);
  const lines = frames.flatMap(({ slot }) => [Buffer.from("FRAME\n"), bytesOf(slot.left)]);
  const header = (colours: string) => Buffer.from(`YUV4MPEG2 W64 H48 F25000:1000 Ip A1:1 C${colours}\n`);
  expect(left.equals(Buffer.concat([header("mono"), ...lines]))).toBe(true);
  const depth = await written({ picture: "depth" }, [frames[0]!]);
  const { depthMillimetres } = frames[0]!.slot;
  expect(
    depth.equals(Buffer.concat([header("mono16"), Buffer.from("FRAME\n"), bytesOf(depthMillimetres)])),
  ).toBe(true);
});

test("raw pictures are pixels alone, and coloured ones have the colours of the live page in RGB and in YUV", async () => {
  const frame = makeFrame(1);
  const { disparityQ4 } = frame.slot;
  const data = Float32Array.from(disparityQ4, (value) => (value === -32768 ? Infinity : value / 16));
  const rgb = colourDisparity({ data, width: 64, height: 48 }, { min: 0, max: 64 }).data;
  const raw = await written({ picture: "colours", format: "raw" }, [frame]);
  expect(raw.equals(bytesOf(rgb))).toBe(true);
  expect((await written({ format: "raw" }, [frame])).equals(bytesOf(frame.slot.left))).toBe(true);
  const planes = (await written({ picture: "colours" }, [frame])).subarray(-3 * 64 * 48);
  const difference = (i: number) => {
    const [y, cb, cr] = [0, 1, 2].map((plane) => planes[i + plane * 64 * 48]!) as [number, number, number];
    // ITU-R BT.601 backwards.
    const scaled = 1.16438 * (y - 16);
    const back = [
      scaled + 1.59603 * (cr - 128),
      scaled - 0.39176 * (cb - 128) - 0.81297 * (cr - 128),
      scaled + 2.01723 * (cb - 128),
    ];
    return Math.max(...back.map((value, channel) => Math.abs(value - rgb[3 * i + channel]!)));
  };
  expect(Math.max(...Array.from({ length: 64 * 48 }, (_, i) => difference(i)))).toBeLessThan(2.5);
});

test.each([
  [{ picture: "left", format: "raw", rateHz: 25 }, ""],
  [{ picture: "left", format: "y4m", rateHz: undefined }, "YUV4MPEG2 W7 H5 F30000:1000 Ip A1:1 Cmono\n"],
  [{ picture: "depth", format: "y4m", rateHz: 29.97 }, "YUV4MPEG2 W7 H5 F29970:1000 Ip A1:1 Cmono16\n"],
  [{ picture: "colours", format: "y4m", rateHz: 0.0125 }, "YUV4MPEG2 W7 H5 F13:1000 Ip A1:1 C444\n"],
] as const)("the header of %o", (options, header) => {
  expect(String(streamHeader({ ...options, searched: () => ({ min: 0, max: 1 }) }, 7, 5))).toBe(header);
});

/** Writes disparities in sixteenths of a pixel as one row of colours. */
function rowOfColours(format: "raw" | "y4m", searched: { min: number; max: number }, values: number[]) {
  const writer = new PictureWriter({ picture: "colours", format, rateHz: 25, searched: () => searched });
  const frame = { width: values.length, height: 1, slot: { disparityQ4: Int16Array.from(values) } };
  return [...writer.write(frame as unknown as ComputedFrame)];
}

test("colours are spread over the searched disparities; nearer and farther ones have the last and the first", () => {
  // 8 and 24 px are the ends, 16 px is the middle.
  const row = rowOfColours("raw", { min: 8, max: 24 }, [128, 0, 127, 384, 385, 4000, 256, -32768]);
  const colour = (index: number) => [...DISPARITY_COLOURS.subarray(3 * index, 3 * index + 3)];
  const [first, last] = [colour(0), colour(255)];
  expect(row).toEqual([...first, ...first, ...first, ...last, ...last, ...last, ...colour(128), 0, 0, 0]);
});

test("every colour in YUV is that of ITU-R BT.601, in three planes behind the line of the picture", () => {
  const values = [-32768, ...Array.from({ length: 1025 }, (_, q4) => q4)];
  const rgb = rowOfColours("raw", { min: 0, max: 64 }, values).map((value) => value / 255);
  const planes = values.map((_, i) => {
    const [red, green, blue] = rgb.slice(3 * i, 3 * i + 3) as [number, number, number];
    // Luma of Kr 0.299 and Kb 0.114, black to white 16 to 235, colour differences 16 to 240.
    const luma = 0.299 * red + 0.587 * green + 0.114 * blue;
    return [16 + 219 * luma, 128 + (224 * (blue - luma)) / 1.772, 128 + (224 * (red - luma)) / 1.402];
  });
  const expected = [0, 1, 2].flatMap((plane) => planes.map((one) => Math.round(one[plane]!)));
  const yuv = rowOfColours("y4m", { min: 0, max: 64 }, values);
  expect(yuv.slice(0, 6)).toEqual([...Buffer.from("FRAME\n")]);
  expect(yuv.slice(6)).toEqual(expected);
  expect([yuv[6], yuv[6 + 1026], yuv[6 + 2052]]).toEqual([16, 128, 128]);
});

test("a writer follows another size and other searched disparities", () => {
  let searched = { min: 0, max: 16 };
  const writer = (format: "raw" | "y4m", picture: "left" | "colours") =>
    new PictureWriter({ picture, format, rateHz: 25, searched: () => searched });
  const frame = (...left: number[]) =>
    ({ width: left.length, height: 1, slot: { left, disparityQ4: left } }) as unknown as ComputedFrame;
  for (const format of ["raw", "y4m"] as const) {
    const left = writer(format, "left");
    const line = format === "raw" ? "" : "FRAME\n";
    for (const values of [[65, 66], [67, 68, 69], [70]])
      expect(String(left.write(frame(...values)))).toBe(line + String.fromCharCode(...values));
  }
  const colours = writer("raw", "colours");
  const [nearest, farthest] = [DISPARITY_COLOURS.subarray(-3), DISPARITY_COLOURS.subarray(0, 3)];
  const shown = () => [...colours.write(frame(256))];
  expect(shown()).toEqual([...nearest]);
  searched = { min: 16, max: 32 };
  expect(shown()).toEqual([...farthest]);
  searched = { min: 8, max: 16 };
  expect(shown()).toEqual([...nearest]);
  searched = { min: 8, max: 24 };
  expect(shown()).toEqual([...DISPARITY_COLOURS.subarray(3 * 128, 3 * 129)]);
});

test("a missing program, and depth without a calibration, end the start with a code", async () => {
  await expect(open({ command: "no-such-program -", shell: false })).rejects.toMatchObject({
    code: "COMMAND_FAILED",
    message: 'command "no-such-program": cannot be started: there is no such program',
  });
  await expect(open({ command: toFile, picture: "depth" }, false)).rejects.toMatchObject({
    code: "CALIBRATION_MISSING",
  });
  expect(brokenCommand({ ...COMMAND_DEFAULTS, shell: false, command: "cat 'x" })).toHaveLength(1);
  expect(brokenCommand({ ...COMMAND_DEFAULTS, command: "cat 'x" })).toEqual([]);
});

test("a program that floods stderr is slowed down, and frames go through", async () => {
  const { output, notices } = await open({
    command: "yes flood >&2 & cat > /dev/null; kill $!; echo end >&2",
  });
  const [before, beganMs] = [process.cpuUsage(), performance.now()];
  for (let i = 1; i <= 20; i++) {
    offer(output, makeFrame(i));
    await until("it is read", () => output.counters().sent === i);
  }
  const { user, system } = process.cpuUsage(before);
  // Unlimited, it takes all of a CPU.
  expect((user + system) / 1000).toBeLessThan(0.8 * (performance.now() - beganMs));
  expect(notices).toEqual([]);
  await output.close();
});

test("a program that leaves a picture unread for the timeout is ended, and no clock runs after close", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  cleanups.push(() => vi.useRealTimers());
  const reader = await open({ command: toFile, timeoutMs: 1000 });
  offer(reader.output, makeFrame(1));
  await until("it is read", () => reader.output.counters().sent === 1);
  vi.advanceTimersByTime(5000);
  offer(reader.output, makeFrame(2));
  await until("the same program reads on", () => reader.output.counters().sent === 2);
  expect(reader.output.counters().drops).toEqual({});
  await reader.output.close();
  expect(vi.getTimerCount()).toBe(0);

  const { output } = await open({ command: "exec sleep 100", timeoutMs: 1000 });
  // More than a pipe holds.
  const large = makeFrame(1, 640, 480);
  offer(output, large);
  vi.advanceTimersByTime(999);
  offer(output, large);
  expect(output.counters().drops).toEqual({ busy: 1 });
  vi.advanceTimersByTime(1);
  offer(output, large);
  expect(output.counters().drops).toEqual({ busy: 1, notRunning: 1 });
});

describe("a program that ends", () => {
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"],
    });
    cleanups.push(() => vi.useRealTimers());
  });
  /** Waits for a process; the clock stands still meanwhile. */
  const happened = async (condition: () => boolean) => {
    while (!condition()) await new Promise((resolve) => setImmediate(resolve));
  };
  /** Offers a picture: a program that is being ended gets none, one that has not read the last one is busy. */
  const notRunning = (output: Output) => {
    offer(output, makeFrame(2));
    return output.counters().drops.notRunning ?? 0;
  };
  const details = (output: Output) => output.counters().details as { running: boolean; restarts: number };

  test("is started again after 0.5, 1 and 2 s, and after 0.5 s once it ran for 5 s; the same end is noticed once", async () => {
    const { output, notices } = await open({ command: "head -c 1 > /dev/null; exit 3" });
    expect(output.greeting!()).toEqual([["command", 'command "sh"']]);
    expect([output.streams, details(output)]).toEqual([["left"], { running: true, restarts: 0 }]);
    const ends = async () => {
      offer(output, makeFrame(1));
      await happened(() => !details(output).running);
    };
    const lastEnd = 'command "sh": ended with exit code 3';
    for (const [restarts, pauseMs] of [500, 1000, 2000].entries()) {
      await ends();
      expect(details(output)).toEqual({ running: false, restarts, lastEnd });
      offer(output, makeFrame(1));
      vi.advanceTimersByTime(pauseMs - 1);
      expect(details(output).restarts).toBe(restarts);
      vi.advanceTimersByTime(1);
      expect(details(output)).toEqual({ running: true, restarts: restarts + 1, lastEnd });
    }
    vi.advanceTimersByTime(5000);
    await ends();
    vi.advanceTimersByTime(500);
    expect(details(output).restarts).toBe(4);
    expect(notices).toEqual([`${lastEnd}. It is started again in 0.5 s.`]);
    expect(output.counters().drops).toMatchObject({ notRunning: 3 });
    // After the end it is not started again.
    await ends();
    const closed = output.close();
    vi.advanceTimersByTime(10_000);
    await closed;
    expect([details(output).restarts, vi.getTimerCount()]).toEqual([4, 0]);
  });

  test("pauses for 10 s at most", async () => {
    const { output } = await open({ command: "head -c 1 > /dev/null" });
    for (const pauseMs of [500, 1000, 2000, 4000, 8000, 10_000, 10_000]) {
      offer(output, makeFrame(1));
      await happened(() => !details(output).running);
      vi.advanceTimersByTime(pauseMs - 1);
      expect([pauseMs, details(output).running]).toEqual([pauseMs, false]);
      vi.advanceTimersByTime(1);
      expect(details(output).running).toBe(true);
    }
  });

  test("because the pictures have another size gets a new header, with the newest rate", async () => {
    const { output, notices } = await open({ command: toFile });
    output.configure!({} as never, { rateHz: 12.5 } as never);
    offer(output, makeFrame(1));
    await happened(() => output.counters().sent === 1);
    // As wide as before, and less high.
    const small = makeFrame(2, 64, 16);
    offer(output, small);
    expect(output.counters()).toMatchObject({ sent: 1, drops: { otherSize: 1 } });
    await happened(() => !details(output).running);
    expect(notices).toEqual([
      'command "sh": is started again for pictures of 64x16. It is started again in 0.5 s.',
    ]);
    vi.advanceTimersByTime(500);
    offer(output, small);
    await happened(() => output.counters().sent === 2);
    const bytes = (pixels: number, header: string) => header.length + "FRAME\n".length + pixels;
    const header = "YUV4MPEG2 W64 H16 F12500:1000 Ip A1:1 Cmono\n";
    // The header is no picture: it is not counted.
    expect(output.counters().bytes).toBe(64 * 48 + 64 * 16 + 2 * "FRAME\n".length);
    await output.close();
    const written = readFileSync(join(folder, "out"));
    expect(written.length).toBe(bytes(64 * 16, header));
    expect(written.subarray(0, header.length).toString()).toBe(header);
  });

  test("with a picture that it has not read loses it, and is named silent", async () => {
    const { output, notices } = await open({ command: "exec sleep 100", timeoutMs: 1000 });
    // Four looks per timeout: a picture of 100 ms later is missed at 1250 ms, not before.
    vi.advanceTimersByTime(100);
    // More than a pipe of 64 KiB holds.
    const lease = offer(output, makeFrame(1, 320, 256));
    vi.advanceTimersByTime(1149);
    expect(notRunning(output)).toBe(0);
    vi.advanceTimersByTime(1);
    expect(notRunning(output)).toBe(1);
    expect(lease.sent).toBe(0);
    await happened(() => !details(output).running);
    expect(output.counters()).toMatchObject({ sent: 0, bytes: 0, drops: { lost: 1 } });
    expect(notices).toEqual(['command "sh": read nothing for 1 s. It is started again in 0.5 s.']);
  });
});
