// SPDX-License-Identifier: Apache-2.0
// A command as a camera on a clock and with a process that the test moves: silence, starts, back-off, ends and bytes that wait.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CommandCamera, type CommandCameraOptions } from "../../../../camera/command/command-camera.js";
import { type CommandFrame, FRAMES } from "../../../../camera/command/frames.js";
import { rawLayout } from "../../../../camera/command/layout.js";
import type { CommandEvents } from "../../../../camera/command/process.js";

/** The processes that were started, newest last. */
const started = vi.hoisted(() => [] as HandProcess[]);
interface HandProcess {
  words: readonly string[];
  events: CommandEvents;
  log: string[];
}

vi.mock("../../../../camera/command/process.js", () => ({
  CommandProcess: class {
    readonly log: string[] = [];
    constructor(
      readonly words: readonly string[],
      readonly events: CommandEvents,
    ) {
      started.push(this);
    }
    pause = () => this.log.push("pause");
    resume = () => this.log.push("resume");
    end = () => this.log.push("end");
    stop = async () => this.log.push("stop");
  },
}));

const BYTES = 16 * 16;
const frame = (count = 1) => Buffer.alloc(count * BYTES, 5);

function bench(more: Partial<CommandCameraOptions> = {}) {
  const log: string[] = [];
  const held: CommandFrame[] = [];
  const camera = new CommandCamera({
    name: 'command "x"',
    words: ["x", "-y"],
    timeoutMs: 1000,
    clean: (line) => line.replace("secret", "***"),
    layout: rawLayout("GREY", 16, 16),
    rateHz: 10,
    sideBySide: false,
    live: true,
    nowNs: () => 0n,
    onFrame: () => {},
    ...more,
  } as CommandCameraOptions);
  const opening = camera.open();
  opening.then(
    () => log.push("open"),
    (error) => log.push(`refused ${error.code} ${error.message}`),
  );
  const start = () =>
    camera.start({
      onFrame: (one) => {
        log.push(`frame ${one.images[0]!.sequence}`);
        held.push(one);
      },
      onLost: (reason) => log.push(`lost ${reason}`),
      onBack: () => log.push("back"),
      onEnd: (error) => log.push(error === undefined ? "end" : `end ${error.message}`),
      onError: (error) => log.push(`error ${error.message}`),
    });
  const process = () => started.at(-1)!;
  const give = () => {
    for (const one of held.splice(0)) one.giveBack();
  };
  const ended = (how: string, code?: number, lastLine?: string) =>
    process().events.onEnd({ how, code, lastLine });
  /** @returns what was reported meanwhile */
  const pass = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    return log.splice(0);
  };
  return { camera, start, process, give, ended, pass, log };
}

beforeEach(() => {
  started.length = 0;
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("opening", () => {
  test("starts the command and ends with its first frame; a live one's early frames are given back", async () => {
    const { camera, process, start, give, pass } = bench();
    expect(process().words).toEqual(["x", "-y"]);
    process().events.onData!(frame().subarray(1));
    expect(await pass(0)).toEqual([]);
    process().events.onData!(frame(2 * FRAMES));
    expect(await pass(0)).toEqual(["open"]);
    expect(camera.intake.drops).toEqual({});
    start();
    expect(await pass(0)).toEqual([]);
    process().events.onData!(frame());
    expect(await pass(0)).toEqual([`frame ${2 * FRAMES}`]);
    give();
    await camera.stop();
    expect([process().log, vi.getTimerCount()]).toEqual([["stop"], 0]);
  });

  test.each([
    [
      "ended with exit code 1",
      1,
      "no secret device",
      'command "x": ended with exit code 1; its last line: no *** device',
    ],
    ["cannot be started", undefined, undefined, 'command "x": cannot be started'],
  ])("a command that %s is refused, with its last line", async (how, code, line, message) => {
    const { ended, pass } = bench();
    ended(how, code, line);
    expect(await pass(0)).toEqual([`refused COMMAND_FAILED ${message}`]);
    expect([await pass(60_000), started.length, vi.getTimerCount()]).toEqual([[], 1, 0]);
  });

  test("a recording's early frames and end are kept until it is read", async () => {
    const { process, start, ended, pass } = bench({ live: false });
    process().events.onData!(frame(2));
    ended("ended with exit code 0", 0);
    expect(await pass(0)).toEqual(["open"]);
    start();
    expect(await pass(0)).toEqual(["frame 0", "frame 1", "end"]);
  });

  test("a live one that is lost before it is read reports the loss then", async () => {
    const { process, start, ended, pass } = bench();
    process().events.onData!(frame());
    ended("was ended by SIGSEGV");
    await pass(0);
    start();
    expect(await pass(0)).toEqual(['lost command "x": was ended by SIGSEGV. It is started again in 0.5 s.']);
  });
});

describe("silence", () => {
  test.each([
    [0, "wrote nothing"],
    [7, "wrote no whole frame (7 bytes so far)"],
  ])("of more than the limit at two looks, after %i bytes", async (bytes, words) => {
    const { camera, process, ended, pass } = bench();
    if (bytes > 0) process().events.onData!(frame().subarray(0, bytes));
    // Looks at every 100 ms: at 1.1 s the first one beyond the limit.
    await pass(1100);
    expect(process().log).toEqual([]);
    await pass(100);
    expect(process().log).toEqual(["end"]);
    // It takes its time to end; that is no second trouble, and what it still writes is not read.
    process().events.onData!(frame());
    await pass(1000);
    expect(process().log).toEqual(["end"]);
    ended("was ended by SIGTERM", undefined, "bye");
    expect(await pass(0)).toEqual([
      `refused COMMAND_FAILED command "x": ${words} for 1.2 s; its last line: bye`,
    ]);
    expect(camera.intake.drops).toEqual(bytes > 0 ? { cut: 1 } : {});
  });

  test("frames, and a pause of this process, are no silence", async () => {
    const { camera, process, pass } = bench();
    for (let at = 0; at < 3; at++) {
      process().events.onData!(frame());
      await pass(1100);
    }
    expect(process().log).toEqual([]);
    await camera.stop();
  });
});

describe("a live command that ends", () => {
  const lost = (seconds: number, why = "ended with exit code 1", hint = "") =>
    `lost command "x": ${why}. It is started again in ${seconds} s${hint}.`;

  test("is started again, later each time, until it was steady for two seconds", async () => {
    const { camera, process, start, ended, give, pass } = bench();
    process().events.onData!(frame());
    start();
    await pass(0);
    for (const seconds of [0.5, 1, 2, 4, 8, 10, 10]) {
      ended("ended with exit code 1", 1);
      expect(await pass(seconds * 1000 - 1)).toEqual([lost(seconds)]);
      const before = started.length;
      await pass(1);
      expect(started.length).toBe(before + 1);
    }
    process().events.onData!(frame());
    expect(await pass(900)).toEqual(["back", expect.stringMatching(/^frame/)]);
    give();
    process().events.onData!(frame());
    expect(await pass(900)).toEqual([expect.stringMatching(/^frame/)]);
    give();
    // A little less than two seconds of frames.
    await pass(199);
    process().events.onData!(frame());
    ended("ended with exit code 1", 1);
    expect((await pass(0)).at(-1)).toBe(lost(10));
    await pass(10_000);
    process().events.onData!(frame());
    await pass(1000);
    process().events.onData!(frame());
    await pass(1000);
    process().events.onData!(frame());
    ended("ended with exit code 0", 0);
    const hint = " (a recording needs source.command.live: false)";
    expect((await pass(0)).at(-1)).toBe(lost(0.5, "ended with exit code 0", hint));
    give();
    await camera.stop();
    const count = started.length;
    expect([await pass(20_000), started.length]).toEqual([[], count]);
  });

  test("because it was silent has the reason for that, without the hint, and gets its whole time again", async () => {
    const { camera, process, start, ended, pass } = bench();
    process().events.onData!(frame());
    start();
    await pass(1200);
    ended("ended with exit code 0", 0);
    expect(await pass(0)).toEqual([lost(0.5, "wrote no whole frame (256 bytes so far) for 1.2 s")]);
    // While it waits, it is not silent.
    expect(await pass(500)).toEqual([]);
    expect(started).toHaveLength(2);
    await pass(1100);
    expect(process().log).toEqual([]);
    await pass(100);
    expect(process().log).toEqual(["end"]);
    ended("ended with exit code 0", 0);
    expect(await pass(0)).toEqual([lost(1, "wrote nothing for 1.2 s")]);
    await camera.stop();
  });

  test("is given up for an error that another start cannot fix", async () => {
    const giveUp = vi.fn(async (): Promise<Error | undefined> => undefined);
    const { process, start, ended, pass } = bench({ giveUp });
    process().events.onData!(frame());
    start();
    ended("ended with exit code 1", 1);
    await pass(500);
    expect([giveUp.mock.calls.length, started.length]).toEqual([1, 2]);
    giveUp.mockResolvedValue(new Error("no such board"));
    ended("ended with exit code 1", 1);
    expect((await pass(1000)).at(-1)).toBe("error no such board");
    expect([await pass(20_000), started.length, vi.getTimerCount()]).toEqual([[], 2, 0]);
  });

  test("after stop() while giveUp is asked is not started", async () => {
    let answer: () => void = () => {};
    const giveUp = () =>
      new Promise<undefined>((resolve) => {
        answer = () => resolve(undefined);
      });
    const { camera, process, start, ended, pass } = bench({ giveUp });
    process().events.onData!(frame());
    start();
    ended("ended with exit code 1", 1);
    await pass(500);
    await camera.stop();
    answer();
    await pass(1000);
    expect(started).toHaveLength(1);
  });

  test("and comes back with another size is an error, with its hint", async () => {
    const { process, start, ended, pass } = bench({ layout: undefined });
    const head = (width: number) => Buffer.from(`YUV4MPEG2 W${width} H16 F10:1 Cmono\n`);
    process().events.onData!(Buffer.concat([head(16), Buffer.from("FRAME\n"), frame()]));
    start();
    ended("ended with exit code 1", 1);
    await pass(500);
    process().events.onData!(head(32));
    expect(process().log).toEqual(["end"]);
    ended("was ended by SIGTERM");
    expect((await pass(0)).at(-1)).toMatch(/^error command "x": expected it to come back with GREY 16x16/);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a recording", () => {
  test("waits for memory, and its end comes behind its last frame", async () => {
    const { camera, process, start, ended, give, pass } = bench({ live: false });
    process().events.onData!(frame(FRAMES + 1));
    start();
    expect((await pass(0)).length).toBe(FRAMES + 1);
    expect(process().log).toEqual(["pause"]);
    // Bytes that come all the same stand behind those that wait; waiting is no silence.
    process().events.onData!(frame(1));
    await pass(5000);
    ended("ended with exit code 0", 0);
    expect([await pass(0), process().log]).toEqual([[], ["pause"]]);
    give();
    camera.goOn();
    expect(await pass(0)).toEqual([`frame ${FRAMES}`, `frame ${FRAMES + 1}`, "end"]);
    camera.goOn();
    expect([await pass(0), process().log]).toEqual([[], ["pause"]]);
  });

  test("continues once a frame is given back, as often as that is needed", async () => {
    const { camera, process, start, give, pass } = bench({ live: false });
    process().events.onData!(frame(2 * FRAMES + 1));
    start();
    await pass(0);
    give();
    camera.goOn();
    expect((await pass(0)).length).toBe(FRAMES);
    expect(process().log).toEqual(["pause", "pause"]);
    give();
    await pass(5000);
    camera.goOn();
    expect((await pass(1100)).length).toBe(1);
    // The time without a frame counts from here.
    expect(process().log).toEqual(["pause", "pause", "resume"]);
    await camera.stop();
  });

  test.each([
    ["ended with exit code 3", 3, 'end command "x": ended with exit code 3'],
    ["was ended by SIGKILL", undefined, 'end command "x": was ended by SIGKILL'],
    ["ended with exit code 0", 0, "end"],
  ])("that %s: its end", async (how, code, expected) => {
    const { process, start, ended, pass } = bench({ live: false });
    process().events.onData!(frame());
    start();
    ended(how, code);
    expect((await pass(0)).filter((entry) => entry.startsWith("end"))).toEqual([expected]);
    expect([started.length, vi.getTimerCount()]).toEqual([1, 0]);
  });

  test("that falls silent ends with an error even if its command ends well", async () => {
    const { process, start, ended, pass } = bench({ live: false });
    process().events.onData!(frame());
    start();
    await pass(1200);
    ended("ended with exit code 0", 0);
    expect(await pass(0)).toEqual(['end command "x": wrote no whole frame (256 bytes so far) for 1.2 s']);
  });

  test("that is stopped gives its early frames back and takes no more", async () => {
    const { camera, process, start, pass } = bench({ live: false });
    process().events.onData!(frame(FRAMES + 1));
    await camera.stop();
    camera.goOn();
    process().events.onData!(frame());
    start();
    expect((await pass(0)).filter((entry) => entry !== "open")).toEqual([]);
    expect(process().log).toEqual(["pause", "stop"]);
  });
});
