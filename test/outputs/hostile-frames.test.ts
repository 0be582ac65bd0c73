// SPDX-License-Identifier: Apache-2.0
// Tests the three consumer libraries at a real broker with an attacker: thousands of hostile frames on the topic of a
// device. Each is counted, none ends the reader, and the good frame behind them is read.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt from "mqtt";
import { afterAll, afterEach, expect, test } from "vitest";
import { connectConsumer } from "../../clients/javascript/src/index.js";
import { isDepthwattError, packageRoot } from "../../core/index.js";
import { sleep, until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs, PYTHON } from "../doubles/needs.js";
import { goldenMessages, hostileMessages, reseal } from "../doubles/readers/corpus.js";

const root = packageRoot();
const folder = mkdtempSync(join(tmpdir(), "depthwatt-hostile-frames-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const BATCH = 200;
const MARKERS = Math.ceil(hostileMessages().length / BATCH);
const TOPIC = "depthwatt/test/depth";
const hostile = hostileMessages();
const [good] = goldenMessages() as [Uint8Array];

async function broker() {
  const mosquitto = await startMosquitto({
    settings: ["allow_anonymous true", "max_queued_messages 0", "max_inflight_messages 0"],
  });
  cleanups.push(() => mosquitto.stop());
  const client = await mqtt.connectAsync(mosquitto.url);
  cleanups.push(() => client.endAsync(true));
  const publish = (message: Uint8Array) => client.publishAsync(TOPIC, Buffer.from(message), { qos: 1 });
  /** @param seen the number of the newest marker that the reader has printed */
  const publishAll = async (seen: () => number) => {
    for (let at = 0; at < hostile.length; at += BATCH) {
      for (const message of hostile.slice(at, at + BATCH)) await publish(message);
      // A broker drops what a slow reader of QoS 0 does not take, so each batch waits for the one before.
      await publish(marker(at + 1));
      await until(`marker ${at + 1}`, () => seen() === at + 1, 30_000);
    }
  };
  /** The subscription holds once a frame has come. */
  const publishUntil = async (isThere: () => boolean) => {
    let count = 0;
    for (; !isThere() && count < 600; count++) {
      await publish(good);
      await sleep(50);
    }
    return count;
  };
  return { mosquitto, publishAll, publishUntil };
}

/** A good frame of run 7. */
function marker(number: number): Uint8Array {
  const message = good.slice();
  const view = new DataView(message.buffer);
  view.setUint32(28, number, true);
  view.setUint32(80, 7, true);
  return reseal(message);
}

function started(program: string, words: string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(program, words, { cwd: root, env: { ...process.env, ...env } });
  cleanups.push(() => child.kill("SIGKILL"));
  let [output, errors] = ["", ""];
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (errors += chunk));
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { child, ended, output: () => output, errors: () => errors };
}

needs("mosquitto").suite("hostile frames", () => {
  test("in JavaScript", { timeout: 120_000 }, async () => {
    const { mosquitto, publishAll, publishUntil } = await broker();
    const consumer = connectConsumer(mosquitto.url);
    cleanups.push(() => consumer.close());
    let [frames, invalid, unreadable, newest] = [0, 0, 0, 0];
    consumer.on("invalid", () => invalid++);
    consumer.on("frame", (frame) => {
      frames++;
      try {
        frame.values();
        if (frame.header.runId === 7) newest = frame.header.frameNumber;
      } catch (error) {
        if (!isDepthwattError(error) || error.code !== "PAYLOAD_INVALID") throw error;
        unreadable++;
      }
    });
    await consumer.firstAttempt;
    await publishUntil(() => frames > 0);
    const before = frames;
    await publishAll(() => newest);
    expect(frames - before + invalid - MARKERS).toBe(hostile.length);
    expect(Math.min(frames - before, invalid, unreadable)).toBeGreaterThan(100);
    console.info(`JavaScript: ${hostile.length} frames, ${invalid} invalid, ${unreadable} unreadable`);
  });

  needs("paho", "numpy").suite("in Python", () => {
    test("with warnings as errors", { timeout: 120_000 }, async () => {
      const { mosquitto, publishAll, publishUntil } = await broker();
      const program = [
        "import sys; sys.path.insert(0, 'clients/python')",
        "from depthwatt import Depthwatt, FrameError",
        "unreadable = 0",
        "with Depthwatt(sys.argv[1], device='test', timeout=60, waiting=100000) as stream:",
        "    for frame in stream:",
        "        if frame.header.run_id == 7:",
        "            print(frame.header.frame_number, stream.received, stream.invalid, unreadable, stream.dropped, flush=True)",
        "        if stream.received == 1: print(0, 1, 0, 0, 0, flush=True)",
        "        try: frame.values",
        "        except FrameError: unreadable += 1",
      ].join("\n");
      const reader = started(PYTHON, ["-W", "error", "-c", program, mosquitto.url], {
        XDG_CACHE_HOME: folder,
      });
      const reported = () => reader.output().trim().split("\n").at(-1)!.split(" ").map(Number);
      const warm = await publishUntil(() => reader.output() !== "");
      await publishAll(() => reported()[0]!);
      expect([reader.errors(), reader.child.exitCode]).toEqual(["", null]);
      const [, received = 0, invalid = 0, unreadable, dropped] = reported();
      expect(dropped).toBe(0);
      // The first ones are lost if they are sent before the subscription.
      expect(received + invalid - MARKERS).toBeGreaterThan(hostile.length);
      expect(received + invalid - MARKERS).toBeLessThanOrEqual(hostile.length + warm);
      console.info(`Python: ${hostile.length} frames, ${invalid} invalid, ${unreadable} unreadable`);
    });
  });

  needs("toolchain", "libmosquitto").suite("in C++", () => {
    test("under the sanitizers", { timeout: 120_000 }, async () => {
      const program = join(folder, "nearest");
      const flags = ["-std=c++17", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
      execFileSync("g++", [...flags, "clients/cpp/nearest.cc", "-lmosquitto", "-o", program], { cwd: root });
      const { mosquitto, publishAll, publishUntil } = await broker();
      const reader = started(program, ["127.0.0.1", String(mosquitto.port), TOPIC], {
        ASAN_OPTIONS: "detect_leaks=0",
      });
      await publishUntil(() => reader.output() !== "");
      await publishAll(() => Number(reader.output().trim().split("\n").at(-1)!.split(" ")[0]));
      expect(reader.errors()).not.toMatch(/ERROR: AddressSanitizer|runtime error/);
      expect(reader.child.exitCode).toBeNull();
      const refused = reader.errors().split("\n").length - 1;
      expect(refused).toBeGreaterThan(100);
      console.info(`C++: ${hostile.length} frames, ${refused} refused`);
    });
  });
});
