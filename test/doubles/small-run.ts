// SPDX-License-Identifier: Apache-2.0
// A run of the small synthetic scene in this process, and the newest frame of each of its streams as a consumer receives it.
import { connectConsumer, type ReceivedFrame, type StreamName } from "../../clients/javascript/src/index.js";
import { startTrialBroker } from "../../edge/broker/trial-broker.js";
import { loadConfig } from "../../edge/config/index.js";
import { openRuntime } from "../../edge/run/main.js";
import { until } from "./frames.js";

export const [WIDTH, HEIGHT] = [160, 96];

/** Frames of all streams that waitForBoth() looks at. */
const KEPT_FRAMES = 100;

/** @param set settings, such as "outputs.mqtt.left.enabled=true" */
export async function startSmallRun(streams: readonly StreamName[], ...set: string[]) {
  const broker = await startTrialBroker({});
  const size = [`source.synthetic.width=${WIDTH}`, `source.synthetic.height=${HEIGHT}`];
  const { config } = loadConfig({
    set: [
      ...["board=none", "power.sensor=none", "match.numDisparities=32", "outputs.viewer.enabled=false"],
      ...size,
      `outputs.mqtt.broker=${broker.url}`,
      ...set,
    ],
    environment: {},
  });
  const runtime = await openRuntime(config, undefined, { onNotice: () => {} });
  const ended = runtime.run();
  const newest = new Map<string, ReceivedFrame>();
  const recent: ReceivedFrame[] = [];
  const { device, base } = config;
  const consumer = connectConsumer(broker.url, { device, base, streams });
  consumer.on("frame", (frame) => {
    newest.set(frame.stream, frame);
    if (recent.push(frame) > KEPT_FRAMES) recent.shift();
  });
  return {
    runtime,
    /** The newest frame of a stream. */
    newest: (stream: string) => newest.get(stream),
    /** Waits until the newest frame of a stream is as expected. */
    async waitFor(stream: string, expected: Partial<ReceivedFrame["header"]> = {}): Promise<ReceivedFrame> {
      const fits = ({ header }: ReceivedFrame) =>
        Object.entries(expected).every(([name, value]) => header[name as keyof typeof header] === value);
      const found = () => newest.get(stream);
      await until(
        `${stream} ${JSON.stringify(expected)}`,
        () => found() !== undefined && fits(found()!),
        30_000,
      );
      return found()!;
    },
    /** Waits until two streams have a frame of one pair of images, and returns these two. */
    async waitForBoth(first: string, second: string): Promise<[ReceivedFrame, ReceivedFrame]> {
      const frames = (stream: string) => recent.filter((frame) => frame.stream === stream);
      const found = () =>
        frames(first).flatMap((one): [ReceivedFrame, ReceivedFrame][] => {
          const other = frames(second).find(({ header }) => header.leftSequence === one.header.leftSequence);
          return other === undefined ? [] : [[one, other]];
        });
      await until(`${first} and ${second} of one pair`, () => found().length > 0, 30_000);
      return found()[0]!;
    },
    async close(): Promise<void> {
      await consumer.close();
      runtime.stop();
      await ended;
      await broker.close();
    },
  };
}
