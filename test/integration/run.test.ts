// SPDX-License-Identifier: Apache-2.0
// `depthwatt run` as a stranger runs it: the shape of its JSON, what it publishes, how it ends, what it refuses.
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { STAGE_NAMES } from "../../cuda/index.js";
import type { RunFigures } from "../../edge/run/figures.js";
import { runInProcess } from "../doubles/command-line.js";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { lastJson, runProgram, startProgram } from "../doubles/program.js";

const SMALL = [
  "--set",
  "source.synthetic.width=192",
  "--set",
  "source.synthetic.height=128",
  "--set",
  "match.numDisparities=32",
];

/** True once the process has its own handler for SIGHUP; of SIGTERM, Node has one from the start. */
function catchesHangup(pid: number): boolean {
  const caught = /^SigCgt:\s*(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]!;
  return (BigInt(`0x${caught}`) & (1n << BigInt(constants.signals.SIGHUP - 1))) !== 0n;
}

describe("run --json", () => {
  test("ends automatically with one JSON object of the promised shape, exit 0", async () => {
    const ran = await runProgram(["run", ...SMALL, "--frames", "12", "--rate", "max", "--json"]);
    expect(ran.code, ran.stderr).toBe(0);
    const figures = lastJson<RunFigures>(ran);
    expect(figures).toMatchObject({
      frames: 12,
      backend: "cpu",
      algorithm: "sgm",
      width: expect.any(Number),
    });
    expect(figures.backendReason).toMatch(/^CUDA unavailable: /);
    expect(figures.fps).toBeGreaterThan(0);
    // Both are rounded to three decimals: of a run of 70 ms that is up to 1 %.
    expect((figures.fps * figures.seconds) / 12).toBeCloseTo(1, 1);
    for (const [name, times] of Object.entries(figures.stages)) {
      expect(STAGE_NAMES).toContain(name);
      expect(times.p50Ms).toBeGreaterThan(0);
      expect(times.p95Ms).toBeGreaterThanOrEqual(times.p50Ms);
      expect(times.p99Ms).toBeGreaterThanOrEqual(times.p95Ms);
    }
    expect(Object.keys(figures.stages)).toEqual(
      expect.arrayContaining(["rectify", "match", "median", "depth", "encode"]),
    );
    expect(figures.latencyMs).toMatchObject({ p50: expect.any(Number) });
    expect(figures.pairing).toMatchObject({ unmatchedLeft: 0, unmatchedRight: 0 });
    expect(figures.outputs.mqtt).toMatchObject({ connected: true, sent: 12, problem: null });
    expect(figures.outputs.mqtt).toMatchObject({ latencyMs: figures.latencyMs });
    if (!figures.power.available) expect(figures.power.reason).not.toBe("");
    else expect(figures.power.watts).toBeGreaterThan(0);
  });

  test("the instruction set of DEPTHWATT_ISA is used", async () => {
    const words = ["run", ...SMALL, "--frames", "2", "--broker", "none", "--json"];
    const figures = lastJson(await runProgram(words, { DEPTHWATT_ISA: "scalar" }));
    expect(figures.instructionSet).toBe("scalar");
    expect(figures.outputs).toMatchObject({
      mqtt: { available: false, reason: "outputs.mqtt.broker is none" },
      viewer: { pages: 0, sent: 0 },
    });
    expect(figures.latencyMs).toMatchObject({ p50: expect.any(Number) });
  });
});

describe("run in a terminal", () => {
  test("SIGTERM ends it in order", async () => {
    const running = startProgram(["run", ...SMALL, "--broker", "none", "--json"]);
    await until("started", () => catchesHangup(running.child.pid!), 30_000);
    running.child.kill("SIGTERM");
    const ran = await running.ended;
    expect(ran.code, ran.stderr).toBe(0);
    expect(lastJson<RunFigures>(ran)).toMatchObject({ backend: "cpu" });
  });

  test("says where to look, shows live figures, and one signal ends it in order", async () => {
    const running = startProgram([
      "run",
      ...SMALL,
      "--device",
      "bench",
      "--set",
      "outputs.metricsIntervalMs=200",
    ]);
    await until("a live line", () => /fps \|/.test(running.stderr()), 20_000);
    running.child.kill("SIGINT");
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^source +synthetic/m);
    expect(stdout).toMatch(
      /^engine +sgm, 4 paths, 32 disparities on cpu \(\w+, \d+ threads\)\n +CUDA unavailable/m,
    );
    expect(stdout).toMatch(/^broker +mqtt:\/\/127\.0\.0\.1:\d+ \(embedded/m);
    expect(stdout).toMatch(/^topics +depthwatt\/bench\/\{depth,metrics,state,info,camera_info\}/m);
    expect(stdout).toMatch(/^consume +npx depthwatt consume mqtt:\/\/127\.0\.0\.1:\d+ --device bench/m);
    expect(stdout).toMatch(/^\d+ frames in [\d.]+ s \| [\d.]+ fps \| /m);
  });
});

describe("run refuses", () => {
  const explained = (code: number | null, stderr: string, message: RegExp, expected: number) => {
    expect(code, stderr).toBe(expected);
    expect(stderr).toMatch(/^error: /m);
    expect(stderr).toMatch(/^hint: /m);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n {4}at /);
  };

  test("a backend that is not there, as a process", async () => {
    const ran = await runProgram(["run", ...SMALL, "--frames", "1", "--backend", "cuda"]);
    explained(ran.code, ran.stderr, /CUDA unavailable/, 4);
  });

  test.each<[string, string[], number, RegExp]>([
    ["a folder that is not there", ["--left", "/nowhere/l", "--right", "/nowhere/r"], 3, /\/nowhere\/l/],
    ["one side alone", ["--left", "."], 2, /source\.replay\.right/],
    ["a rate of 0", ["--rate", "0"], 2, /source\.synthetic\.rateHz|--rate/],
    ["an unknown setting", ["--set", "match.p9=1"], 2, /match\.p9/],
    ["an unknown option", ["--brocker", "none"], 2, /--brocker/],
    ["p1 above p2", ["--set", "match.sgm.p1=50", "--set", "match.sgm.p2=20"], 2, /p1/],
    ["a broken broker URL", ["--broker", "http://x"], 2, /broker/],
    ["frames of 0", ["--frames", "0"], 2, /frames/],
    ["a calibration that is not there", ["--left", "a", "--right", "b", "--calibration", "no.yaml"], 3, /./],
  ])("%s", async (_, words, code, message) => {
    const ran = await runInProcess(["run", ...SMALL, "--frames", "1", ...words]);
    explained(ran.code, ran.stderr, message, code);
  });
});

describe("run on a recording", () => {
  test("the scene's own files, rectified by its calibration, end after one pass", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-run-"));
    const made = await runInProcess([
      "scene",
      "--frames",
      "3",
      "--width",
      "192",
      "--height",
      "128",
      "--out",
      folder,
    ]);
    expect(made.code, made.stderr).toBe(0);
    const calibration = readdirSync(folder).find((name) => name.startsWith("calibration")) as string;
    const words = [
      "--left",
      join(folder, "left"),
      "--right",
      join(folder, "right"),
      "--rate",
      "max",
      "--json",
    ];
    const common = ["run", "--set", "match.numDisparities=32", "--broker", "none", ...words];
    const rectified = lastJson<RunFigures>(
      await runInProcess([...common, "--calibration", join(folder, calibration)]),
    );
    expect(rectified).toMatchObject({ frames: 3 });
    expect(rectified.validPercent).toBeGreaterThan(50);
    expect(rectified.stages.depth).toBeDefined();

    const unknown = lastJson<RunFigures>(await runInProcess(common));
    expect(unknown.frames).toBe(3);
    expect(unknown.stages.depth, "without a calibration there is no depth").toBeUndefined();
  });

  test("a calibration of another size is refused by name", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-run-"));
    await runInProcess(["scene", "--frames", "1", "--width", "192", "--height", "128", "--out", folder]);
    const other = mkdtempSync(join(tmpdir(), "depthwatt-run-"));
    await runInProcess(["scene", "--frames", "1", "--width", "160", "--height", "128", "--out", other]);
    const calibration = join(
      other,
      readdirSync(other).find((name) => name.startsWith("calibration")) as string,
    );
    const ran = await runInProcess([
      "run",
      "--left",
      join(folder, "left"),
      "--right",
      join(folder, "right"),
      "--calibration",
      calibration,
      "--broker",
      "none",
    ]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(calibration);
    expect(ran.stderr).toMatch(/160/);
    expect(ran.stderr).toMatch(/192/);
  });

  test("an empty folder is an error with its path", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-run-"));
    writeFileSync(join(folder, "notes.txt"), "no picture");
    const ran = await runInProcess(["run", "--left", folder, "--right", folder, "--broker", "none"]);
    expect(ran.code).toBe(3);
    expect(ran.stderr).toContain(folder);
  });
});

needs("mosquitto").suite("run against Mosquitto", () => {
  test("depthwatt consume on the other side decodes every frame that was sent", async () => {
    const broker = await startMosquitto();
    try {
      const consumer = startProgram(["consume", broker.url, "--frames", "10", "--timeout", "30", "--json"]);
      await until("the subscription", () => /SUBSCRIBE/.test(broker.log()), 20_000);
      const ran = await runProgram([
        "run",
        ...SMALL,
        "--frames",
        "12",
        "--rate",
        "10",
        "--broker",
        broker.url,
        "--device",
        "robot",
        "--json",
      ]);
      expect(ran.code, ran.stderr).toBe(0);
      const consumed = await consumer.ended;
      expect(consumed.code, consumed.stderr).toBe(0);
      expect(lastJson(consumed)).toMatchObject({ frames: 10, gaps: 0, crcErrors: 0 });
    } finally {
      await broker.stop();
    }
  });

  test("a broker that dies and comes back: the run continues, drops are counted by cause", async () => {
    const broker = await startMosquitto();
    const running = startProgram([
      "run",
      ...SMALL,
      "--rate",
      "20",
      "--broker",
      broker.url,
      "--json",
      "--set",
      "outputs.metricsIntervalMs=200",
    ]);
    await until("a frame", () => /PUBLISH.*\/depth/.test(broker.log()), 20_000);
    await broker.stop("SIGKILL");
    await until("the loss", () => /nothing listens there/.test(running.stderr()), 30_000);
    const second = await startMosquitto({ port: broker.port });
    try {
      await until("a frame after the restart", () => /PUBLISH.*\/depth/.test(second.log()), 30_000);
      running.child.kill("SIGTERM");
      const ran = await running.ended;
      expect(ran.code, ran.stderr).toBe(0);
      const figures = lastJson<RunFigures>(ran);
      const lost = Object.entries(figures.drops).filter(([cause]) =>
        /mqtt\.depth\.(offline|lost)/.test(cause),
      );
      expect(lost.reduce((sum, [, count]) => sum + count, 0)).toBeGreaterThan(0);
      expect(figures.outputs.mqtt).toMatchObject({ connected: true });
      expect(figures.frames).toBeGreaterThan(10);
    } finally {
      await second.stop();
    }
  });
});
