// SPDX-License-Identifier: Apache-2.0
// The Python consumer of docs/guides/readers.md, taken from the page and run as it is there, against Mosquitto.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FRAME_HEADROOM_BYTES } from "../../core/frame/frame-format.js";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import { makeFrame, sleep } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs, PYTHON } from "../doubles/needs.js";

function documentedProgram(): string {
  const page = readFileSync(new URL("../../docs/guides/readers.md", import.meta.url), "utf8");
  const [consumer = "", decoder = ""] = [...page.matchAll(/```python\n([\s\S]*?)```/g)]
    .slice(-2)
    .map(([, code]) => code!);
  const lines = consumer.trimEnd().split("\n");
  expect(lines.filter((line) => line.trim() !== "").length, "ten lines, as promised").toBeLessThanOrEqual(10);
  return [...lines.slice(0, -1), decoder, lines.at(-1)].join("\n");
}

needs("mosquitto", "paho").suite("the documented Python consumer", () => {
  test("decodes what depthwatt publishes", async () => {
    const mosquitto = await startMosquitto();
    const topic = "depthwatt/test/depth";
    const python = spawn(PYTHON, ["-c", documentedProgram(), "127.0.0.1", String(mosquitto.port), topic]);
    const publisher = createPublisher({ broker: mosquitto.url, base: "depthwatt", device: "test" });
    try {
      let output = "";
      let errors = "";
      python.stdout.on("data", (chunk) => {
        output += chunk;
      });
      python.stderr.on("data", (chunk) => {
        errors += chunk;
      });
      await publisher.firstAttempt;
      const { buffer, bodyBytes, frame, pixels } = makeFrame(5);
      // It subscribes some time after it starts; frames are not retained, so they are sent until one is heard.
      for (let round = 0; round < 400 && !output.includes("\n") && errors === ""; round++) {
        publisher.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, () => {});
        await sleep(100);
      }
      expect(errors).toBe("");
      const valid = pixels.filter((value) => value > 0);
      const sum = valid.reduce((total, value) => total + value, 0);
      expect(output.split("\n")[0]).toMatch(new RegExp(`^${topic} \\d+ 64x48 ${valid.length} ${sum}$`));
    } finally {
      python.kill();
      await publisher.close();
      await mosquitto.stop();
    }
  });
});
