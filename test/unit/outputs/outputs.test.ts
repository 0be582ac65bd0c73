// SPDX-License-Identifier: Apache-2.0
// The outputs of a run together: which are open and why the others are not, that each hears of everything, and their figures.
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { loadConfig } from "../../../edge/config/index.js";
import type { EnergyRecord } from "../../../edge/contracts/energy.js";
import type { Output, OutputContext, Prepared } from "../../../edge/contracts/output.js";
import { Outputs, PreparedOutputs } from "../../../edge/outputs/outputs.js";
import { OUTPUT_KINDS, type OutputKind, outputDefinition } from "../../../edge/outputs/section.js";
import { until } from "../../doubles/frames.js";
import { sharedFrame } from "../../doubles/shared-memory.js";

let folder: string;
const opened: Outputs[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-outputs-"));
});
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  for (const outputs of opened.splice(0)) await outputs.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens outputs that need no broker; the page of Prometheus is asked directly. */
async function openOutputs(set: string[], elsewhere = {}, http?: () => Promise<never>) {
  const off = ["board=none", "outputs.mqtt.broker=none", "outputs.viewer.enabled=false"];
  const { config } = loadConfig({ set: [...off, ...set], environment: {} });
  const notices: string[] = [];
  const problems: (string | undefined)[] = [];
  const outputs = new Outputs({
    onNotice: (notice) => notices.push(notice),
    onProblem: (problem) => problems.push(problem),
  });
  opened.push(outputs);
  const pages = new Map<string, (request: object, response: object) => void>();
  const server = { url: "http://here", get: (path: string, page: never) => pages.set(path, page) };
  const given = {
    base: "depthwatt",
    device: "rig",
    hasDepth: true,
    rig: undefined,
    http: http ?? (async () => ({ server })),
    totals: () => undefined,
  };
  await outputs.open(config.outputs, new PreparedOutputs(config.outputs), given as never, elsewhere);
  const metrics = () => {
    let text = "";
    const response = { once() {}, writeHead() {}, end: (body: Buffer) => (text = String(body)) };
    pages.get("/metrics")!({ headers: {} }, response);
    return text.split("\n").filter((line) => !line.startsWith("#"));
  };
  return { outputs, notices, problems, metrics, settings: config.outputs };
}

const ENTRY = { time: "2026-01-31T08:00:00.000Z", seconds: 10, frames: 300, rails: {} } as EnergyRecord;

test("each open output hears of everything, and the others have the reason why they are off", async () => {
  const file = join(folder, "energy.jsonl");
  const { outputs, notices, problems, metrics } = await openOutputs(
    [`outputs.energy.file=${file}`, "outputs.prometheus.enabled=true"],
    { command: "another rig has it" },
  );
  await outputs.ready();
  expect(outputs.greeting()).toEqual([
    ["metrics", "http://here/metrics"],
    ["energy", file],
  ]);
  outputs.state("degraded", "hot");
  outputs.notice("one");
  outputs.notice("two");
  outputs.info({ version: "1.2.3" });
  outputs.cameraInfo(undefined);
  outputs.settings({}, "");
  outputs.metrics({ power: { available: false, reason: "no sensor" } });
  outputs.energy(ENTRY);
  expect(metrics()).toEqual(
    expect.arrayContaining([
      'depthwatt_build_info{version="1.2.3"} 1',
      'depthwatt_state{state="degraded"} 1',
      "depthwatt_warnings_total 2",
      'depthwatt_unavailable{figure="power",reason="no sensor"} 1',
    ]),
  );
  const line = `${JSON.stringify(ENTRY)}\n`;
  await until("the entry is written", () => outputs.totals().outputs.energy!.sent === 1);
  expect(readFileSync(file, "utf8")).toBe(line);

  const { outputs: figures, drops } = outputs.figures("run");
  expect([Object.keys(figures), drops]).toEqual([OUTPUT_KINDS, {}]);
  const latencyMs = { available: false, reason: "no frame has left yet" };
  expect(figures).toMatchObject({
    mqtt: { available: false, reason: "outputs.mqtt.broker is none" },
    derived: { available: false, reason: "outputs.derived.enabled is false" },
    command: { available: false, reason: "outputs.command.command is not set" },
  });
  expect(figures.energy).toEqual({
    streams: [],
    sent: 1,
    bytes: line.length,
    latencyMs,
    problem: null,
    file,
  });
  expect(Object.keys(outputs.totals().outputs)).toEqual(["prometheus", "energy"]);
  expect(outputs.totals().outputs.energy).toMatchObject({ sent: 1, bytes: line.length, problem: undefined });
  // None of them takes frames.
  expect([outputs.latency("run"), outputs.sinks.length]).toEqual(["none", 2]);
  expect([outputs.problem, outputs.failure, notices, problems]).toEqual([undefined, undefined, [], []]);
});

test("an output that another part of the process has is off with that reason", async () => {
  const set = ["outputs.prometheus.enabled=true"];
  const { outputs } = await openOutputs(set, { prometheus: "another rig serves it" });
  expect(outputs.figures("run").outputs.prometheus).toEqual({
    available: false,
    reason: "another rig serves it",
  });
  expect(outputs.sinks).toEqual([]);
});

test("latency and drops are those of the frames that it was lent", async () => {
  vi.useFakeTimers({ toFake: ["hrtime"] });
  const path = join(folder, "frames.sock");
  const set = [`outputs.sharedMemory.path=${path}`, "outputs.sharedMemory.rateHz=0.01"];
  const { outputs, settings } = await openOutputs(set);
  const socket = connect(path).on("error", () => {});
  // A request for the stream "left" (docs/guides/shared-memory.md).
  socket.write(Buffer.from([0x44, 0x57, 0x53, 0x4d, 1, 0, 4, 0]));
  await until("there is a reader", () => outputs.latency("run") !== "none");
  expect(outputs.latency("run")).toBeUndefined();
  let released = 0;
  const lend = (ageNs: bigint) => {
    const frame = { ...sharedFrame(1), leftTimestampNs: process.hrtime.bigint() - ageNs };
    for (const sink of outputs.sinks) sink(frame, () => released++);
  };
  lend(1_234_567n);
  lend(1n);
  expect(outputs.figures("recent")).toMatchObject({
    outputs: {
      sharedMemory: {
        streams: ["left"],
        sent: 1,
        latencyMs: { p50: 1.235, p95: 1.235, p99: 1.235 },
        path,
        readers: { left: 1 },
      },
    },
    drops: { "sharedMemory.rateLimit": 1 },
  });
  expect(outputs.latency("run")).toEqual({ p50: 1.234567, p95: 1.234567, p99: 1.234567 });
  expect(outputs.totals()).toMatchObject({
    outputs: { sharedMemory: { sent: 1, latency: { count: 1 } } },
    drops: { "sharedMemory.rateLimit": 1 },
  });
  const rateHz = "max" as const;
  const changed = { ...settings, sharedMemory: { ...settings.sharedMemory, rateHz } };
  outputs.configure(changed, { hasDepth: true, rig: undefined } as never);
  lend(1n);
  expect([outputs.totals().outputs.sharedMemory!.sent, released]).toEqual([2, 3]);
  socket.destroy();
});

test("a full disk is a problem of that output by name, until there is room", async () => {
  const inner = join(folder, "log");
  mkdirSync(inner);
  const { outputs, problems, notices } = await openOutputs([
    `outputs.energy.file=${join(inner, "energy.jsonl")}`,
  ]);
  renameSync(inner, `${inner}-away`);
  outputs.energy(ENTRY);
  await until("it fails", () => outputs.failure !== undefined);
  expect(outputs.failure?.code).toBe("DISK_FULL");
  const { problem } = outputs.figures("run").outputs.energy as { problem: string };
  expect(problem).toContain("cannot write to");
  expect([outputs.problem, problems]).toEqual([`output energy: ${problem}`, [`output energy: ${problem}`]]);
  expect(notices).toEqual([expect.stringContaining("energy log: cannot write to")]);
  renameSync(`${inner}-away`, inner);
  outputs.energy(ENTRY);
  await until("it is written", () => outputs.failure === undefined);
  expect([outputs.totals().outputs.energy!.sent, outputs.problem]).toEqual([2, undefined]);
  expect(problems.slice(1)).toEqual([undefined]);
});

test("an output that cannot be opened has a code, its own one where it has one", async () => {
  await expect(openOutputs([`outputs.energy.file=${folder}/none/energy.csv`])).rejects.toMatchObject({
    code: "OUTPUT_UNWRITABLE",
  });
  const http = async () => {
    throw new Error("no port");
  };
  await expect(openOutputs(["outputs.prometheus.enabled=true"], {}, http)).rejects.toMatchObject({
    code: "OUTPUT_FAILED",
    message: "the output prometheus could not be opened: no port",
  });
});

test("only outputs that are on are prepared, and closed unless an output took them", async () => {
  const closed: string[] = [];
  const prepared = (name: string) => ({ close: async () => void closed.push(name) }) as unknown as Prepared;
  const prepare = (broker: string) => {
    const { config } = loadConfig({ set: ["board=none", `outputs.mqtt.broker=${broker}`], environment: {} });
    const given = new Map<OutputKind, Prepared>([
      ["mqtt", prepared(broker)],
      ["energy", prepared("energy")],
    ]);
    return new PreparedOutputs(config.outputs, given);
  };
  const left = prepare("embedded");
  await left.close();
  expect(closed).toEqual(["embedded"]);
  const taken = prepare("embedded");
  expect([taken.take("mqtt") !== undefined, taken.take("mqtt"), taken.take("energy")]).toEqual([
    true,
    undefined,
    undefined,
  ]);
  await taken.close();
  await prepare("none").close();
  expect(closed).toEqual(["embedded"]);
});

describe("outputs of a test's own", () => {
  type Call = [output: string, method: string, ...words: unknown[]];

  /** Opens two outputs that record their calls in place of energy and foxglove. */
  async function openFakes(more: { energy?: Partial<Output>; foxglove?: Partial<Output> } = {}) {
    const { config } = loadConfig({
      set: [
        "board=none",
        "outputs.mqtt.broker=none",
        "outputs.viewer.enabled=false",
        "outputs.energy.file=log.jsonl",
        "outputs.foxglove.enabled=true",
      ],
      environment: {},
    });
    const calls: Call[] = [];
    const contexts: Partial<Record<OutputKind, OutputContext<unknown>>> = {};
    const methods = [
      "state",
      "notice",
      "info",
      "cameraInfo",
      "metrics",
      "grid",
      "energy",
      "settings",
      "configure",
    ];
    for (const kind of ["energy", "foxglove"] as const) {
      const heard = methods.map((method) => [
        method,
        (...words: unknown[]) => calls.push([kind, method, ...words]),
      ]);
      const output = {
        ...Object.fromEntries(heard),
        streams: [],
        frame: () => {},
        counters: () => ({ sent: 0, bytes: 0, drops: {} }),
        close: async () => {},
        ...more[kind],
      } as Output;
      vi.spyOn(outputDefinition(kind), "open").mockImplementation(async (context) => {
        contexts[kind] = context as OutputContext<unknown>;
        return output;
      });
    }
    const notices: string[] = [];
    const outputs = new Outputs({ onNotice: (notice) => notices.push(notice), onProblem: () => {} });
    opened.push(outputs);
    await outputs.open(config.outputs, new PreparedOutputs(config.outputs), { device: "rig" } as never);
    return { outputs, calls, contexts, notices, settings: config.outputs };
  }

  test("each report of the run reaches every output with its words, and configure() its own settings", async () => {
    const { outputs, calls, contexts, settings } = await openFakes();
    const picture = { width: 8 } as never;
    outputs.state("degraded", "hot", "CPU_HOT");
    outputs.notice("one");
    outputs.info({ version: "1.2.3" });
    outputs.cameraInfo({ width: 8 });
    outputs.metrics({ fps: 30 });
    outputs.energy(ENTRY);
    outputs.settings({ "match.maxDisparity": 64 }, "mqtt");
    contexts.energy!.showGrid!({ cells: 4 });
    outputs.configure(settings, picture);
    const each = (method: string, ...words: unknown[]) => [
      ["energy", method, ...words],
      ["foxglove", method, ...words],
    ];
    expect(calls).toEqual([
      ...each("state", "degraded", "hot", "CPU_HOT"),
      ...each("notice", "one"),
      ...each("info", { version: "1.2.3" }),
      ...each("cameraInfo", { width: 8 }),
      ...each("metrics", { fps: 30 }),
      ...each("energy", ENTRY),
      ...each("settings", { "match.maxDisparity": 64 }, "mqtt"),
      ...each("grid", { cells: 4 }),
      ["energy", "configure", settings.energy, picture],
      ["foxglove", "configure", settings.foxglove, picture],
    ]);
    expect([contexts.energy!.settings, contexts.foxglove!.device]).toEqual([settings.energy, "rig"]);
  });

  test("an output finds the broker, the zones and the alarms of the open ones", async () => {
    const alone = await openFakes();
    const { broker, zones, alarms } = alone.contexts.foxglove!;
    expect([broker!(), zones!(), alarms!(), alone.outputs.greeting()]).toEqual([undefined, [], [], []]);
    const access = { url: "mqtt://here:1883", embedded: true } as never;
    const { outputs, contexts } = await openFakes({
      energy: { zones: ["door", "table"], greeting: () => [["energy", "log.jsonl"]] },
      foxglove: { broker: access, zones: ["floor"], alarms: ["door"] },
    });
    const first = contexts.energy!;
    expect([first.broker!(), first.zones!(), first.alarms!()]).toEqual([
      access,
      ["door", "table", "floor"],
      ["door"],
    ]);
    expect(outputs.greeting()).toEqual([["energy", "log.jsonl"]]);
  });

  test("the outputs are ready when the last one is, and closed when all are, with a notice for one that fails", async () => {
    const steps: string[] = [];
    const step = async (name: string) => {
      await new Promise(setImmediate);
      steps.push(name);
    };
    const { outputs, notices } = await openFakes({
      energy: { ready: step("ready"), close: () => Promise.reject(new Error("EIO")) },
      foxglove: { close: () => step("closed") },
    });
    await outputs.ready();
    steps.push("begin");
    await outputs.close();
    expect(steps).toEqual(["ready", "begin", "closed"]);
    expect(notices).toEqual(["output energy: it did not close: EIO"]);
  });
});
