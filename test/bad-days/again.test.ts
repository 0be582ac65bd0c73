// SPDX-License-Identifier: Apache-2.0
// More failures of a running program: brokers that are silent, refuse a topic or know two of one name, a power sensor that is gone
// for a while. Each comes back automatically, and it then holds what it held before. docs/guides/failures.md names each.
import { execFileSync } from "node:child_process";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import mqtt from "mqtt";
import { afterEach, expect, test } from "vitest";
import { BadDays, type Day } from "../doubles/bad-day.js";
import { accountedDepth } from "../doubles/controlled-run.js";
import { until } from "../doubles/frames.js";
import { needs } from "../doubles/needs.js";

const bench = new BadDays();
afterEach(() => bench.close());

async function endsExactly(day: Day) {
  const { code, figures, log } = await day.end();
  expect(code, log).toBe(0);
  expect(accountedDepth(figures), JSON.stringify(figures.drops)).toBe(figures.frames);
  return figures;
}

needs("mosquitto").suite("a running program comes back", () => {
  test("a broker that takes the connection and stays silent", async () => {
    const day = await bench.begin();
    const before = await day.holds();
    day.broker.freeze();
    bench.owns(() => day.broker.thaw());
    // The kernel still takes connections for it.
    day.link.cut();
    await day.says(/takes connections and does not answer/);
    day.broker.thaw();
    await day.delivers();
    await day.isState("online");
    await day.holdsAgain(before);
    const { drops } = await endsExactly(day);
    expect(drops["mqtt.depth.offline"]).toBeGreaterThan(0);
  }, 180_000);

  test("a topic that is not authorised for a while", async () => {
    const folder = bench.folder();
    // Mosquitto that root starts reads it as its own user.
    chmodSync(folder, 0o755);
    const list = join(folder, "topics");
    const may = (...topics: string[]) =>
      writeFileSync(list, ["topic read #", ...topics.map((one) => `topic write ${one}`), ""].join("\n"));
    may("#");
    const day = await bench.begin({ broker: [`acl_file ${list}`] });
    const before = await day.holds();
    may("depthwatt/bad/state", "depthwatt/bad/info", "depthwatt/bad/metrics", "depthwatt/bad/camera_info");
    day.broker.reload();
    await day.says(/refuses a message \(reason code 135\): depthwatt\/bad\/depth/);
    await day.isState("degraded", /refuses a message/);
    may("#");
    day.broker.reload();
    await day.delivers();
    await day.isState("online");
    await day.holdsAgain(before);
    const { drops } = await endsExactly(day);
    expect(drops["mqtt.depth.refused"]).toBeGreaterThan(0);
  }, 180_000);

  test("somebody else takes its client id", async () => {
    const day = await bench.begin();
    const before = await day.holds();
    const [, clientId] = /as (depthwatt-bad\S*) \(/.exec(day.broker.log()) ?? [];
    if (clientId === undefined) throw new Error(`no client id in ${day.broker.log()}`);
    const other = await mqtt.connectAsync(day.broker.url, { clientId, reconnectPeriod: 0 });
    bench.owns(() => other.endAsync(true));
    await day.says(/closed the connection|given this session to another client/);
    await day.delivers();
    await day.isState("online");
    await until("the other one has lost it", () => !other.connected, 30_000);
    await day.holdsAgain(before);
    await endsExactly(day);
  }, 180_000);
});

/** @returns the folder of a libnvidia-ml.so.1 that is in for NVIDIA's */
function nvml(): string {
  const folder = bench.folder();
  const library = join(folder, "libnvidia-ml.so.1");
  const source = "test/doubles/native/fake_nvml.c";
  execFileSync("gcc", ["-shared", "-fPIC", "-O2", "-o", library, source, "-lm"]);
  return folder;
}

needs("mosquitto", "toolchain").suite("a running program and its power sensor", () => {
  test("the rail is gone for a while, with its reason, and is read again", async () => {
    const folder = nvml();
    const removed = join(folder, "gone");
    const day = await bench.begin({
      settings: ["power.sensor=nvml"],
      environment: { LD_LIBRARY_PATH: folder, FAKE_NVML_BROKEN_FILE: removed },
    });
    const measured = () => day.metrics?.power.available === true;
    await until("watts", measured, 60_000);
    const before = await day.holds();
    writeFileSync(removed, "");
    await until("no watts, and why", () => day.metrics?.power.available === false, 60_000);
    expect(day.metrics!.power).toMatchObject({ reason: expect.stringMatching(/\S/) });
    await day.delivers();
    rmSync(removed);
    await until("watts again", measured, 60_000);
    await day.isState("online");
    await day.holdsAgain(before);
    await endsExactly(day);
  }, 180_000);

  test("the GPU is held back for a while: the governor goes down, and nothing of the level before stays", async () => {
    const folder = nvml();
    const hot = join(folder, "hot");
    const day = await bench.begin({
      // The sensor shows 100 to 300 W, so the budget is never in danger.
      settings: ["power.sensor=nvml", "power.budgetWatts=1000", "match.sgm.paths=8"],
      environment: { LD_LIBRARY_PATH: folder, FAKE_NVML_HOT_FILE: hot },
    });
    const governor = () => {
      const { governor: figures } = day.metrics ?? {};
      return figures?.available ? figures : undefined;
    };
    await until("watts", () => day.metrics?.power.available === true, 60_000);
    expect(governor()).toMatchObject({ level: 0, changes: 0 });
    const before = await day.holds();
    writeFileSync(hot, "");
    await day.says(/governor: .*throttled itself/);
    rmSync(hot);
    await until("another level", () => (governor()?.changes ?? 0) > 0, 60_000);
    await day.delivers();
    await day.holdsAgain(before);
    await endsExactly(day);
  }, 180_000);
});

needs("mosquitto", "toolchain").suite("a running program and a plugin that is refused", () => {
  test("it holds what a run holds that never saw one", async () => {
    const plain = await bench.begin({ settings: ["engine.backend=cpu"] });
    const without = await plain.holds();
    await endsExactly(plain);
    const plugin = join(bench.folder(), "newer.so");
    const source = "test/doubles/native/plugin_stub.cc";
    execFileSync("g++", ["-std=c++17", "-shared", "-fPIC", "-DABI_OFFSET=1", "-o", plugin, source]);
    const day = await bench.begin({
      settings: ["engine.backend=auto"],
      environment: { DEPTHWATT_CUDA_PLUGIN: plugin },
    });
    await day.holdsAgain(without);
    const figures = await endsExactly(day);
    expect(figures).toMatchObject({ backend: "cpu", backendReason: expect.stringMatching(/ABI version/) });
  }, 180_000);
});
