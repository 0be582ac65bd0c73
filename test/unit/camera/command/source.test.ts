// SPDX-License-Identifier: Apache-2.0
// Commands as cameras: cat and sh play streams that were constructed, and misbehave like real ones.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type CommandSettings, openCommandSource, type PairSource } from "../../../../camera/index.js";
import { DepthwattError } from "../../../../core/index.js";
import { sleep, until } from "../../../doubles/frames.js";

const WIDTH = 32;
const HEIGHT = 16;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-command-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const grey = (number: number, side: number, width = WIDTH) =>
  Buffer.from(Array.from({ length: width * HEIGHT }, (_, at) => (at * 3 + number * 17 + side * 101) & 255));

function y4m(numbers: readonly number[], side = 0, { width = WIDTH, rate = "25:1" } = {}): Buffer {
  const chroma = Buffer.alloc((width * HEIGHT) / 2, 0xee);
  return Buffer.concat([
    Buffer.from(`YUV4MPEG2 W${width} H${HEIGHT} F${rate} Ip C420jpeg\n`),
    ...numbers.map((number) => Buffer.concat([Buffer.from("FRAME\n"), grey(number, side, width), chroma])),
  ]);
}

const count = (frames: number) => Array.from({ length: frames }, (_, number) => number);

function file(name: string, bytes: Buffer | string): string {
  writeFileSync(join(folder, name), bytes);
  return join(folder, name);
}

/** A camera for sh: a header, then one frame every 20 ms until it is ended. */
function endless(name: string): string {
  const head = file(`${name}.head`, y4m([]));
  const frame = file(`${name}.frame`, y4m([7]).subarray(y4m([]).length));
  return `cat ${head}; while :; do cat ${frame}; sleep 0.02; done`;
}

const LIVE: CommandSettings = { format: "y4m", live: true, timeoutMs: 5000 };
const RECORDED: CommandSettings = { ...LIVE, live: false };

interface Seen {
  pairs: { left: Buffer; right: Buffer; leftNs: bigint; sequence: number; clock: string }[];
  states: (string | undefined)[];
  held: (() => void)[];
  ended: boolean;
  error: DepthwattError | undefined;
}

const opened: PairSource[] = [];
afterEach(async () => {
  for (const source of opened.splice(0)) await source.stop();
});

/** @param release false: the test gives pairs back itself, from `held` */
async function play(settings: CommandSettings, release = true): Promise<{ source: PairSource; seen: Seen }> {
  const source = await openCommandSource(settings);
  opened.push(source);
  const seen: Seen = { pairs: [], states: [], held: [], ended: false, error: undefined };
  source.start({
    onPair: (pair) => {
      const { left, right, clock } = pair;
      const rows = (image: typeof left) =>
        Buffer.concat(
          Array.from({ length: image.height }, (_, y) =>
            image.data.subarray(y * image.strideBytes, y * image.strideBytes + image.width),
          ),
        );
      const { timestampNs: leftNs, sequence } = left;
      seen.pairs.push({ left: rows(left), right: rows(right), leftNs, sequence, clock });
      if (release) pair.release();
      else seen.held.push(() => pair.release());
    },
    onDegraded: (reason) => seen.states.push(reason),
    onEnd: () => {
      seen.ended = true;
    },
    onError: (error) => {
      seen.error = error as DepthwattError;
    },
  });
  return { source, seen };
}

async function refusal(settings: CommandSettings): Promise<DepthwattError> {
  const error = await openCommandSource(settings).then(
    async (source) => {
      await source.stop();
      return new Error("it was opened");
    },
    (caught: Error) => caught,
  );
  expect(error).toBeInstanceOf(DepthwattError);
  return error as DepthwattError;
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]![0] !== "Z";
  } catch {
    return false;
  }
};

/** A program for sh that writes frames with stated times, `agesMs` before they are written, and numbers. */
function timed(name: string, frames: readonly { ageMs: number; sequence: number }[]): string {
  const program = file(
    `${name}.mjs`,
    `const grey = Buffer.alloc(${WIDTH * HEIGHT}, 9);
process.stdout.write("YUV4MPEG2 W${WIDTH} H${HEIGHT} F25:1 Cmono\\n");
for (const { ageMs, sequence } of ${JSON.stringify(frames)}) {
  const time = process.hrtime.bigint() - BigInt(ageMs) * 1000000n;
  process.stdout.write(\`FRAME XTIME=\${time} XSEQ=\${sequence}\\n\`);
  process.stdout.write(grey);
  await new Promise((resolve) => setTimeout(resolve, 30));
}
setInterval(() => {}, 1000);`,
  );
  return `${process.execPath} ${program}`;
}

describe("stated capture times", () => {
  test("are the images' times, with the camera's numbers; gaps are losses of the driver", async () => {
    const numbers = [5, 6, 9, 10, 11, 12, 13, 14];
    const frames = numbers.map((sequence) => ({ ageMs: 200, sequence }));
    const beforeNs = process.hrtime.bigint();
    const { source, seen } = await play({ ...LIVE, sideBySide: timed("aged", frames) });
    await until("the last frame", () => seen.pairs.at(-1)?.sequence === 14);
    const arrivedNs = process.hrtime.bigint();
    for (const { leftNs, clock } of seen.pairs) {
      expect(clock).toBe("monotonic");
      expect(leftNs).toBeLessThan(arrivedNs - 200_000_000n);
      expect(leftNs).toBeGreaterThan(beforeNs - 200_000_000n);
    }
    expect(source.counters().dropsLeft).toEqual({ driver: 2 });
  });

  test.each([
    ["older than 10 s", 11_000],
    ["ahead of its arrival", -5000],
  ])("a time %s is refused with its distance, and the command is started again", async (_, ageMs) => {
    const frames = [0, 1, 2].map((sequence) => ({ ageMs: sequence === 2 ? ageMs : 0, sequence }));
    const { seen } = await play({ ...LIVE, sideBySide: timed(`odd${ageMs}`, frames) });
    await until("the refusal", () => seen.states.length > 0);
    expect(seen.states[0]).toMatch(
      /expected a capture time \(XTIME\) of the last 10 s, got one -?\d+(\.\d+)? s before/,
    );
  });
});

describe("recordings", () => {
  test("two commands: every frame, paired by its number, with the stream's time", async () => {
    const left = `cat ${file("left.y4m", y4m(count(40), 0))}`;
    const right = `cat ${file("right.y4m", y4m(count(40), 1))}`;
    const { source, seen } = await play({ ...RECORDED, left, right });
    expect(source.description).toMatchObject({
      title: "commands cat and cat, recorded, y4m 32x16 each at 25 Hz",
      width: 32,
      height: 16,
      leftFormat: "GREY",
      leftStrideBytes: 32,
      rateHz: undefined,
      clock: "file",
    });
    await until("the end", () => seen.ended);
    expect(seen.pairs).toEqual(
      count(40).map((number) => ({
        left: grey(number, 0),
        right: grey(number, 1),
        sequence: number,
        clock: "file",
        leftNs: BigInt(number) * 40_000_000n,
      })),
    );
    expect(source.counters()).toMatchObject({ pairs: 40, dropsLeft: {}, dropsRight: {}, skewMsMean: 0 });
  });

  test("a command that has exited while its frames wait for the other one's loses none", async () => {
    const left = `cat ${file("early.y4m", y4m(count(200), 0))}`;
    const right = `sh -c "sleep 0.4; cat ${file("late.y4m", y4m(count(200), 1))}"`;
    const { source, seen } = await play({ ...RECORDED, left, right });
    await until("the end", () => seen.ended);
    expect(seen.pairs.map(({ sequence }) => sequence)).toEqual(count(200));
    expect(seen.pairs.map((pair) => [pair.left, pair.right])).toEqual(
      count(200).map((number) => [grey(number, 0), grey(number, 1)]),
    );
    expect(source.counters()).toMatchObject({ pairs: 200, dropsLeft: {}, dropsRight: {} });
  });

  test("wait for a consumer that is slow, at most two pairs ahead, and lose nothing", async () => {
    const command = `cat ${file("slow.y4m", y4m(count(30)))}`;
    const { seen } = await play({ ...RECORDED, left: command, right: command }, false);
    for (let pair = 0; pair < 30; pair++) {
      await until(`pair ${pair}`, () => seen.held.length > 0);
      expect(seen.held.length).toBeLessThanOrEqual(2);
      seen.held.shift()!();
    }
    await until("the end", () => seen.ended);
    expect(seen.pairs.map(({ sequence }) => sequence)).toEqual(count(30));
  });

  test("raw frames side by side", async () => {
    const half = (side: number) => (y: number) => grey(5, side).subarray(y * WIDTH, (y + 1) * WIDTH);
    const rows = count(HEIGHT).flatMap((y) => [half(0)(y), half(1)(y)]);
    const sideBySide = `cat ${file("both.raw", Buffer.concat([...rows, ...rows]))}`;
    const { source, seen } = await play({
      ...RECORDED,
      sideBySide,
      format: "GREY",
      width: WIDTH,
      height: HEIGHT,
      rateHz: 50,
    });
    await until("the end", () => seen.ended);
    expect(source.description).toMatchObject({ width: 32, leftStrideBytes: 64, rightStrideBytes: 64 });
    expect(seen.pairs.map(({ left, right }) => [left, right])).toEqual(
      Array(2).fill([grey(5, 0), grey(5, 1)]),
    );
    expect(seen.pairs[1]!.leftNs).toBe(20_000_000n);
  });

  test("what one camera has beyond the other, and a cut frame, are counted", async () => {
    const left = `cat ${file("long.y4m", y4m(count(5)))}`;
    const right = `cat ${file("cut.y4m", y4m(count(3)).subarray(0, -100))}`;
    const { source, seen } = await play({ ...RECORDED, left, right });
    await until("the end", () => seen.ended);
    expect(seen.pairs).toHaveLength(2);
    expect(source.counters()).toMatchObject({ dropsLeft: { unmatched: 3 }, dropsRight: { cut: 1 } });
  });

  test("a command that fails after its frames is an error with its last line", async () => {
    const stream = file("fails.y4m", y4m(count(3)));
    const command = `cat ${stream}; echo all is well >&2; printf 'the disk is gone' >&2; exit 4`;
    const { seen } = await play({ ...RECORDED, shell: true, left: command, right: command });
    await until("the error", () => seen.error !== undefined);
    expect(seen.pairs).toHaveLength(3);
    expect(seen.error!.code).toBe("COMMAND_FAILED");
    // Both end alike; whichever is noticed first is reported.
    expect(seen.error!.message).toMatch(
      /^(left|right) command "sh": ended with exit code 4; its last line: the disk is gone$/,
    );
  });
});

describe("live commands", () => {
  test("are read as they come; frames without an idle worker are counted, and the newest come after", async () => {
    const { source, seen } = await play({ ...LIVE, shell: true, sideBySide: endless("busy") }, false);
    await until("drops", () => (source.counters().dropsLeft.noFreeBuffer ?? 0) >= 3);
    expect(seen.pairs).toHaveLength(8);
    for (const give of seen.held.splice(0)) give();
    await until("a newer pair", () => seen.pairs.length > 8);
    const [before, after] = seen.pairs.slice(7, 9);
    expect(after!.sequence - before!.sequence).toBeGreaterThanOrEqual(4);
    expect(after!.clock).toBe("monotonic");
    expect(Number(process.hrtime.bigint() - after!.leftNs)).toBeLessThan(5e9);
    for (const give of seen.held.splice(0)) give();
  });

  test("two of them are paired by the time of arrival", async () => {
    const left = endless("l");
    const { source, seen } = await play({ ...LIVE, shell: true, left, right: endless("r") });
    await until("pairs", () => seen.pairs.length >= 5);
    // The window is half a period, of whichever length this machine gives to 20 ms of sleep.
    const [first, last] = [seen.pairs[0]!, seen.pairs.at(-1)!];
    const periodMs = Number(last.leftNs - first.leftNs) / 1e6 / (seen.pairs.length - 1);
    expect(source.counters().skewMsMean).toBeLessThan(Math.max(20, periodMs));
    expect(source.description.rateHz).toBe(25);
  });

  test("start again when they end, with their last line in the state meanwhile", async () => {
    const [stream, mark] = [file("ends.y4m", y4m(count(2))), join(folder, "been-here")];
    const first = `touch ${mark}; cat ${stream}; echo 'lost rtsp://anna:secret@cam' >&2; exit 1`;
    const command = `if [ -e ${mark} ]; then ${endless("again")}; else ${first}; fi`;
    const clean = (line: string) => line.replace("secret", "(hidden)");
    const { source, seen } = await play({ ...LIVE, shell: true, sideBySide: command, clean });
    await until("the way back", () => seen.states.length === 2);
    expect(seen.states).toEqual([
      'side by side command "sh": ended with exit code 1; its last line: lost rtsp://anna:(hidden)@cam. ' +
        "It is started again in 0.5 s.",
      undefined,
    ]);
    const { sequence } = seen.pairs.at(-1)!;
    expect(sequence).toBeGreaterThanOrEqual(2);
    expect(source.counters().dropsLeft).toEqual({});
  });

  test("say what a recording needs where the command ends well", async () => {
    const { seen } = await play({ ...LIVE, sideBySide: `cat ${file("well.y4m", y4m(count(2)))}` });
    await until("the end", () => seen.states.length > 0);
    expect(seen.states[0]).toBe(
      'side by side command "cat": ended with exit code 0. It is started again in 0.5 s ' +
        "(a recording needs source.command.live: false).",
    );
  });

  test("wait longer before each start that helped nothing", async () => {
    const [stream, mark] = [file("once.y4m", y4m(count(1))), join(folder, "once")];
    const command = `if [ -e ${mark} ]; then exit 7; else touch ${mark}; cat ${stream}; fi`;
    const { seen } = await play({ ...LIVE, shell: true, sideBySide: command });
    await until("three ends", () => seen.states.length >= 3);
    const waits = seen.states.slice(0, 3).map((state) => /again in ([\d.]+) s/.exec(state!)![1]);
    expect(waits).toEqual(["0.5", "1", "2"]);
    expect(seen.states[1]).toContain("ended with exit code 7");
  });

  test("garbage between frames is counted, and the command is started again", async () => {
    const [stream, mark] = [
      file("garbage.y4m", Buffer.concat([y4m([0]), Buffer.from("oops\n")])),
      join(folder, "g"),
    ];
    const command = `if [ -e ${mark} ]; then ${endless("clean")}; else touch ${mark}; cat ${stream}; sleep 60; fi`;
    const { source, seen } = await play({ ...LIVE, shell: true, sideBySide: command });
    await until("the way back", () => seen.states.includes(undefined));
    expect(seen.states[0]).toContain('expected "FRAME" in front of a frame in YUV4MPEG2, got "oops"');
    expect(source.counters().dropsLeft).toEqual({ garbage: 1 });
  });

  test("one that falls silent is ended and started again", async () => {
    const [stream, mark] = [file("silent.y4m", y4m([0])), join(folder, "silent")];
    const command = `if [ -e ${mark} ]; then ${endless("loud")}; else touch ${mark}; cat ${stream}; sleep 60; fi`;
    const { seen } = await play({ ...LIVE, timeoutMs: 1500, shell: true, sideBySide: command });
    await until("the way back", () => seen.states.includes(undefined));
    expect(seen.states[0]).toMatch(/wrote no whole frame \(\d+ bytes so far\) for \d\.\d s/);
  });

  test("another size than before ends the run", async () => {
    const [one, two] = [file("one.y4m", y4m([0])), file("two.y4m", y4m([0], 0, { width: 64 }))];
    const mark = join(folder, "size");
    const command = `if [ -e ${mark} ]; then cat ${two}; else touch ${mark}; cat ${one}; fi`;
    const { seen } = await play({ ...LIVE, shell: true, sideBySide: command });
    await until("the error", () => seen.error !== undefined);
    expect([seen.error!.code, seen.error!.message]).toEqual([
      "DEVICE_UNSUITABLE",
      'side by side command "sh": expected it to come back with GREY 32x16, got GREY 64x16',
    ]);
  });

  test("stop resolves when the last held pair is released", async () => {
    const { source, seen } = await play({ ...LIVE, shell: true, sideBySide: endless("held") }, false);
    await until("two pairs", () => seen.held.length >= 2);
    let isStopped = false;
    const stopping = source.stop().then(() => {
      isStopped = true;
    });
    // Usually the programs have ended by then, and only the pairs are waited for.
    await sleep(200);
    const gives = seen.held.splice(0);
    for (const give of gives.slice(0, -1)) give();
    await sleep(20);
    expect(isStopped).toBe(false);
    gives.at(-1)!();
    await stopping;
  });

  test("stop ends the whole group, also who does not listen", async () => {
    const pids = join(mkdtempSync(join(folder, "pids-")), "pids");
    const deaf = `(trap '' TERM HUP; echo $$ >> ${pids}; sh -c 'trap "" TERM; echo $$ >> ${pids}; while :; do sleep 1; done') & `;
    const { source, seen } = await play({ ...LIVE, shell: true, sideBySide: deaf + endless("group") });
    const written = () => readFileSync(pids, "utf8").split("\n").filter(Boolean).map(Number);
    await until("the group", () => seen.pairs.length > 0 && existsSync(pids) && written().length >= 2);
    const members = written();
    expect(members.filter(isAlive)).toEqual(members);
    await source.stop();
    await until("their end", () => members.every((pid) => !isAlive(pid)));
  });
});

describe("refused at once", () => {
  test.each([
    [
      "a program that is not there",
      "no-such-program -x",
      'left command "no-such-program": cannot be started: there is no such program',
    ],
    [
      "a file that is no program",
      "/etc/passwd",
      'left command "passwd": cannot be started: it may not be executed',
    ],
    ["a file as a folder", "/etc/passwd/x", 'left command "x": cannot be started: there is no such folder'],
    [
      "a word that no program can be given",
      "echo a\0b",
      'left command "echo": cannot be started: ERR_INVALID_ARG_VALUE',
    ],
    [
      "one that dies",
      "cat /no/such/file",
      'left command "cat": ended with exit code 1; its last line: cat: /no/such/file: No such file or directory',
    ],
    ["one that writes nothing and ends", "true", 'left command "true": ended with exit code 0'],
    [
      "one that prints text",
      "echo hello",
      'left command "echo": expected "YUV4MPEG2" at the beginning of YUV4MPEG2, got "hello"',
    ],
  ])("%s", async (_, left, message) => {
    const error = await refusal({ ...LIVE, left, right: "sleep 60" });
    expect([error.code, error.message]).toEqual(["COMMAND_FAILED", message]);
  });

  test("one that closes its output and runs on", async () => {
    const error = await refusal({ ...LIVE, shell: true, sideBySide: "exec >&-; sleep 60" });
    expect(error.message).toBe('side by side command "sh": closed its output and did not end');
  });

  test("side by side frames of an odd width, with a hint about the command", async () => {
    const odd = Buffer.concat([Buffer.from("YUV4MPEG2 W33 H16 Cmono\nFRAME\n"), Buffer.alloc(33 * HEIGHT)]);
    const error = await refusal({ ...RECORDED, sideBySide: `cat ${file("33.y4m", odd)}` });
    expect([error.code, error.hint]).toEqual([
      "DEVICE_UNSUITABLE",
      "Let the command scale or crop its frames to such a width.",
    ]);
  });

  test("one that says nothing for too long", async () => {
    const error = await refusal({ ...LIVE, timeoutMs: 300, sideBySide: "sleep 60" });
    expect(error.message).toMatch(/^side by side command "sleep": wrote nothing for \d\.\d s$/);
  });

  test("two images of different sizes", async () => {
    const [left, right] = [y4m([0]), y4m([0], 0, { width: 64 })];
    const error = await refusal({
      ...RECORDED,
      left: `cat ${file("32.y4m", left)}`,
      right: `cat ${file("64.y4m", right)}`,
    });
    expect([error.code, error.message]).toEqual([
      "IMAGE_SIZE_MISMATCH",
      "expected both commands to deliver one size, got 32x16 and 64x16",
    ]);
  });
});

test("a live command that cannot come back ends the source with that error", async () => {
  const error = new DepthwattError("DEVICE_UNAVAILABLE", "its daemon is gone");
  const { seen } = await play({
    ...LIVE,
    shell: true,
    sideBySide: `cat ${file("brief.y4m", y4m(count(2)))}; exit 1`,
    giveUp: async () => error,
  });
  await until("the end", () => seen.error !== undefined);
  expect(seen.error).toBe(error);
});
