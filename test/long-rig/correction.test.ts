// SPDX-License-Identifier: Apache-2.0
// A rig that has turned is put right by its right map: the map automatically, and in a run that reports it everywhere.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  greyPairLayout,
  loadStereoCalibration,
  rotationMatrix,
  type SceneOptions,
  SceneRenderer,
  sceneCalibration,
  turnMap,
  writeScene,
} from "../../camera/index.js";
import { loadConfig } from "../../edge/config/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { type PipelineGeometry, rectifiedGeometry } from "../../edge/pipeline/geometry.js";
import { type CapturedPair, Examiner } from "../../edge/rig/health/examine.js";
import { lookGeometryFrom } from "../../edge/rig/health/look-options.js";
import { openRuntime } from "../../edge/run/main.js";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { runProgram } from "../doubles/program.js";

const SIZE = { width: 640, height: 480 };
const LIMITS = { maxRows: 0.75, maxDegrees: 0.08 };
const geometry = rectifiedGeometry(sceneCalibration(SIZE), 0);
const folder = mkdtempSync(join(tmpdir(), "depthwatt-correction-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function scenePair(options: SceneOptions): Promise<CapturedPair> {
  const renderer = new SceneRenderer(loadNative(), { ...SIZE, ...options });
  const { left, right } = await renderer.frame(0);
  renderer.close();
  return { left: left.data as Uint8Array, right: right.data as Uint8Array };
}

function examine(pair: CapturedPair, of: PipelineGeometry) {
  const examiner = new Examiner(greyPairLayout(SIZE.width, SIZE.height), lookGeometryFrom(of));
  examiner.add(pair);
  return examiner.finish(LIMITS).figures!;
}

const turned = (angles: readonly [number, number, number]) => {
  const { focalPixels, cx, cy } = geometry.rig!.rectification;
  const map = geometry.maps!.rightMap;
  const shape = { ...SIZE, inputWidth: SIZE.width, inputHeight: SIZE.height };
  const [pitch, yaw, roll] = angles.map((angle) => (angle * Math.PI) / 180) as [number, number, number];
  const rotation = Float64Array.from(rotationMatrix([pitch, yaw, roll]));
  return turnMap({ ...shape, map, focalPixels, cx, cy, rotation });
};

test("a map that is turned by nothing is the same map", async () => {
  expect(
    Buffer.from((await turned([0, 0, 0])).buffer).equals(Buffer.from(geometry.maps!.rightMap.buffer)),
  ).toBe(true);
});

test("a measured rotation is zero after its correction by the map", async () => {
  const pair = await scenePair({ turnedDegrees: [0.3, -0.2, 0.4] });
  const before = examine(pair, geometry);
  expect(before.rows.p95).toBeGreaterThan(2);
  const { pitch, yaw, roll } = before.rotationDegrees;
  const rightMap = await turned([pitch as number, yaw as number, roll]);
  const after = examine(pair, { ...geometry, maps: { ...geometry.maps!, rightMap } });
  expect(after.rows.p95).toBeLessThan(0.15);
  expect(after.rotationDegrees.total).toBeLessThan(0.03);
});

async function run(turnedDegrees: [number, number, number], ...set: string[]) {
  const at = join(folder, turnedDegrees.join("_"));
  await writeScene(loadNative(), { ...SIZE, folder: at, frames: 4, truth: "none", turnedDegrees });
  const source = ["kind=replay", `replay.left=${at}/left`, `replay.right=${at}/right`, "replay.loop=true"];
  const all = [
    "board=none",
    "power.sensor=none",
    "outputs.mqtt.broker=none",
    "source.replay.rateHz=12",
    `calibration.file=${at}/calibration.json`,
    ...source.map((one) => `source.${one}`),
    ...set,
  ];
  const notices: string[] = [];
  const states: { state: string; reason: string; code: string | undefined }[] = [];
  const { config } = loadConfig({ set: all, environment: {} });
  const runtime = await openRuntime(config, undefined, {
    onNotice: (notice) => notices.push(notice),
    onState: (state, reason, code) => states.push({ state, reason, code }),
  });
  const ended = runtime.run();
  return { runtime, ended, notices, states, correction: () => runtime.parts.health.correction };
}

test("a run takes a rotation off, and reports it in log, state, metrics and info", async () => {
  const { runtime, ended, notices, states, correction } = await run([0, 0, 0.4], "health.correct=true");
  try {
    await until(
      "a correction",
      () => "changes" in correction() && (correction() as { changes: number }).changes > 0,
      60_000,
    );
    await until("the alarm", () => states.at(-1)?.code === "RIG_MOVED", 30_000);
  } finally {
    runtime.stop();
  }
  const figures = await ended;
  expect(notices.join("\n")).toMatch(
    /health.correct corrects a rotation of the right camera: pitch .* roll 0\.(39|40)/,
  );
  expect(states.at(-1)).toMatchObject({ state: "degraded", code: "RIG_MOVED" });
  expect(states.at(-1)!.reason).toContain("health.correct corrects 0.");
  expect(figures.health).toMatchObject({
    correction: { changes: 1, refused: null },
    // The measurement stays that of the rig against its calibration.
    alignment: { rotationDegrees: { total: expect.closeTo(0.4, 1) } },
  });
});

needs("mosquitto").suite("depthwatt calibrate --from-run", () => {
  test("keeps the correction as a calibration, and --undo returns to the one before", async () => {
    const mosquitto = await startMosquitto();
    const { runtime, ended, states, correction } = await run(
      [0.2, 0, 0.4],
      "health.correct=true",
      "device=rig",
      `outputs.mqtt.broker=${mosquitto.url}`,
      "control.enabled=true",
      "control.authentication=broker",
    );
    const calibrate = (...more: string[]) =>
      runProgram(["calibrate", "--from-run", "rig", "--broker", mosquitto.url, ...more]);
    const before = runtime.config.calibration.file as string;
    try {
      await until("a frame", () => runtime.parts.pipeline.frames > 0, 30_000);
      expect((await calibrate("--undo")).stderr).toContain("the present calibration is no corrected one");
      const corrected = () => (correction() as { changes: number }).changes > 0;
      await until("a correction", corrected, 60_000);
      await until("the alarm", () => states.at(-1)?.code === "RIG_MOVED", 30_000);
      const { code, stdout, stderr } = await calibrate();
      expect(stderr).toContain("rig has no configuration file: start it next time with calibration.file=");
      expect(code).toBe(0);
      const file = runtime.config.calibration.file as string;
      expect(stdout).toMatch(new RegExp(`^calibration +${file}\nbefore +${before}\n.* roll 0\\.(39|40)`));
      await until("no alarm", () => states.at(-1)?.state === "online", 30_000);
      // The new calibration agrees with the images: nothing is left to correct.
      expect(correction()).toMatchObject({ pitch: 0, yaw: 0, roll: 0, changes: 0 });
      const { calibration } = loadStereoCalibration(file, { imageSize: SIZE });
      expect(calibration.corrections).toMatchObject([{ from: before, roll: expect.closeTo(0.4, 1) }]);
      const undone = await calibrate("--undo", "--json");
      expect(JSON.parse(undone.stdout)).toEqual({ file: before, before: file, saved: null, corrections: [] });
      await until("the correction of the former calibration", corrected, 60_000);
    } finally {
      runtime.stop();
    }
    await ended;
    await mosquitto.stop();
  });
});

test("a rotation beyond the bound is reported, not corrected", async () => {
  const set = ["health.correct=true", "health.maxCorrectionDegrees=0.2"];
  const { runtime, ended, notices, correction } = await run([0, 0, 0.5], ...set);
  try {
    await until("the refusal", () => notices.some((notice) => notice.includes("exceeds")), 60_000);
  } finally {
    runtime.stop();
  }
  await ended;
  expect(correction()).toMatchObject({ available: false });
  expect(notices.join("\n")).toContain("exceeds health.maxCorrectionDegrees");
  expect(notices.join("\n")).not.toContain("corrects a rotation");
});

test("without health.correct nothing is corrected", async () => {
  const { runtime, ended, states } = await run([0, 0, 0.3]);
  try {
    await until("the alarm", () => states.at(-1)?.code === "RIG_MOVED", 60_000);
  } finally {
    runtime.stop();
  }
  expect((await ended).health).toMatchObject({
    correction: { available: false, reason: "health.correct is false" },
  });
});
