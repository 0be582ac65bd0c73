// SPDX-License-Identifier: Apache-2.0
// From the driver's time stamp to the socket: two VGA cameras in memory, the real engine, publisher and broker. The engine
// reads the cameras' own buffers; the figures are printed with the machine's load, since they are of this machine.
import { loadavg } from "node:os";
import { afterEach, expect, test } from "vitest";
import { openV4l2Source } from "../../camera/index.js";
import { fakeVideo } from "../../camera/v4l2/test/fake-video/fake-video.js";
import { createEngine } from "../../cuda/index.js";
import { loadConfig } from "../../edge/config/index.js";
import { ageMs, type ComputedFrame } from "../../edge/contracts/computed-frame.js";
import { RecentValues } from "../../edge/contracts/statistics.js";
import { createPublisher } from "../../edge/outputs/mqtt/index.js";
import { RealtimeOffset } from "../../edge/outputs/mqtt/realtime-offset.js";
import { streamSinks } from "../../edge/outputs/mqtt/streams.js";
import { matchParameters } from "../../edge/pipeline/parameters.js";
import { Pipeline } from "../../edge/pipeline/pipeline.js";
import { clocks, video } from "../doubles/cameras.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";

const [width, height] = [640, 480];
const FRAMES = 100;
const RATE_HZ = 10;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

needs("toolchain", "mosquitto").suite("capture to published", () => {
  test(`${FRAMES} frames of VGA: time stamps to the socket, without a copy before the engine`, async () => {
    const mosquitto = await startMosquitto();
    cleanups.push(() => mosquitto.stop());
    const fake = fakeVideo();
    const formats = [{ fourcc: "YUYV", width, height, ratesHz: [RATE_HZ] }];
    for (const path of ["/l", "/r"]) fake.plugIn({ path, formats });
    const around = { video, clocks, system: fake.system, folders: { sysfs: "/nowhere" } };
    const source = await openV4l2Source({ left: "/l", right: "/r", width, height }, around);
    const { config } = loadConfig({});
    const engine = createEngine({
      ...source.description,
      inputWidth: width,
      inputHeight: height,
      match: matchParameters(config.match),
      refine: config.refine,
      geometry: { focalPixels: 500, baselineMetres: 0.1, disparityOffsetPixels: 0 },
      encodeDepth: "rvl",
      backend: "cpu",
      threads: 2,
      slots: 3,
    });
    cleanups.push(() => engine.close());
    const publisher = createPublisher({ broker: mosquitto.url, base: "b", device: "d" });
    cleanups.push(() => publisher.close());
    await publisher.firstAttempt;

    const memories = new Set<ArrayBufferLike>();
    const submitted: typeof engine = Object.create(engine, {
      submit: {
        value: (
          slot: number,
          left: Uint8Array,
          right: Uint8Array,
          done: Parameters<typeof engine.submit>[3],
        ) => {
          memories.add(left.buffer).add(right.buffer);
          engine.submit(slot, left, right, done);
        },
      },
    });
    const sent: ComputedFrame[] = [];
    const latency = new RecentValues();
    const sinks = streamSinks(config.outputs.mqtt, true, {
      publisher,
      offset: new RealtimeOffset(),
      onDropped: () => {},
      onReduced: () => {},
      colours: () => expect.fail("colours"),
    });
    expect(sinks).toHaveLength(1);
    const pipeline = new Pipeline({
      source,
      engine: submitted,
      width,
      height,
      frames: FRAMES,
      sinks: [
        (frame, release) =>
          sinks[0]!(frame, (wasSent) => {
            if (wasSent) {
              sent.push(frame);
              latency.add(ageMs(frame));
            }
            release();
          }),
      ],
    });
    for (const path of ["/l", "/r"]) fake.run(path, RATE_HZ, 3 * FRAMES);
    await pipeline.run();

    const times = sent.map(({ leftTimestampNs }) => leftTimestampNs);
    expect(sent.length).toBeGreaterThanOrEqual(FRAMES - 3);
    expect(times).toEqual([...times].sort((one, other) => (one < other ? -1 : 1)));
    // Eight buffers a camera are used again and again: a copy would need new memory with every frame.
    expect(memories.size).toBeLessThanOrEqual(16);
    const { p50, p99 } = latency.percentiles()!;
    console.log(
      `capture to published, ${width}x${height}, ${sent.length} frames: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ` +
        `load ${loadavg()[0]!.toFixed(1)}`,
    );
    expect(p50).toBeGreaterThan(0);
  });
});
