// SPDX-License-Identifier: Apache-2.0
// Several rigs in one process: two devices, a rig that fails and comes back alone, one server, one broker, one budget.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt from "mqtt";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { writeScene } from "../../camera/index.js";
import { loadRigs } from "../../edge/config/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import type { RigSummary } from "../../edge/run/rig.js";
import { Rigs, type RigsEvents } from "../../edge/run/rigs.js";
import { until } from "../doubles/frames.js";
import { freePort, startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { lastJson, PROGRAM, type Ran, runProgram } from "../doubles/program.js";
import { TOP } from "../doubles/rigs-configuration.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const FAST_RETRY_MS = 50;
/** Enough for Node and the small rigs, and for none of the large ones. */
const LITTLE_MEGABYTES = 2000;

interface Bench {
  rigs: Rigs;
  file: string;
  write(settings: object): void;
  ended: Promise<Record<string, RigSummary>>;
  waits: { name: string; code: string; message: string }[];
  states: { name: string; state: string }[];
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-rigs-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts the rigs of a file, which may be written again. */
function start(settings: object, events: Partial<RigsEvents> = {}, frames?: number): Bench {
  const file = join(temporaryFolder(), "depthwatt.yaml");
  const write = (written: object) => writeFileSync(file, JSON.stringify(written));
  write(settings);
  const load = () => loadRigs({ file, environment: {} })!;
  const waits: Bench["waits"] = [];
  const states: Bench["states"] = [];
  const configs = new Map([...load()].map(([name, { config }]) => [name, config]));
  const rigs = new Rigs(
    {
      configs,
      load: (name) => load().get(name)!.config,
      waits: true,
      firstPauseMs: FAST_RETRY_MS,
      frames,
    },
    {
      onNotice: () => {},
      onWait: (name, { code, message }) => waits.push({ name, code, message }),
      onState: (name, state) => states.push({ name, state }),
      ...events,
    },
  );
  const ended = rigs.run();
  cleanups.push(() => {
    rigs.stop();
    return ended;
  });
  return { rigs, file, write, ended, waits, states };
}

const rig = ({ rigs }: Bench, name: string) => rigs.rigs.find((one) => one.name === name)!;

async function frames(bench: Bench, name: string, count = 3): Promise<void> {
  const from = rig(bench, name).frames;
  await until(`frames of ${name}`, () => rig(bench, name).frames >= from + count, 30_000);
}

test("two rigs compute at once, each with its settings", async () => {
  const bench = start({ ...TOP, rigs: { front: {}, rear: { match: { numDisparities: 64 } } } }, {}, 20);
  const { front, rear } = (await bench.ended) as Record<string, Extract<RigSummary, { frames: number }>>;
  expect([front!.frames, rear!.frames]).toEqual([20, 20]);
  expect(Object.keys(await bench.ended)).toEqual(["front", "rear"]);
});

/** Makes a recording with one pair, and returns the settings that play it for ever. */
async function recording(folder: string): Promise<object> {
  const scene = {
    width: 160,
    height: 96,
    frames: 1,
    firstFrame: 0,
    view: "rectified",
    truth: "none",
  } as const;
  await writeScene(loadNative(), { ...scene, folder });
  return played(folder);
}

const played = (folder: string) => ({
  kind: "replay",
  replay: { left: join(folder, "left"), right: join(folder, "right"), loop: true, rateHz: 60 },
});

test("a rig whose calibration is broken waits and comes back; the other one does not stop", async () => {
  const source = await recording(temporaryFolder());
  const bad = join(temporaryFolder(), "calibration.json");
  writeFileSync(bad, "{");
  const bench = start({ ...TOP, rigs: { front: {}, rear: { source, calibration: { file: bad } } } });
  await frames(bench, "front");
  await until("the wait", () => bench.waits.length > 0);
  expect(bench.waits[0]).toMatchObject({ name: "rear", code: "CALIBRATION_UNREADABLE" });
  // It is opened again every few seconds.
  await until("the phase", () => rig(bench, "rear").phase === "waiting");
  expect(rig(bench, "rear").runtime).toBeUndefined();
  expect(bench.states).toContainEqual({ name: "rear", state: "degraded" });
  const { runtime } = rig(bench, "front");
  bench.write({ ...TOP, rigs: { front: {}, rear: { source } } });
  await frames(bench, "rear");
  await frames(bench, "front");
  expect(rig(bench, "front").runtime).toBe(runtime);
  bench.rigs.stop();
  const summaries = await bench.ended;
  expect(summaries.rear).toMatchObject({ width: 160 });
});

needs("mosquitto").suite("two devices at a broker", () => {
  test("a recording that is missing at the start and comes later", async () => {
    const mosquitto = await startMosquitto();
    cleanups.push(() => mosquitto.stop());
    const states: { device: string; state: string; code?: string }[] = [];
    const depth = new Set<string>();
    const client = await mqtt.connectAsync(mosquitto.url);
    cleanups.push(() => client.endAsync());
    client.on("message", (topic, payload) => {
      const [, device, leaf] = topic.split("/") as [string, string, string];
      if (leaf === "disparity" || leaf === "depth") depth.add(device);
      else states.push({ device, ...JSON.parse(String(payload)) });
    });
    await client.subscribeAsync(["depthwatt/+/state", "depthwatt/+/depth", "depthwatt/+/disparity"]);
    const folder = join(temporaryFolder(), "later");
    const outputs = { mqtt: { broker: mosquitto.url }, viewer: { enabled: false } };
    const bench = start({ ...TOP, outputs, rigs: { front: {}, rear: { source: played(folder) } } });
    const last = (device: string) => states.findLast((one) => one.device === device);
    await until("the state of rear", () => last("cart-rear")?.state === "degraded", 30_000);
    expect(last("cart-rear")).toMatchObject({ code: bench.waits[0]!.code });
    await until("frames of front", () => depth.has("cart-front"), 30_000);
    expect(last("cart-front")!.state).toBe("online");
    await recording(folder);
    await until("frames of rear", () => depth.has("cart-rear"), 30_000);
    expect(last("cart-rear")!.state).toBe("online");
    expect(states.filter(({ device }) => device === "cart-front")).toHaveLength(1);
  });
});

test("live settings of one rig leave the other one alone", async () => {
  const bench = start({ ...TOP, rigs: { front: {}, rear: {} } });
  await frames(bench, "front");
  await frames(bench, "rear");
  await rig(bench, "front").runtime!.apply({ "match.numDisparities": 64 });
  await frames(bench, "front");
  await frames(bench, "rear");
  expect(rig(bench, "front").runtime!.parts.engine.match.numDisparities).toBe(64);
  expect(rig(bench, "rear").runtime!.parts.engine.match.numDisparities).toBe(32);
});

test("one server has a page for each rig, and a list of them", async () => {
  const outputs = { mqtt: { broker: "none" }, viewer: { enabled: true }, prometheus: { enabled: true } };
  const http = { port: await freePort() };
  const missing = { source: played(join(temporaryFolder(), "missing")) };
  const bench = start({ ...TOP, http, outputs, rigs: { front: {}, rear: {}, side: missing } });
  await frames(bench, "front");
  await frames(bench, "rear");
  await until("the wait", () => bench.waits.length > 0);
  const get = (path: string) => fetch(`http://127.0.0.1:${http.port}${path}`);
  const list = await (await get("/")).text();
  expect(list).toContain('<a href="/rigs/front/">front</a>: running');
  expect(list).toMatch(/<li>side: waiting: /);
  expect((await get("/rigs/rear")).url).toMatch(/\/rigs\/rear\/$/);
  expect(await (await get("/rigs/rear/")).text()).toContain("<html");
  expect(await (await get("/rigs/front/metrics")).text()).toContain("depthwatt_frames_total");
  expect((await get("/rigs/side/")).status).toBe(404);
  const socket = new WebSocket(`ws://127.0.0.1:${http.port}/rigs/front/live`);
  const hello = await new Promise((resolve) =>
    socket.addEventListener("message", ({ data }) => resolve(JSON.parse(String(data)))),
  );
  expect(hello).toMatchObject({ type: "hello", origin: "depthwatt/cart-front" });
  socket.close();
});

test("one governor lowers all rigs of the board, the last one first", async () => {
  const power = { sensor: "none", budgetWatts: 5 };
  const source = { kind: "synthetic", synthetic: { width: 64, height: 48, rateHz: 20 } };
  const bench = start({ ...TOP, power, source, rigs: { front: {}, rear: {} } });
  await frames(bench, "front");
  await frames(bench, "rear");
  const governor = (name: string) => rig(bench, name).runtime!.governor!.figures;
  expect(governor("front")).toMatchObject({ available: true, level: 0, budgetWatts: 5 });
  // Without watts it does not know whether the budget holds, and after some seconds takes the lowest levels.
  const isLowest = (name: string) => {
    const figures = governor(name);
    return figures.available && figures.level === figures.levels - 1;
  };
  await until("the lowest levels", () => isLowest("front") && isLowest("rear"), 20_000);
  bench.rigs.stop();
  await bench.ended;
});

test("a rig that cannot be opened without a service manager ends with the others", async () => {
  const file = join(temporaryFolder(), "depthwatt.json");
  writeFileSync(
    file,
    JSON.stringify({
      ...TOP,
      rigs: { front: {}, rear: { source: played(join(temporaryFolder(), "none")) } },
    }),
  );
  const ran = await runProgram(["run", "--config", file, "--frames", "10", "--json"]);
  expect(ran.code).toBe(3);
  expect(ran.stderr).toContain("error: rig rear: ");
  const { rigs } = lastJson<{ rigs: Record<string, object> }>(ran);
  expect(rigs.front).toMatchObject({ frames: 10, width: 160 });
  expect(rigs.rear).toMatchObject({ available: false, code: "SOURCE_UNREADABLE" });
  const single = await runProgram(["run", "--config", file, "--rig", "front", "--frames", "5", "--json"]);
  expect(lastJson(single)).toMatchObject({ frames: 5, width: 160 });
});

test("nine rigs on a machine with memory for fewer: those that fit run", async () => {
  const file = join(temporaryFolder(), "depthwatt.json");
  const names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
  const big = { kind: "synthetic", synthetic: { width: 16_000, height: 16_000, rateHz: 60 } };
  writeFileSync(
    file,
    JSON.stringify({
      ...TOP,
      rigs: Object.fromEntries(names.map((name, place) => [name, place < 2 ? {} : { source: big }])),
    }),
  );
  const words = ["run", "--config", file, "--frames", "3", "--json"];
  const command = `ulimit -v ${LITTLE_MEGABYTES * 1024}; exec "$@"`;
  const ran = await new Promise<Ran>((resolve) => {
    execFile(
      "bash",
      ["-c", command, "bash", process.execPath, PROGRAM, ...words],
      { encoding: "utf8" },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
  const { rigs } = lastJson<{ rigs: Record<string, { frames?: number; code?: string }> }>(ran);
  const ends = names.map((name) => rigs[name]!.frames ?? rigs[name]!.code);
  expect(ends.slice(0, 2)).toEqual([3, 3]);
  expect(ends.filter((end) => end !== 3 && end !== "MEMORY_EXHAUSTED")).toEqual([]);
  expect(ends).toContain("MEMORY_EXHAUSTED");
  expect(ran.code).toBe(4);
}, 60_000);
