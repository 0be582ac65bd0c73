// SPDX-License-Identifier: Apache-2.0
// The preview topic of a real run, as a program that only knows pictures sees it.
import mqtt, { type IPublishPacket } from "mqtt";
import sharp from "sharp";
import { expect, test } from "vitest";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { lastJson, startProgram } from "../doubles/program.js";

needs("mosquitto").suite("preview", () => {
  test.each(["jpeg", "png"])(
    "a run publishes %s files of the disparity, and nothing of it unless asked",
    async (encoding) => {
      const mosquitto = await startMosquitto();
      const client = await mqtt.connectAsync(mosquitto.url, { protocolVersion: 5 });
      const seen: { payload: Buffer; packet: IPublishPacket }[] = [];
      client.on("message", (_, payload, packet) => seen.push({ payload, packet }));
      await client.subscribeAsync("depthwatt/test/preview");
      const settings = [
        "source.synthetic.width=480",
        "source.synthetic.height=120",
        "match.numDisparities=32",
      ];
      const words = (...more: string[]) => {
        const set = settings.flatMap((setting) => ["--set", setting]);
        return ["run", "--broker", mosquitto.url, "--device", "test", "--json", ...set, ...more];
      };
      try {
        if (encoding === "jpeg") {
          const { drops } = lastJson<{ drops: object }>(await startProgram(words("--frames", "3")).ended);
          expect(seen).toEqual([]);
          expect(Object.keys(drops).filter((cause) => cause.startsWith("mqtt.preview."))).toEqual([]);
        }
        const wanted = ["--set", "outputs.mqtt.preview.enabled=true"];
        const running = startProgram(words(...wanted, "--set", `outputs.mqtt.preview.encoding=${encoding}`));
        await until("two pictures", () => seen.length >= 2, 40_000);
        running.child.kill("SIGINT");
        const { drops } = lastJson<{ drops: object }>(await running.ended);
        // One that is being packed when the run is stopped comes too late.
        const lost = Object.keys(drops).filter(
          (cause) => cause.startsWith("mqtt.preview.") && cause !== "mqtt.preview.closed",
        );
        expect(lost).toEqual([]);
        const { payload, packet } = seen[0]!;
        expect(await sharp(payload).metadata()).toMatchObject({ format: encoding, width: 240, height: 60 });
        expect(packet).toMatchObject({
          retain: false,
          qos: 0,
          properties: { contentType: `image/${encoding}` },
        });
        const { channels } = await sharp(payload).stats();
        expect(channels).toHaveLength(3);
        // Colours, not grey: the channels differ.
        expect(Math.abs(channels[0]!.mean - channels[2]!.mean)).toBeGreaterThan(5);
      } finally {
        await client.endAsync(true);
        await mosquitto.stop();
      }
    },
    120_000,
  );
});
