// SPDX-License-Identifier: Apache-2.0
// Tests a smart plug on a real broker, from its messages to joules, and the report when it falls silent.
import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { openMeter } from "../../../edge/power/open-meter.js";
import { startMosquitto } from "../../doubles/mosquitto.js";
import { needs } from "../../doubles/needs.js";

const supply = { topic: "tele/plug/SENSOR", path: "ENERGY.Power", unit: "watts", intervalMs: 500 } as const;

test("without a topic the sensor says which settings it needs", () => {
  const meter = openMeter({
    sensor: "mqtt",
    rateHz: 50,
    native: undefined,
    supply: { ...supply, topic: undefined } as never,
  });
  expect(meter.recent()).toMatchObject({
    available: false,
    reason: expect.stringContaining("power.supply.topic"),
  });
});

needs("mosquitto").suite("a smart plug on MQTT", () => {
  test("watts integrate to joules; silence and a dead broker are reasons", { timeout: 60_000 }, async () => {
    const broker = await startMosquitto();
    const meter = openMeter({
      sensor: "mqtt",
      rateHz: 50,
      native: undefined,
      supply: { ...supply, broker: broker.url },
    });
    const publish = (watts: number): void => {
      const words = [
        "-p",
        String(broker.port),
        "-t",
        supply.topic,
        "-m",
        JSON.stringify({ ENERGY: { Power: watts } }),
      ];
      const sent = spawnSync("mosquitto_pub", words, { encoding: "utf8" });
      if (sent.status !== 0) throw new Error(sent.stderr);
    };
    try {
      meter.start();
      expect(meter.recent()).toMatchObject({ available: false });
      // The subscription is there when the first message arrives.
      for (let i = 0; i < 50 && !("rails" in meter.sensor && meter.sensor.read()[0]!.available); i++) {
        publish(8);
        await sleep(50);
      }
      for (let i = 0; i < 20; i++) {
        publish(8);
        await sleep(60);
      }
      const report = meter.recent(1.2);
      if (!report.available) throw new Error(report.reason);
      expect(report.watts).toBeCloseTo(8, 6);
      expect(report.reason).toContain("tele/plug/SENSOR");
      const waiting = { timeout: 15_000, interval: 50 };
      await vi.waitFor(
        () =>
          expect(meter.recent(1.2)).toMatchObject({
            available: false,
            reason: expect.stringContaining("the last message on tele/plug/SENSOR"),
          }),
        waiting,
      );
      await broker.stop();
      await vi.waitFor(() => {
        meter.sample();
        expect("rails" in meter.sensor ? meter.sensor.read()[0]! : meter.sensor).toMatchObject({
          available: false,
          reason: expect.stringContaining(`127.0.0.1:${broker.port}`),
        });
      }, waiting);
    } finally {
      meter.close();
      await broker.stop();
    }
  });
});
