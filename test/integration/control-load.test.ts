// SPDX-License-Identifier: Apache-2.0
// Every live setting, by its name: changed a hundred times under load without losing a frame uncounted, and with the results of
// a run that was started with it, bit for bit. Against Mosquitto, with MQTT 5 and 3.1.1.
import { createHash } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { FRAME_HEADER_BYTES } from "../../core/frame/frame-format.js";
import { MATCHERS } from "../../cuda/index.js";
import { SETTINGS } from "../../edge/config/index.js";
import type { TestClient } from "../doubles/control-client.js";
import {
  accountedDepth,
  accountedPairs,
  assignments,
  ControlBench,
  hashes,
} from "../doubles/controlled-run.js";
import { sleep, until } from "../doubles/frames.js";
import { CHANGES, type Values } from "../doubles/live-changes.js";
import { needs } from "../doubles/needs.js";

const bench = new ControlBench();
afterEach(() => bench.close());

/**
 * Cameras: live-cameras.test.ts. Whether a file is recorded: each change makes one, control.test.ts does it.
 * health.correct changes pictures, when the watch is sure: long-rig/correction.test.ts.
 */
const ELSEWHERE = /^(source\.v4l2\.|outputs\.mcap\.recording$|health\.correct$)/;

/** Settings that are exchanged with the source, or need another one: changed in the run under load. */
const WITH_SOURCE = [
  "source.kind",
  "source.replay.left",
  "source.replay.right",
  "source.replay.sideBySide",
  "source.replay.rateHz",
  "source.replay.loop",
  "source.replay.timestamps",
  "source.synthetic.width",
  "source.synthetic.height",
  "source.synthetic.rateHz",
  // registered-colours.test.ts
  "source.synthetic.other",
  "source.mcap.file",
  "source.mcap.leftTopic",
  "source.mcap.rightTopic",
  "source.mcap.startSeconds",
  "source.mcap.speed",
  "source.mcap.loop",
  "calibration.file",
  "calibration.leftName",
  "power.budgetWatts",
  // Not for recordings: duty-cycle.test.ts.
  "power.dutyCycle.frames",
];

test("every live setting is in this file", () => {
  const live = SETTINGS.filter(({ takesEffect, key }) => takesEffect === "live" && !ELSEWHERE.test(key));
  expect([...Object.keys(CHANGES), ...WITH_SOURCE].sort()).toEqual(live.map(({ key }) => key).sort());
});

/** Set to the defaults again; those without one are unset. */
function baseValues(values: Values, base: Values): Values {
  return Object.fromEntries(
    Object.keys(values).map((key) => {
      const fallback = SETTINGS.find((setting) => setting.key === key)!.facts.default;
      return [key, base[key] ?? (typeof fallback === "function" ? fallback() : (fallback ?? null))];
    }),
  );
}

/** Hashes of the newest message of every topic that is on; of frames only what stands behind the header. */
async function messageHashes(client: TestClient, topics: readonly string[]): Promise<Record<string, string>> {
  const { base, device } = client;
  const found = new Map<string, Buffer>();
  const take = (topic: string, payload: Buffer) => {
    const name = topic.slice(`${base}/${device}/`.length);
    if (topics.includes(name)) found.set(name, payload);
  };
  client.client.on("message", take);
  const filters = topics.map((name) => `${base}/${device}/${name}`);
  await client.client.subscribeAsync(filters);
  await until(`messages of ${topics}`, () => topics.every((name) => found.has(name)), 20_000);
  await client.client.unsubscribeAsync(filters);
  client.client.off("message", take);
  return Object.fromEntries(
    [...found].sort().map(([name, payload]) => {
      const body = name === "preview" ? payload : payload.subarray(FRAME_HEADER_BYTES);
      return [name, createHash("sha256").update(body).digest("hex")];
    }),
  );
}

async function ask(client: TestClient, command: string, body: object) {
  for (;;) {
    const answer = await client.ask(command, body);
    if (answer.ok || answer.code !== "CONTROL_BUSY") return answer;
    await sleep(100);
  }
}

const VERSIONS: [string, 4 | 5][] = [
  ["3.1.1", 4],
  ["5", 5],
];

needs("mosquitto").suite("every live setting", () => {
  test.each(VERSIONS)(
    "MQTT %s: a hundred times under load, captured = published + drops exactly, each echoed in info",
    async (_, version) => {
      const { url } = await bench.broker();
      const run = await bench.run(
        ...([url, "load", `outputs.mqtt.protocolVersion=${version}`, "source.synthetic.rateHz=500"] as const),
      );
      const client = await bench.client(url, "load", version);
      const still = await bench.stillScene({ width: 176, height: 104 });
      const base: Values = { "match.numDisparities": 32, "source.synthetic.rateHz": 500 };
      // Depth is counted here; its switch has its own test.
      const settings: Values = {};
      for (const { to } of Object.values(CHANGES))
        if (to["outputs.mqtt.depth.enabled"] === undefined) Object.assign(settings, to);
      const there: Values = {
        ...settings,
        ...still,
        "match.sgm.paths": 2, // 8 paths exclude a coarse-to-fine search
        "source.replay.loop": true,
        "source.replay.rateHz": 400,
        "source.replay.timestamps": "rate",
        "calibration.leftName": "cam0",
        "source.synthetic.width": 128,
        "source.synthetic.height": 80,
        "source.synthetic.rateHz": 300,
        "power.budgetWatts": 500,
        // Settings of an unused source: they hold from when it is chosen.
        "source.mcap.file": "/recording.mcap",
        "source.mcap.leftTopic": "/a",
        "source.mcap.rightTopic": "/b",
        "source.mcap.startSeconds": 1,
        "source.mcap.speed": "max",
        "source.mcap.loop": true,
      };
      const back: Values = {
        ...baseValues({ ...there, "match.algorithm": null }, base),
        "source.synthetic.width": 160,
        "source.synthetic.height": 96,
        // Both are paths of a source that is not in use.
        "source.replay.sideBySide": null,
      };
      const algorithms = MATCHERS.map(({ name }) => name);
      const echoMs: number[] = [];
      const changed = new Map<string, number>();
      for (let i = 0; i < 100; i++) {
        const values =
          i % 2 === 0 ? { ...there, "match.algorithm": algorithms[(i / 2) % algorithms.length]! } : back;
        const before = run.runtime.config;
        const infos = client.info.length;
        const answer = await ask(client, "set", { values });
        const answeredMs = performance.now();
        expect(answer, `change ${i}: ${JSON.stringify(answer)}`).toMatchObject({ ok: true });
        for (const [key, value] of Object.entries(answer.values as Values)) {
          const [was, is] = [before, run.runtime.config].map((config) =>
            key.split(".").reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], config),
          );
          expect((is as Values[string]) ?? null, key).toBe(value);
          if (was !== is) changed.set(key, (changed.get(key) ?? 0) + 1);
        }
        const width = i % 2 === 0 ? 176 : 160;
        const echoed = () => client.info.slice(infos).some((info) => info.width === width);
        await until("the echo", echoed, 5000);
        echoMs.push(Math.max(0, performance.now() - answeredMs));
      }
      // Every one of them each time; the matcher is the default one in a sixth of the changes.
      const seldom = [...changed].filter(([, times]) => times < 99);
      expect(seldom.map(([key]) => key)).toEqual(["match.algorithm"]);
      expect(changed.size).toBe(Object.keys(there).length);
      echoMs.sort((a, b) => a - b);
      process.stdout.write(
        `MQTT ${_}: info follows the answer within ${echoMs.at(-1)!.toFixed(0)} ms at most, ${echoMs[50]!.toFixed(1)} ms in the median\n`,
      );
      const ended = await run.stop();
      expect(accountedPairs(ended)).toBe(ended.captured);
      expect(accountedDepth(ended)).toBe(ended.frames);
      expect(ended.frames).toBeGreaterThan(100);
      process.stdout.write(`MQTT ${_}: ${ended.captured} pairs, ${JSON.stringify(ended.drops)}\n`);
    },
    600_000,
  );

  test.each(VERSIONS)(
    "MQTT %s: depth goes off and on a hundred times, every frame of the stream next to it is accounted for",
    async (_, version) => {
      const { url } = await bench.broker();
      const run = await bench.run(
        ...([
          url,
          "depth",
          `outputs.mqtt.protocolVersion=${version}`,
          "source.synthetic.rateHz=200",
        ] as const),
        "outputs.mqtt.left.enabled=true",
      );
      const client = await bench.client(url, "depth", version);
      for (let i = 0; i < 100; i++) {
        const values = { "outputs.mqtt.depth.enabled": i % 2 === 1 };
        expect(await ask(client, "set", { values })).toMatchObject({ ok: true, values });
      }
      const ended = await run.stop();
      expect(accountedPairs(ended)).toBe(ended.captured);
      const { sentByStream } = ended.outputs.mqtt as unknown as { sentByStream: { left: number } };
      const lost = Object.entries(ended.drops).filter(([cause]) => /^mqtt\.(left\.|held|failed)/.test(cause));
      expect(lost.reduce((sum, [, count]) => sum + count, sentByStream.left)).toBe(ended.frames);
    },
    180_000,
  );

  test.each(VERSIONS)(
    "MQTT %s: after each change pictures and messages are those of a run that was started with it, bit for bit",
    async (_, version) => {
      const { url } = await bench.broker();
      // match.average shows the filtered pair until three frames are in the mean.
      const still = { ...(await bench.stillScene()), "match.denoise": "off" };
      const protocol = `outputs.mqtt.protocolVersion=${version}`;
      await bench.run(url, "changed", protocol, ...assignments(still));
      const changed = await bench.client(url, "changed", version);
      const base: Values = { "match.numDisparities": 32, ...still };
      const look = async (client: TestClient, values: Values) => {
        const on = Object.entries(values).flatMap(([key, value]) => {
          const [, name] = /^outputs\.mqtt\.(\w+)\.enabled$/.exec(key) ?? [];
          return name !== undefined && value === true ? [name] : [];
        });
        const depth = values["outputs.mqtt.depth.enabled"] !== false ? ["depth"] : [];
        const topics = [...depth, ...on];
        const pictures = await readHashes(client);
        return { ...pictures, ...(topics.length > 0 && (await messageHashes(client, topics))) };
      };
      const wrong: string[] = [];
      // Images in another encoding are compared with both; they are the same.
      const looked = Object.entries(CHANGES).filter(([key]) => version === 5 || key.startsWith("outputs."));
      for (const [key, change] of looked) {
        const values = { ...change.with, ...change.to };
        if (change.with !== undefined)
          expect(await ask(changed, "set", { values: change.with }), key).toMatchObject({ ok: true });
        const before = await look(changed, change.with ?? {});
        expect(await ask(changed, "set", { values: change.to }), key).toMatchObject({ ok: true });
        const now = await look(changed, values);
        const device = key.replace(/\W/g, "-");
        const fresh = await bench.run(url, device, protocol, ...assignments(still), ...assignments(values));
        const client = await bench.client(url, device, version);
        const started = await look(client, values);
        await client.close();
        await fresh.stop();
        if (JSON.stringify(now) !== JSON.stringify(started))
          wrong.push(`${key} is not as if started with it`);
        if ((JSON.stringify(now) === JSON.stringify(before)) !== (change.sameImages ?? false))
          wrong.push(`${key} is ${change.sameImages ? "" : "not "}seen`);
        expect(await ask(changed, "set", { values: baseValues(values, base) }), key).toMatchObject({
          ok: true,
        });
      }
      expect(wrong).toEqual([]);
    },
    900_000,
  );
});

async function readHashes(client: TestClient): Promise<Record<string, string>> {
  for (;;) {
    try {
      return await hashes(client);
    } catch (error) {
      if (!(error as Error).message.includes("CONTROL_BUSY")) throw error;
      await sleep(100);
    }
  }
}
