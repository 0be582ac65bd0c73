// SPDX-License-Identifier: Apache-2.0
// Failures of a running program: what it publishes and logs meanwhile, that it recovers automatically, and that it then holds what it
// held before. docs/guides/failures.md names each.
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { writeScene } from "../../camera/index.js";
import { connectConsumer } from "../../clients/javascript/src/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { BadDays, type Day } from "../doubles/bad-day.js";
import { accountedDepth } from "../doubles/controlled-run.js";
import { sleep, until } from "../doubles/frames.js";
import { fillDisk, mountDisk, testThatMounts } from "../doubles/mounts.js";
import { needs } from "../doubles/needs.js";

const bench = new BadDays();
afterEach(() => bench.close());

/** Each waits for what comes back automatically, a minute for each thing at most. */
vi.setConfig({ testTimeout: 180_000 });

/** The run ends in order, and every frame that it computed was sent or dropped under a cause. */
async function endsExactly(day: Day, last = /^stopped$/) {
  const { code, figures, log } = await day.end();
  expect(code, log).toBe(0);
  expect(accountedDepth(figures), JSON.stringify(figures.drops)).toBe(figures.frames);
  await until("the last state", () => last.test(day.states.at(-1)?.state ?? ""), 30_000);
  return figures;
}

needs("mosquitto").suite("failures of a running program", () => {
  test("the broker's port refuses connections for two seconds", async () => {
    const day = await bench.begin();
    const before = await day.holds();
    const { port } = day.link;
    await day.link.close();
    await day.says(/nothing listens there/);
    await sleep(2000);
    const { startTcpProxy } = await import("../doubles/tcp-proxy.js");
    const again = await startTcpProxy(day.broker.port, port);
    bench.owns(() => again.close());
    await day.delivers();
    await day.isState("online");
    await day.holdsAgain(before);
    const { drops } = await endsExactly(day);
    expect(drops["mqtt.depth.offline"]).toBeGreaterThan(0);
  });

  test("the connection is cut in the middle of frames, three times", async () => {
    const day = await bench.begin({ settings: ["outputs.mqtt.depth.encoding=raw"] });
    const before = await day.holds();
    for (let cut = 0; cut < 3; cut++) {
      day.link.cut();
      await day.delivers();
    }
    await day.says(/closed the connection/);
    await day.isState("online");
    await day.holdsAgain(before);
    await endsExactly(day);
  });

  test("the broker takes nothing for some seconds", async () => {
    const raw = ["source.synthetic.width=640", "source.synthetic.height=480", "match.numDisparities=16"];
    const day = await bench.begin({ settings: [...raw, "outputs.mqtt.depth.encoding=raw"] });
    const before = await day.holds();
    day.broker.freeze();
    bench.owns(() => day.broker.thaw());
    // The buffers of two sockets fill, then the newest frame replaces the waiting one.
    await sleep(8000);
    day.broker.thaw();
    await day.delivers();
    await day.isState("online");
    await day.holdsAgain(before);
    // Data that still waits in the link may be cut off at the end: then the broker publishes the will.
    await endsExactly(day, /^(stopped|offline)$/);
  });

  test("settings that are wrong, while it runs: the running ones stay", async () => {
    const file = join(bench.folder(), "depthwatt.yaml");
    writeFileSync(file, "refine: {median: true}\n");
    const day = await bench.begin({ words: ["--config", file] });
    const before = await day.holds();
    writeFileSync(file, "refine: {median: 7}\nmatch: {sgm: {p1: 90, p2: 10}}\n");
    day.signal("SIGHUP");
    await day.says(/refine\.median.*the running settings stay/);
    await day.delivers();
    await day.isState("online");
    await day.holdsAgain(before);
    await endsExactly(day);
  });

  test("the calibration is replaced, first by one of another size, then by one that fits", async () => {
    const folder = bench.folder();
    const scene = { frames: 2, truth: "none", view: "raw" } as const;
    await writeScene(loadNative(), { ...scene, width: 192, height: 128, folder: join(folder, "scene") });
    await writeScene(loadNative(), { ...scene, width: 96, height: 64, folder: join(folder, "other") });
    const file = join(folder, "depthwatt.yaml");
    const sides = ["left", "right"].map((side) => `${side}: ${join(folder, "scene", side)}`).join(", ");
    const source = `source: {kind: replay, replay: {${sides}, loop: true, rateHz: 20}}`;
    const write = (from: string, crop: number) => {
      const calibration = join(folder, from, "calibration.json");
      writeFileSync(file, `${source}\ncalibration: {file: ${calibration}, crop: ${crop}}\n`);
    };
    write("scene", 0);
    const day = await bench.begin({ words: ["--config", file] });
    const before = await day.holds();
    write("other", 0);
    day.signal("SIGHUP");
    await day.says(/96 ?x ?64.*the running settings stay/);
    await day.delivers();
    write("scene", 1);
    day.signal("SIGHUP");
    await day.says(/changed calibration\.crop/);
    await day.delivers();
    await day.isState("online");
    await day.holdsAgain(before);
    await endsExactly(day);
  });

  testThatMounts("the disk of the recording fills, and is emptied again", async () => {
    const disk = join(bench.folder(), "disk");
    mkdirSync(disk);
    bench.owns(mountDisk(disk, "64m"));
    const day = await bench.begin({ settings: [`outputs.mcap.file=${disk}/out-{time}.mcap`] });
    const before = await day.holds();
    const ballast = fillDisk(disk);
    await day.isState("degraded", /output mcap: .*(less than|ENOSPC|free)/);
    // Depth continues.
    await day.delivers();
    rmSync(ballast);
    await day.says(/recording: the disk takes it again/);
    await day.isState("online");
    await day.holdsAgain(before);
    const { frames, drops, outputs } = await endsExactly(day);
    const lost = Object.entries(drops).filter(([cause]) => cause.startsWith("mcap."));
    const { sent } = outputs.mcap as { sent: number };
    expect(sent + lost.reduce((sum, [, count]) => sum + count, 0)).toBe(frames);
    expect(lost.length).toBeGreaterThan(0);
  });

  test("somebody else runs under the same device name, and ends", async () => {
    const day = await bench.begin();
    const before = await day.holds();
    const { createPublisher } = await import("../../edge/outputs/mqtt/publisher.js");
    const rival = createPublisher({ broker: day.broker.url, base: "depthwatt", device: "bad" });
    await rival.firstAttempt;
    rival.state("online", "the other");
    await day.says(/another depthwatt publishes as depthwatt\/bad: give each its own device name/);
    await rival.close();
    await day.isState("online", /^(?!the other)/);
    await day.delivers();
    await day.holdsAgain(before);
    await endsExactly(day);
  });
});

needs("mosquitto", "toolchain").suite("a clock that jumps", () => {
  test.each([
    ["an hour forward", 3600],
    ["an hour back", -3600],
  ])("%s: frames go on in order, latency stays true, and their date follows", async (_, seconds) => {
    const folder = bench.folder();
    const library = join(folder, "shifted_clock.so");
    const source = "test/doubles/native/shifted_clock.c";
    execFileSync("gcc", ["-shared", "-fPIC", "-O1", source, "-o", library, "-ldl"]);
    const file = join(folder, "shift");
    const shift = (by: number) => {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(BigInt(by));
      const descriptor = openSync(file, "r+");
      writeSync(descriptor, bytes, 0, 8, 0);
      closeSync(descriptor);
    };
    writeFileSync(file, Buffer.alloc(8));
    const day = await bench.begin({ environment: { LD_PRELOAD: library, CLOCK_SHIFT_FILE: file } });
    const consumer = connectConsumer(day.broker.url, { device: "bad" });
    bench.owns(() => consumer.close());
    const offsets: number[] = [];
    const numbers: number[] = [];
    let last = 0;
    consumer.on("frame", ({ header }) => {
      numbers.push(header.frameNumber);
      last = Number(header.realtimeOffsetNs!) / 1e9;
      offsets.push(last);
    });
    await until("frames", () => offsets.length > 5);
    const before = await day.holds();
    const dated = last;
    shift(seconds);
    await until("the date follows", () => Math.abs(last - dated - seconds) < 60, 30_000);
    await day.delivers();
    shift(0);
    await until("and comes back", () => Math.abs(last - dated) < 60, 30_000);
    await day.isState("online");
    await day.holdsAgain(before);
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    const { latencyMs, fps, seconds: ran } = await endsExactly(day);
    const { p50, p99 } = latencyMs as { p50: number; p99: number };
    expect(p50).toBeGreaterThan(0);
    expect(p99).toBeLessThan(600_000);
    expect(ran).toBeLessThan(600);
    expect(fps).toBeGreaterThan(0);
  });
});
