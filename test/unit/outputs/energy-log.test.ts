// SPDX-License-Identifier: Apache-2.0
// Tests the energy log: windows without a gap, entries by hand, the file's lines, rotation, crashes and a full disk.
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { energyFields, energyLine } from "../../../edge/cli/run/energy-entry.js";
import { readFiles } from "../../../edge/commands/energy/read.js";
import { sinceMoment } from "../../../edge/commands/energy/since.js";
import { energyPlot, grouped, sparkline, summarise } from "../../../edge/commands/energy/summary.js";
import type { EnergyRecord } from "../../../edge/contracts/energy.js";
import type { OutputContext } from "../../../edge/contracts/output.js";
import { EnergyFile, isOlderFile } from "../../../edge/outputs/energy/energy-file.js";
import { openEnergy } from "../../../edge/outputs/energy/energy-output.js";
import { csvHead, csvRow, jsonLine, readLines } from "../../../edge/outputs/energy/lines.js";
import { brokenEnergy, type EnergySettings } from "../../../edge/outputs/energy/settings.js";
import { EnergyLog } from "../../../edge/power/energy-log.js";
import type { PowerFigures } from "../../../power/index.js";

const DEFAULTS: EnergySettings = { rotateMegabytes: 10, rotateHours: 0, keepFiles: 10, compress: true };
const NO_RAIL = { available: false as const, reason: 'the rail "VDD_IN", gone, is not there' };

const record = (index: number, changes: Partial<EnergyRecord> = {}): EnergyRecord => ({
  time: new Date(Date.UTC(2026, 0, 31, 8, 0, 10 * index)).toISOString(),
  seconds: 10,
  asleepSeconds: 0,
  frames: 300,
  fps: 30,
  matcher: "sgm, 4 paths, 128 disparities",
  watts: 6,
  wattsUncertainty: 0.05,
  wattsIdle: 2.5,
  joules: 60,
  joulesPerFrame: 0.2,
  fpsPerWatt: 5,
  rails: { VDD_IN: 6, "VDD, CPU": 2 },
  mode: "15W",
  gpuMegahertz: 624.75,
  emcMegahertz: 2133,
  cpuMegahertz: 1510.4,
  temperatureCelsius: 48.5,
  throttled: false,
  ...changes,
});

describe("windows of the log", () => {
  const context = (throttled: number) => ({
    powerMode: "15W",
    onlineCores: 6,
    cpuKilohertz: { policy0: 729_600, policy4: 1_510_400 },
    gpuMegahertz: 624.75,
    emcMegahertz: { available: false as const, reason: "root only" },
    clocksLocked: false,
    tpcMask: 0,
    emcCapMegahertz: 2133,
    temperaturesCelsius: { cpu: 48.5, gpu: 47 },
    fans: {},
    throttle: { oc1: throttled },
  });
  function log(power: (seconds: number) => object) {
    const state = {
      nowNs: 5_000_000_000n,
      frames: 7,
      asleepSeconds: 2,
      windows: [] as [bigint, bigint][],
      records: [] as EnergyRecord[],
    };
    const energyLog = new EnergyLog({
      report: ({ fromNs, toNs }) => {
        state.windows.push([fromNs, toNs]);
        return power(Number(toNs - fromNs) / 1e9) as PowerFigures;
      },
      frames: () => state.frames,
      asleepSeconds: () => state.asleepSeconds,
      matcher: () => "sgm",
      onRecord: (one) => state.records.push(one),
      clock: () => state.nowNs,
      now: () => new Date(1000),
    });
    return { state, energyLog };
  }
  const pass = (state: { nowNs: bigint; frames: number }, seconds: number, frames: number) => {
    state.nowNs += BigInt(seconds * 1e9);
    state.frames += frames;
  };

  test("each window begins where the one before ended; counts are those of the window", () => {
    let throttled = 3;
    const { state, energyLog } = log((seconds) => ({
      available: true,
      watts: 6,
      wattsUncertainty: 0.05,
      idleWatts: 2.5,
      joules: 6 * seconds,
      joulesPerFrame: 0.2,
      fpsPerWatt: 5,
      rails: { IN: { available: true, watts: 6 }, CPU: NO_RAIL },
      context: context(throttled),
    }));
    energyLog.begin(0);
    pass(state, 10, 300);
    const first = energyLog.take();
    throttled = 4;
    state.asleepSeconds += 1.5;
    pass(state, 2.5, 50);
    const second = energyLog.take();
    expect(state.windows).toEqual([
      [5_000_000_000n, 15_000_000_000n],
      [15_000_000_000n, 17_500_000_000n],
    ]);
    expect(first).toEqual({
      time: "1970-01-01T00:00:01.000Z",
      seconds: 10,
      asleepSeconds: 0,
      frames: 300,
      fps: 30,
      matcher: "sgm",
      watts: 6,
      wattsUncertainty: 0.05,
      wattsIdle: 2.5,
      joules: 60,
      joulesPerFrame: 0.2,
      fpsPerWatt: 5,
      rails: { IN: 6, CPU: NO_RAIL },
      mode: "15W",
      gpuMegahertz: 624.75,
      emcMegahertz: { available: false, reason: "root only" },
      cpuMegahertz: 1510.4,
      temperatureCelsius: 48.5,
      throttled: { available: false, reason: "a rise needs two readings of the counters" },
    });
    expect([second.frames, second.fps, second.joules, second.throttled]).toEqual([50, 20, 15, true]);
    pass(state, 1, 30);
    expect(energyLog.take().throttled).toBe(false);
  });

  test("without a sensor the rate stays, and every figure of power has the sensor's reason", () => {
    const reason = { available: false, reason: "no sensor here" };
    const { state, energyLog } = log(() => reason);
    energyLog.begin(0);
    pass(state, 10, 300);
    const { fps, watts, joulesPerFrame, mode, throttled, rails } = energyLog.take();
    const noWatts = { available: false, reason: "the watts are unavailable" };
    expect([fps, watts, joulesPerFrame, mode, throttled, rails]).toEqual([
      30,
      reason,
      noWatts,
      noWatts,
      noWatts,
      {},
    ]);
  });

  test("the end makes an entry of the last window, unless it is too short for one", () => {
    vi.useFakeTimers();
    try {
      const { state, energyLog } = log(() => ({ available: false, reason: "none" }));
      energyLog.begin(10);
      pass(state, 10, 300);
      vi.advanceTimersByTime(10_000);
      pass(state, 1, 30);
      energyLog.end();
      expect(state.records.map(({ frames }) => frames)).toEqual([300, 30]);
      energyLog.begin(10);
      pass(state, 0.5, 15);
      energyLog.end();
      energyLog.begin(0);
      pass(state, 100, 3000);
      vi.advanceTimersByTime(100_000);
      energyLog.end();
      expect(state.records).toHaveLength(2);
    } finally {
      vi.useRealTimers();
    }
  });
});

test("the journal's fields, by hand", () => {
  expect(energyLine(record(0))).toBe("30.0 fps, 6.00 W, 0.200 J a frame, 5.00 fps/W");
  const fields = energyFields(record(0, { watts: NO_RAIL, rails: { VDD_IN: NO_RAIL } }));
  expect(fields).toMatchObject({
    event: "energy",
    watts: `unavailable: ${NO_RAIL.reason}`,
    clocks: "gpu 625 MHz, emc 2133 MHz, cpu 1510 MHz",
    rail_VDD_IN: `unavailable: ${NO_RAIL.reason}`,
    throttled: "false",
    matcher: "sgm, 4 paths, 128 disparities",
  });
  expect(energyLine(record(0, { watts: NO_RAIL }))).toBe("30.0 fps, watts unavailable");
});

describe("lines", () => {
  const strange = record(1, {
    watts: NO_RAIL,
    mode: 'a "quoted", mode',
    rails: { VDD_IN: NO_RAIL, "VDD, CPU": 2 },
  });

  test("JSON and CSV give back what was written", () => {
    const both = [record(0), strange];
    expect(readLines(both.map(jsonLine).join(""))).toEqual({ records: both, broken: 0 });
    const head = csvHead(both[0]!);
    expect(readLines(head + both.map((one) => csvRow(one, head)).join(""))).toEqual({
      records: both,
      broken: 0,
    });
  });

  test("a rail that is gone is unavailable, not 0; columns stay where they are", () => {
    const head = csvHead(record(0));
    const [, back] = readLines(
      head + csvRow(record(0), head) + csvRow(record(1, { rails: {} }), head),
    ).records;
    expect(back!.rails).toEqual({
      VDD_IN: { available: false, reason: "the sensor has no such rail now" },
      "VDD, CPU": { available: false, reason: "the sensor has no such rail now" },
    });
  });

  test.each([
    ["half a line", '{"time":"2026-01-31T08:00:00.000Z","seco'],
    ["no object", "5"],
    ["no rails", '{"time":"2026-01-31T08:00:00.000Z","seconds":1,"frames":1}'],
    ["a time that is none", '{"time":"soon","seconds":1,"frames":1,"rails":{}}'],
    ["binary", "\u0000\u0001"],
  ])("%s is counted and left out", (_, line) => {
    expect(readLines(`${jsonLine(record(0))}${line}\n`)).toEqual({ records: [record(0)], broken: 1 });
  });
});

describe("the file", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "depthwatt-energy-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const settings = (changes: Partial<EnergySettings> = {}): EnergySettings => ({
    ...DEFAULTS,
    ...changes,
  });

  test.each(["energy.jsonl", "energy.csv"])(
    "%s: continued after a crash that left half a line",
    async (name) => {
      const path = join(folder, name);
      const first = new EnergyFile(path, settings());
      await first.open();
      await first.write(record(0));
      appendFileSync(path, "2026-01-31T08:00:10.000Z,10,3");
      const second = new EnergyFile(path, settings());
      await second.open();
      await second.write(record(2));
      expect(readFiles([path])).toEqual({ records: [record(0), record(2)], broken: 1 });
    },
  );

  test.each([
    ["jsonl", true],
    ["csv", true],
    ["jsonl", false],
  ])(
    "%s rotates by size, compressed: %s; the newest older files stay, and all are read in order",
    async (ending, compress) => {
      const path = join(folder, `energy.${ending}`);
      writeFileSync(path, "");
      // 1 MB is 3000 lines: the file is filled to just below it.
      const line = ending === "csv" ? "" : jsonLine(record(0));
      if (line !== "") writeFileSync(path, line.repeat(Math.ceil(1e6 / line.length)));
      const file = new EnergyFile(
        path,
        settings({
          rotateMegabytes: ending === "csv" ? 0 : 1,
          rotateHours: ending === "csv" ? 1 : 0,
          keepFiles: 2,
          compress,
        }),
      );
      await file.open();
      const hours = [0, 360, 720, 1080].map((index) => record(index));
      for (const one of hours) await file.write(one);
      const names = readdirSync(folder).sort();
      if (ending === "csv") {
        expect(names).toEqual([
          "energy-20260131T100000000Z.csv.gz",
          "energy-20260131T110000000Z.csv.gz",
          "energy.csv",
        ]);
        expect(readFiles([path]).records).toEqual(hours.slice(1));
      } else {
        expect(names).toEqual([`energy-20260131T080000000Z.jsonl${compress ? ".gz" : ""}`, "energy.jsonl"]);
        expect(readFiles([path]).records.slice(-4)).toEqual(hours);
      }
    },
  );

  const write = async (name: string, changes: Partial<EnergySettings>, ...records: EnergyRecord[]) => {
    const file = new EnergyFile(join(folder, name), settings(changes));
    await file.open();
    let bytes = 0;
    for (const one of records) bytes += await file.write(one);
    return bytes;
  };

  test("a file that was closed at the end of a line is continued there, and a CSV file has one head", async () => {
    for (const one of [record(0), record(1), record(2)])
      for (const name of ["a.jsonl", "a.csv"]) await write(name, {}, one);
    expect(readFileSync(join(folder, "a.jsonl"), "utf8")).toBe(
      [0, 1, 2].map((i) => jsonLine(record(i))).join(""),
    );
    const head = csvHead(record(0));
    const rows = [0, 1, 2].map((i) => csvRow(record(i), head)).join("");
    expect(readFileSync(join(folder, "a.csv"), "utf8")).toBe(head + rows);
    await write("c.csv", {}, record(0), record(1), record(2));
    expect(readFileSync(join(folder, "c.csv"), "utf8")).toBe(head + rows);
    // The first write of a CSV file counts its head.
    expect(await write("b.csv", {}, record(0))).toBe(readFileSync(join(folder, "b.csv")).length);
    writeFileSync(join(folder, "half.jsonl"), `${jsonLine(record(0))}{"ti`);
    await write("half.jsonl", {}, record(1));
    expect(readFileSync(join(folder, "half.jsonl"), "utf8")).toBe(
      `${jsonLine(record(0))}{"ti\n${jsonLine(record(1))}`,
    );
  });

  test.each([
    [1_000_000, ["energy-20260131T080010000Z.jsonl", "energy.jsonl"]],
    [999_999, ["energy.jsonl"]],
  ])("a file of %i bytes, with 1 MB at most, before the next entry", async (bytes, names) => {
    writeFileSync(join(folder, "energy.jsonl"), `${"x".repeat(bytes - 1)}\n`);
    await write("energy.jsonl", { rotateMegabytes: 1, compress: false }, record(1));
    expect(readdirSync(folder).sort()).toEqual(names);
  });

  test("what was written counts: a file of 999,999 bytes is moved aside after one entry", async () => {
    writeFileSync(join(folder, "energy.jsonl"), `${"x".repeat(999_998)}\n`);
    const entries = [1, 2, 3].map((index) => record(index));
    await write("energy.jsonl", { rotateMegabytes: 1, compress: false }, ...entries);
    expect(readdirSync(folder).sort()).toEqual(["energy-20260131T080020000Z.jsonl", "energy.jsonl"]);
    expect(readFiles([join(folder, "energy.jsonl")]).records).toEqual(entries);
  });

  test.each(["jsonl", "csv"])(
    "%s: an hour after its first line a file is moved aside, also by another run, and 0 is never",
    async (ending) => {
      const name = `energy.${ending}`;
      const hourly = { rotateMegabytes: 0, rotateHours: 1, compress: false };
      const older = () => readdirSync(folder).filter((one) => one !== name);
      // The first line is of 8:00:00.
      await write(name, hourly, record(0));
      await write(name, hourly, record(359));
      expect(older()).toEqual([]);
      // 9:00:00 begins the next file, 9:00:10 and 9:59:50 belong to it.
      await write(name, hourly, record(360), record(361), record(719));
      expect(older()).toEqual([`energy-20260131T090000000Z.${ending}`]);
      await write(name, hourly, record(720));
      expect(older()).toHaveLength(2);
      await write(name, { ...hourly, rotateHours: 0 }, record(100_000));
      expect(older()).toHaveLength(2);
      const all = [0, 359, 360, 361, 719, 720, 100_000].map((index) => record(index));
      expect(readFiles([join(folder, name)])).toEqual({ records: all, broken: 0 });
    },
  );

  test.each([
    ["energy-20260131T080000000Z.jsonl", true],
    ["energy-20260131T080000000Z.jsonl.gz", true],
    ["energy-20260131T080000000Z.csv", false],
    ["energy-20260131T080000000Z.jsonl.gz.gz", false],
    ["energy-20260131T08000000Z.jsonl", false],
    ["energies-20260131T080000000Z.jsonl", false],
    ["energy.jsonl", false],
  ])("%s is an older file of energy.jsonl: %s", (name, expected) => {
    expect(isOlderFile(name, "/log/energy.jsonl")).toBe(expected);
  });

  test("the end writes the entries that wait for the disk", async () => {
    const inner = join(folder, "log");
    mkdirSync(inner);
    const path = join(inner, "energy.jsonl");
    const context = { settings: settings({ file: path }), notice: () => {} };
    const output = await openEnergy(context as unknown as OutputContext<EnergySettings>);
    renameSync(inner, `${inner}-away`);
    output.energy!(record(0));
    await vi.waitFor(() => expect(output.failure?.code).toBe("DISK_FULL"));
    renameSync(`${inner}-away`, inner);
    await output.close();
    expect(output.counters()).toEqual({
      sent: 1,
      bytes: jsonLine(record(0)).length,
      drops: {},
      details: { file: path },
    });
    expect(readFileSync(path, "utf8")).toBe(jsonLine(record(0)));
  });

  test("other files of the folder are not taken for older ones", async () => {
    for (const name of [
      "energy-notes.jsonl",
      "energy-20260131T080000000Z.jsonl.gz.tmp",
      "other-20260131T080000000Z.jsonl",
    ])
      writeFileSync(join(folder, name), "text\n");
    writeFileSync(join(folder, "energy.jsonl"), jsonLine(record(0)));
    expect(readFiles([join(folder, "energy.jsonl")])).toEqual({ records: [record(0)], broken: 0 });
  });

  test("entries wait for a disk that refuses them, and none is lost when it takes them again", async () => {
    const inner = join(folder, "log");
    mkdirSync(inner);
    const notices: string[] = [];
    const path = join(inner, "energy.jsonl");
    const context = { settings: settings({ file: path }), notice: (text: string) => notices.push(text) };
    const output = await openEnergy(context as unknown as OutputContext<EnergySettings>);
    output.energy!(record(0));
    await vi.waitFor(() => expect(output.counters().sent).toBe(1));
    renameSync(inner, `${inner}-away`);
    output.energy!(record(1));
    await vi.waitFor(() => expect(output.failure?.code).toBe("DISK_FULL"));
    expect(notices).toEqual([expect.stringContaining("cannot write to")]);
    output.energy!(record(2));
    await vi.waitFor(() => expect(output.failure?.code).toBe("DISK_FULL"));
    renameSync(`${inner}-away`, inner);
    output.energy!(record(3));
    await vi.waitFor(() => expect(output.counters().sent).toBe(4));
    expect(output.failure).toBeUndefined();
    expect(notices.at(-1)).toContain("can be written again");
    await output.close();
    expect(readFiles([path]).records).toEqual([0, 1, 2, 3].map((index) => record(index)));
    expect(output.counters().bytes).toBe(readFileSync(path).length);
  });

  test("more entries than may wait: the oldest are dropped and counted", async () => {
    const inner = join(folder, "gone");
    mkdirSync(inner);
    const context = { settings: settings({ file: join(inner, "energy.jsonl") }), notice: () => {} };
    const output = await openEnergy(context as unknown as OutputContext<EnergySettings>);
    rmSync(inner, { recursive: true });
    for (let index = 0; index < 1003; index++) output.energy!(record(index));
    await output.close();
    expect(output.counters()).toMatchObject({ sent: 0, drops: { diskFull: 3 } });
  });

  test("a folder that is not there is refused when the output opens", async () => {
    const context = { settings: settings({ file: join(folder, "none", "energy.jsonl") }), notice: () => {} };
    await expect(openEnergy(context as unknown as OutputContext<EnergySettings>)).rejects.toMatchObject({
      code: "OUTPUT_UNWRITABLE",
    });
  });

  test("the name must say the format", () => {
    expect(brokenEnergy(settings({ file: "energy.txt" }))).toMatchObject([{ keys: ["file"] }]);
    expect(brokenEnergy(settings({ file: "energy.csv" }))).toEqual([]);
  });
});

describe("depthwatt energy", () => {
  test("energy and frames are added up, so that short windows weigh less", () => {
    const records = [
      record(0),
      record(1, { seconds: 5, frames: 50, joules: 40, temperatureCelsius: 60, throttled: true, mode: "25W" }),
      record(2, { watts: NO_RAIL, joules: NO_RAIL, joulesPerFrame: NO_RAIL }),
    ];
    expect(summarise(records)).toEqual({
      from: records[0]!.time,
      to: records[2]!.time,
      seconds: 25,
      frames: 650,
      fps: 26,
      watts: 100 / 15,
      joules: 100,
      joulesPerFrame: 100 / 350,
      fpsPerWatt: 3.5,
      temperatureCelsius: 60,
      throttled: true,
      modes: ["15W", "25W"],
      matchers: ["sgm, 4 paths, 128 disparities"],
    });
    const none = summarise([records[2]!]);
    expect([none.watts, none.joules, none.joulesPerFrame, none.fpsPerWatt]).toEqual(Array(4).fill(undefined));
  });

  test("groups hold every entry once", () => {
    const records = Array.from({ length: 45 }, (_, index) => record(index));
    const groups = grouped(records, 20);
    expect(groups).toHaveLength(15);
    expect(groups.reduce((sum, { frames }) => sum + frames, 0)).toBe(45 * 300);
    expect(grouped(records.slice(0, 3), 20)).toHaveLength(3);
  });

  test("a sparkline begins at 0, and leaves out unknown values", () => {
    expect(sparkline([0, 3.5, 7, undefined])).toBe("▁▅█ ");
    expect(sparkline([undefined])).toBe(" ");
  });

  test("the plot has both lines, and there is none without watts", () => {
    expect(energyPlot([record(0), record(1)])).toContain("J a frame");
    expect(energyPlot([record(0, { watts: NO_RAIL, joulesPerFrame: NO_RAIL })])).toBeUndefined();
  });

  const now = new Date("2026-01-31T12:00:00Z");
  test.each([
    ["2 hours", "2026-01-31T10:00:00.000Z"],
    ["30 min ago", "2026-01-31T11:30:00.000Z"],
    ["1d", "2026-01-30T12:00:00.000Z"],
    ["90s", "2026-01-31T11:58:30.000Z"],
    ["5 seconds", "2026-01-31T11:59:55.000Z"],
    ["2026-01-31T08:00Z", "2026-01-31T08:00:00.000Z"],
  ])("--since '%s'", (text, moment) => {
    expect(sinceMoment(text, now).toISOString()).toBe(moment);
  });
  test.each(["2 fortnights", "", "soon"])("--since '%s' is refused", (text) => {
    expect(() => sinceMoment(text, now)).toThrow(expect.objectContaining({ code: "USAGE" }));
  });
});
