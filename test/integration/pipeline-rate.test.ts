// SPDX-License-Identifier: Apache-2.0
// Tests that the pipeline keeps its rate and its memory with any state of the broker: fine, stalled, dead, back again.
// Real publisher, real Mosquitto behind a link that can fail; only the engine is a clock that finishes a frame every
// few milliseconds.
import { afterEach, expect, test } from "vitest";
import { FRAME_HEADROOM_BYTES } from "../../core/frame/frame-format.js";
import { type EngineSlot, type FrameResult, type NativeEngine, STAGE_NAMES } from "../../cuda/index.js";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import { Pipeline } from "../../edge/pipeline/pipeline.js";
import { makeFrame, sleep, until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { HandSource, UNWATCHED } from "../doubles/pipeline.js";
import { startTcpProxy } from "../doubles/tcp-proxy.js";

const [WIDTH, HEIGHT] = [1280, 720];
const COMPUTE_MS = 4;
const PERIOD_MS = 10;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Three slots, the fewest that the publisher leaves one of; a raw HD depth picture in each. */
function makeEngine(): NativeEngine {
  const slots: EngineSlot[] = [1, 2, 3].map((seed) => ({
    left: new Uint8Array(0),
    leftRgb: new Uint8Array(0),
    right: new Uint8Array(0),
    voxels: new Int16Array(0),
    registered: new Uint16Array(0),
    registeredConfidence: new Uint8Array(0),
    registeredImage: new Uint8Array(0),
    floor: new Float64Array(0),
    grid: new Uint8Array(0),
    disparityQ4: new Int16Array(0),
    confidence: new Uint8Array(0),
    depthMillimetres: new Uint16Array(0),
    encodedDepth: makeFrame(seed, { encoding: "raw" }, [WIDTH, HEIGHT]).buffer,
    encodedDisparity: new Uint8Array(0),
    points: new Uint8Array(0),
  }));
  return {
    info: {
      backend: "cpu",
      backendReason: "a test",
      instructionSet: "scalar",
      threads: 1,
      workspaceBytes: 0,
      framesInFlight: 1,
      ...UNWATCHED,
    },
    slots,
    framesInFlight: 1,
    stageMilliseconds: new Float64Array(STAGE_NAMES.length).fill(1),
    compute: () => Promise.reject(new Error("frames are submitted")),
    submit(slot, _left, _right, onDone: (error: Error | null, result: FrameResult) => void) {
      const result = {
        slot,
        encodedDepthBytes: 2 * WIDTH * HEIGHT,
        encodedDisparityBytes: 0,
        validPixels: 1,
        matchedPixels: 1,
        droppedPixels: { filled: 0, lowConfidence: 0, tooNear: 0, tooFar: 0 },
      };
      setTimeout(() => onDone(null, result), COMPUTE_MS);
    },
    setRightMap() {},
    close() {},
  };
}

needs("mosquitto").suite("the pipeline's rate", () => {
  test("stays the same with a good, a stalled and a dead broker; memory stays flat", async () => {
    const mosquitto = await startMosquitto();
    cleanups.push(() => mosquitto.stop());
    const proxy = await startTcpProxy(mosquitto.port);
    cleanups.push(() => proxy.close());
    const publisher = createPublisher({ broker: `mqtt://127.0.0.1:${proxy.port}`, base: "b", device: "d" });
    cleanups.push(() => publisher.close());
    await publisher.firstAttempt;
    const source = new HandSource();
    const pipeline = new Pipeline({
      source,
      engine: makeEngine(),
      width: WIDTH,
      height: HEIGHT,
      sinks: [
        (frame, release) => {
          const { slot, result, clock, leftTimestampNs, rightTimestampNs, leftSequence, rightSequence } =
            frame;
          const times = { clock, leftTimestampNs, rightTimestampNs, realtimeOffsetNs: undefined };
          const shape = {
            stream: "depth",
            encoding: "raw",
            element: "u16",
            width: WIDTH,
            height: HEIGHT,
          } as const;
          const description = { ...shape, ...times, leftSequence, rightSequence };
          publisher.publish(
            slot.encodedDepth,
            FRAME_HEADROOM_BYTES,
            result.encodedDepthBytes,
            description,
            release,
          );
        },
      ],
    });
    const ended = pipeline.run();

    /** Frames computed out of pairs delivered in 0.6 seconds. */
    const share = async () => {
      const before = pipeline.frames;
      let delivered = 0;
      const end = performance.now() + 600;
      while (performance.now() < end) {
        source.deliver();
        delivered++;
        await sleep(PERIOD_MS);
      }
      return (pipeline.frames - before) / delivered;
    };
    await share();
    const rssBefore = process.memoryUsage().rss;
    const good = await share();
    proxy.stall(true);
    const stalled = await share();
    expect(publisher.counters().drops.backpressure).toBeGreaterThan(5);
    proxy.cut();
    await mosquitto.stop("SIGKILL");
    const dead = await share();
    expect(publisher.counters().drops.offline).toBeGreaterThan(5);
    for (const [what, measured] of Object.entries({ stalled, dead })) {
      // A broker that was waited for would leave nothing; the rest is room for what else the machine does meanwhile.
      expect(measured, `${what}, against ${good} with a good broker`).toBeGreaterThan(0.6 * good);
    }
    // Two seconds of frames would be some 150 x 1.8 MB.
    expect((process.memoryUsage().rss - rssBefore) / 2 ** 20).toBeLessThan(64);

    const back = await startMosquitto({ port: mosquitto.port });
    cleanups.push(() => back.stop());
    proxy.stall(false);
    await until("the publisher is back", () => publisher.counters().connected, 15_000);
    const before = publisher.counters().published;
    await share();
    expect(publisher.counters().published).toBeGreaterThan(before + 5);
    pipeline.stop();
    await ended;
  });
});
