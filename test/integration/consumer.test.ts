// SPDX-License-Identifier: Apache-2.0
// Publisher, Mosquitto and consumer together: the library, and `depthwatt consume` as a program (compiled, from dist/).
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt from "mqtt";
import { afterEach, expect, test } from "vitest";
import { readGreyImage, readPfm } from "../../camera/index.js";
import { type ConsumerEvents, connectConsumer } from "../../clients/javascript/src/index.js";
import { FRAME_HEADROOM_BYTES } from "../../core/frame/frame-format.js";
import { writeFrame } from "../../core/frame/payload.js";
import { packageRoot } from "../../core/index.js";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import type { Publisher } from "../../edge/outputs/mqtt/publisher-types.js";
import { runInProcess } from "../doubles/command-line.js";
import { makeFrame, sleep, type TestFrame, until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function setUp(options: { websockets?: boolean } = {}) {
  const mosquitto = await startMosquitto(options);
  cleanups.push(() => mosquitto.stop());
  return mosquitto;
}

async function openPublisher(url: string, device = "test"): Promise<Publisher> {
  const publisher = createPublisher({ broker: url, base: "depthwatt", device });
  cleanups.push(() => publisher.close());
  await publisher.firstAttempt;
  return publisher;
}

const send = (publisher: Publisher, { buffer, bodyBytes, frame }: TestFrame) =>
  new Promise<boolean>((resolve) => {
    publisher.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, resolve);
  });

const nowFrame = (seed: number) =>
  makeFrame(seed, { leftTimestampNs: process.hrtime.bigint(), rightTimestampNs: process.hrtime.bigint() });

function collect(consumer: ReturnType<typeof connectConsumer>) {
  const events: { name: keyof ConsumerEvents; value: never }[] = [];
  for (const name of ["frame", "invalid", "state", "info", "cameraInfo", "metrics", "status"] as const) {
    consumer.on(name, (value) => events.push({ name, value: value as never }));
  }
  cleanups.push(() => consumer.close());
  return {
    of: <Name extends keyof ConsumerEvents>(name: Name): ConsumerEvents[Name][] =>
      events.filter((event) => event.name === name).map(({ value }) => value),
  };
}

interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

function depthwatt(...words: string[]): Promise<Run> {
  const child = spawn(process.execPath, [join(packageRoot(), "dist/edge/cli/main.js"), ...words]);
  cleanups.push(() => child.kill());
  const run: Run = { code: null, stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    run.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    run.stderr += chunk;
  });
  return new Promise((resolve) => child.once("close", (code) => resolve({ ...run, code })));
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "depthwatt-consume-"));
  cleanups.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

needs("mosquitto").suite("consumer against Mosquitto", () => {
  test("frames, documents, gaps and latency, by URL and through a client that was given", async () => {
    const mosquitto = await setUp({ websockets: true });
    const publisher = await openPublisher(mosquitto.url);
    publisher.state("online", "running");
    publisher.info({ version: "x" });
    const client = await mqtt.connectAsync(mosquitto.url);
    cleanups.push(() => client.endAsync(true));
    for (const broker of [mosquitto.url, mosquitto.webSocketUrl ?? "", client]) {
      const consumer = connectConsumer(broker, { device: "test" });
      const events = collect(consumer);
      expect(await consumer.firstAttempt).toMatchObject({ connected: true });
      await until(
        "retained documents",
        () => events.of("info").length === 1 && events.of("state").length === 1,
      );
      expect(events.of("state")).toEqual([
        { device: "test", state: "online", reason: "running", runId: expect.any(Number) },
      ]);
      const sent = nowFrame(1);
      await send(publisher, sent);
      // One that never reaches the socket: replaced while the other is being sent.
      const lost = [nowFrame(2), nowFrame(3), nowFrame(4)].map((frame) => send(publisher, frame));
      expect((await Promise.all(lost)).filter(Boolean)).toHaveLength(2);
      publisher.metrics({ fps: 30 });
      await until("all is there", () => events.of("frame").length === 3 && events.of("metrics").length === 1);
      const [first, second, third] = events.of("frame");
      expect(first?.counts()).toEqual(sent.pixels);
      expect(first?.latencyMs).toBeGreaterThan(0);
      // Milliseconds, and of this boot: a busy machine adds to it, a wrong unit or clock adds far more.
      expect(first?.latencyMs).toBeLessThan(60_000);
      expect((second?.missingBefore ?? 0) + (third?.missingBefore ?? 0)).toBe(1);
      expect(events.of("invalid")).toEqual([]);
      await consumer.close();
      await send(publisher, nowFrame(9));
      await sleep(50);
      expect(events.of("frame")).toHaveLength(3);
    }
    expect(client.connected).toBe(true);
  });

  test("a consumer emits no event after close(), even if messages are queued", async () => {
    const mosquitto = await setUp();
    const writer = await mqtt.connectAsync(mosquitto.url);
    cleanups.push(() => writer.endAsync(true));
    for (const broker of [mosquitto.url, await mqtt.connectAsync(mosquitto.url)]) {
      if (typeof broker !== "string") cleanups.push(() => broker.endAsync(true));
      const consumer = connectConsumer(broker, { device: "burst" });
      const events = collect(consumer);
      const closed = new Promise<void>((resolve) => {
        consumer.on("metrics", () => resolve(consumer.close()));
      });
      await consumer.firstAttempt;
      let burst = 0;
      // The time of the subscription is not reported.
      while (events.of("metrics").length === 0 && ++burst < 200) {
        for (let i = 0; i < 50; ++i) writer.publish("depthwatt/burst/metrics", `{"fps":${i}}`);
        await sleep(50);
      }
      // Every call waits for the end, the first one too.
      await Promise.all([closed, consumer.close()]);
      await sleep(100);
      expect(events.of("metrics")).toHaveLength(1);
    }
  });

  test("a damaged frame is reported as a CRC error, another's message as invalid, and the stream continues", async () => {
    const mosquitto = await setUp();
    const consumer = connectConsumer(mosquitto.url);
    const events = collect(consumer);
    await consumer.firstAttempt;
    const writer = await mqtt.connectAsync(mosquitto.url);
    cleanups.push(() => writer.endAsync(true));
    const { buffer, bodyBytes, frame } = makeFrame(1);
    const identity = { frameNumber: 0, runId: 1, clockDomain: 0 };
    const good = Buffer.from(writeFrame(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, identity));
    const damaged = Buffer.from(good);
    damaged[200] = damaged[200]! ^ 4;
    await until("the consumer has subscribed", () => mosquitto.log().includes("Sending SUBACK"));
    for (const payload of [damaged, Buffer.from("hello"), good]) {
      await writer.publishAsync("depthwatt/other/depth", payload);
    }
    await until("all three are judged", () => events.of("frame").length + events.of("invalid").length === 3);
    expect(events.of("invalid").map(({ crc, device }) => [crc, device])).toEqual([
      [true, "other"],
      [false, "other"],
    ]);
    expect(events.of("frame")).toHaveLength(1);
  });

  test("depthwatt consume finds the device, counts to --frames, saves, and prints one line of JSON", async () => {
    const mosquitto = await setUp();
    const publisher = await openPublisher(mosquitto.url, "found");
    const out = join(folder(), "new", "folder");
    const words = ["consume", mosquitto.url, "--frames", "5", "--json", "--save", out, "--timeout", "20"];
    let ended = false;
    const running = depthwatt(...words).finally(() => {
      ended = true;
    });
    for (let seed = 0; !ended; seed++) {
      await send(publisher, nowFrame(seed));
      await sleep(20);
    }
    const run = await running;
    expect(run).toMatchObject({ code: 0 });
    expect(run.stdout.trimEnd().split("\n")).toHaveLength(1);
    const summary = JSON.parse(run.stdout);
    expect(Object.keys(summary)).toEqual([
      "frames",
      "seconds",
      "fps",
      "latencyMs",
      "gaps",
      "crcErrors",
      "invalid",
      "publishers",
      "bytes",
      "energy",
    ]);
    expect(summary).toMatchObject({ frames: 5, gaps: 0, crcErrors: 0, invalid: 0, publishers: 1 });
    expect(summary.fps).toBeGreaterThan(0);
    expect(summary.latencyMs.p50).toBeGreaterThan(0);
    expect(summary.latencyMs.p50).toBeLessThan(60_000);
    const names = readdirSync(out).sort();
    expect(names).toHaveLength(10);
    const metadata = JSON.parse(readFileSync(join(out, names[0] ?? ""), "utf8"));
    expect(metadata).toMatchObject({
      device: "found",
      width: 64,
      height: 48,
      encoding: "rvl",
      clock: "monotonic",
    });
    const image = await readGreyImage(metadata.file);
    expect(image.data).toEqual(makeFrame(metadata.leftSequence).pixels);
  });

  test("frames of a publisher that restarts stand next to the older ones; two at once are reported", async () => {
    const mosquitto = await setUp();
    const out = folder();
    const writer = await mqtt.connectAsync(mosquitto.url);
    cleanups.push(() => writer.endAsync(true));
    const publish = (runId: number, frameNumber: number) => {
      const { buffer, bodyBytes, frame } = makeFrame(frameNumber);
      const identity = { frameNumber, runId, clockDomain: 0 };
      const message = writeFrame(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, identity);
      return writer.publishAsync("depthwatt/d/depth", Buffer.from(message));
    };
    let ended = false;
    const words = ["--frames", "60", "--save", out, "--format", "raw", "--timeout", "20", "--json"];
    const running = depthwatt("consume", mosquitto.url, ...words).finally(() => {
      ended = true;
    });
    // Twice the same ten numbers under two runs, one after the other; then both at once.
    for (let i = 0; !ended; i++) {
      await publish(i % 20 < 10 ? 0xa : 0xb, i % 10);
      if (i > 80) await publish(0xc, i);
      await sleep(5);
    }
    const run = await running;
    const summary = JSON.parse(run.stdout);
    const names = readdirSync(out).filter((name) => name.endsWith(".raw"));
    expect(names.every((name) => /^d-depth-0000000[abc]-\d{6}\.raw$/.test(name))).toBe(true);
    expect(new Set(names.map((name) => name.slice(8, 16))).size).toBeGreaterThan(1);
    expect(summary.publishers).toBeGreaterThan(1);
    expect(run.stderr).toMatch(/publishers send as depthwatt\/d at once \(runs [0-9a-f]{8} and/);
    expect(run.stderr).toMatch(/hint: give each its own device name/);
  });

  test("saves disparities as PFM, or raw where asked", async () => {
    const mosquitto = await setUp();
    const publisher = await openPublisher(mosquitto.url);
    for (const [format, ending] of [
      ["auto", "pfm"],
      ["raw", "raw"],
    ] as const) {
      const out = folder();
      let ended = false;
      const words = [
        "--stream",
        "disparity",
        "--frames",
        "1",
        "--save",
        out,
        "--format",
        format,
        "--timeout",
        "20",
      ];
      const running = depthwatt("consume", mosquitto.url, ...words).finally(() => {
        ended = true;
      });
      const sent = makeFrame(1, { stream: "disparity" });
      while (!ended) {
        await send(publisher, sent);
        await sleep(50);
      }
      expect(await running).toMatchObject({ code: 0 });
      const file = readdirSync(out).find((name) => name.endsWith(ending)) ?? "";
      if (ending === "raw") {
        expect(new Uint8Array(readFileSync(join(out, file)))).toEqual(new Uint8Array(sent.pixels.buffer));
        continue;
      }
      const { data } = await readPfm(join(out, file));
      for (const [i, count] of sent.pixels.entries()) {
        expect(data[i]).toBe(count === 0 ? Number.POSITIVE_INFINITY : (count - 1) / 16);
      }
    }
  });

  test("a frame that cannot be unpacked costs that frame and not the recording", async () => {
    const mosquitto = await setUp();
    const out = folder();
    const writer = await mqtt.connectAsync(mosquitto.url);
    cleanups.push(() => writer.endAsync(true));
    const encodeMessage = (frameNumber: number, damage: boolean) => {
      const { buffer, bodyBytes, frame } = makeFrame(frameNumber);
      // A header and CRC that are right around RVL words that are none.
      if (damage) buffer.fill(0xff, FRAME_HEADROOM_BYTES, FRAME_HEADROOM_BYTES + bodyBytes);
      const identity = { frameNumber, runId: 1, clockDomain: 0 };
      return Buffer.from(writeFrame(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, identity));
    };
    let ended = false;
    const words = ["--frames", "8", "--save", out, "--timeout", "20", "--json"];
    const running = depthwatt("consume", mosquitto.url, ...words).finally(() => {
      ended = true;
    });
    for (let i = 0; !ended; i++) {
      await writer.publishAsync("depthwatt/d/depth", encodeMessage(i, i % 2 === 1));
      await sleep(20);
    }
    const run = await running;
    expect(run).toMatchObject({ code: 0 });
    expect(JSON.parse(run.stdout)).toMatchObject({ frames: 8, crcErrors: 0 });
    expect(run.stderr).toMatch(/saved 4 frames to .*, 4 not decodable/);
    expect(run.stderr.match(/^d\/depth: /gm)).toHaveLength(1);
    expect(readdirSync(out).filter((name) => name.endsWith(".png"))).toHaveLength(4);
  });

  test("a folder that cannot be made ends it at once, with a code", async () => {
    const words = ["consume", "mqtt://127.0.0.1:9", "--save", "/proc/depthwatt"];
    const run = await runInProcess(words);
    expect(run).toMatchObject({ code: 3 });
    expect(run.stderr).toMatch(/^error: cannot write \/proc\/depthwatt: ENOENT/m);
    expect(run.stderr).toMatch(/^hint: /m);
  });

  test("reports the fault: no publisher, no consumer, no such option", async () => {
    const mosquitto = await setUp();
    const silent = await depthwatt(
      "consume",
      mosquitto.url,
      "--device",
      "nobody",
      "--timeout",
      "0.5",
      "--json",
    );
    expect(silent.code).toBe(5);
    expect(silent.stderr).toMatch(
      /error: no frame on depthwatt\/nobody\/depth for 0.5 s \(connected to mqtt:/,
    );
    expect(silent.stderr).toMatch(/hint: Check base topic, device and stream/);
    expect(JSON.parse(silent.stdout).frames).toBe(0);
    const unreachable = await runInProcess(["consume", "mqtt://127.0.0.1:9", "--timeout", "0.5"]);
    expect(unreachable.code).toBe(5);
    expect(unreachable.stderr).toMatch(
      /error: the broker mqtt:\/\/127.0.0.1:9 does not answer: nothing listens there/,
    );
    const usage = await runInProcess(["consume", mosquitto.url, "--stream", "colour"]);
    expect(usage.code).toBe(2);
    expect(usage.stderr).toMatch(/depth, disparity, confidence, left/);
  });
});
