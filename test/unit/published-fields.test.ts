// SPDX-License-Identifier: Apache-2.0
// The list of published figures and of the tests that compute them another way. A field that is added to a document needs a place
// here, and its test must name it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { packageRoot } from "../../core/index.js";
import * as schemas from "../../edge/mcap/schemas.js";
import { OUTPUT_KINDS } from "../../edge/outputs/section.js";
import { literalFields, typeFields, unique } from "../doubles/declared-fields.js";

const RUN = "test/unit/edge/run/published-figures.test.ts";
const COMMANDS = "test/unit/edge/commands/published-figures.test.ts";

/** The details of each output in `outputs`. */
const DETAILS: Record<string, readonly [source: string, fields: Record<string, string>]> = {
  mqtt: [
    "mqtt/mqtt-output.ts",
    {
      [RUN]: "connected reason sentByStream",
      "test/unit/edge/run/live-effects.test.ts": "reduced",
      "test/integration/control.test.ts": "control",
    },
  ],
  viewer: ["viewer/open.ts", { "test/viewer/long-access.test.ts": "pages url" }],
  mcap: ["mcap/mcap-output.ts", { [RUN]: "file files pendingBytes recording" }],
  prometheus: ["prometheus/scrapes.ts", { [RUN]: "cutOff refusedBusy" }],
  derived: ["derived/derived-output.ts", { [RUN]: "connected messageDrops" }],
  detections: [
    "detections/detections-output.ts",
    {
      [RUN]: "connected ignored measured messageDrops refused waiting",
    },
  ],
  ros: ["ros/ros-output.ts", { [RUN]: "connected sentByTopic" }],
  homeAssistant: ["homeassistant/homeassistant-output.ts", { [RUN]: "announced connected refused" }],
  energy: ["energy/energy-output.ts", { "test/unit/outputs/energy-log.test.ts": "file" }],
  foxglove: ["foxglove/foxglove-output.ts", { "test/unit/outputs/foxglove.test.ts": "clients url" }],
  video: ["video/video-output.ts", { "test/unit/outputs/video.test.ts": "url viewers" }],
  sharedMemory: [
    "sharedMemory/shared-memory-output.ts",
    {
      "test/unit/outputs/shared-memory.test.ts": "path readers refused",
    },
  ],
  command: [
    "command/command-output.ts",
    { "test/outputs/command-restarts.test.ts": "lastEnd restarts running" },
  ],
};

const ALIGNMENT = "test/unit/health-monitor.test.ts";
const figures = (file: string, type: string) => typeFields(`edge/${file}`, type);

/** Fields that types and functions declare, and the tests that compute them. */
const DOCUMENTS: Record<string, readonly [declared: string[], fields: Record<string, string>]> = {
  "run --json and metrics": [
    figures("run/figures.ts", "RunFigures"),
    {
      [RUN]: `algorithm atRangeEndPercent backend backendReason droppedPercent drops dutyCycle fps frames governor health height
        instructionSet latencyMs matchedPercent noise outputs p50 p95 p99 pairing power search seconds stages validPercent
        verticalOffset width`,
    },
  ],
  pairing: [
    figures("run/figures.ts", "PairingFigures"),
    {
      [RUN]:
        "allPairs driftPpm other pairs skewMsHistogram skewMsMean skewMsP99 unmatchedLeft unmatchedRight upToMs",
    },
  ],
  power: [
    typeFields("power/report.ts", "PowerReport"),
    {
      [RUN]: `available changed context fpsPerWatt frames idleWatts joules joulesPerFrame joulesPerFrameNet mdePerJoule rails
        reason sampling sensor watts wattsUncertainty windowSeconds`,
    },
  ],
  "power.rails": [
    typeFields("power/report.ts", "RailFigure"),
    { [RUN]: "available joules samples watts wattsUncertainty" },
  ],
  "power.sampling": [
    typeFields("power/report.ts", "SamplingFigures"),
    { "test/unit/power/sampler.test.ts": "busReadPercent by rateHz timerPercent userPercent" },
  ],
  governor: [
    figures("governor/figures.ts", "GovernorFigures"),
    {
      "test/unit/governor/scripted-loop.test.ts":
        "available budgetWatts changes clocks emcMegahertz gpuMegahertz level levels minFps name reason",
    },
  ],
  dutyCycle: [
    figures("contracts/duty-cycle.ts", "DutyCycleFigures"),
    {
      "test/unit/edge/run/duty-cycle.test.ts":
        "asleepSeconds available joulesPerUsefulFrame state usefulFrames wakes",
    },
  ],
  health: [
    figures("rig/health/monitor.ts", "HealthReport"),
    { [ALIGNMENT]: "alignment code cpuPercent looks problem text" },
  ],
  "health.alignment": [
    figures("rig/health/figures.ts", "AlignmentFigures"),
    {
      [ALIGNMENT]: `deviationDegrees features focalPixels mean overHeight overWidth p95 pitch residualRows roll
        rotationDegrees rows scalePercent yaw`,
    },
  ],
  "health.alignment.rotationDegrees": [
    figures("rig/health/figures.ts", "RotationFigures"),
    { [ALIGNMENT]: "pitch roll total yaw" },
  ],
  "health.correction": [
    figures("rig/health/correction.ts", "CorrectionFigures"),
    { "test/unit/health-watch.test.ts": "changes pitch refused roll yaw" },
  ],
  verticalOffset: [
    figures("pipeline/adaptation.ts", "VerticalOffsetFigures"),
    { [RUN]: "appliedRows appliedRowsOverWidth measuredRows measuredRowsOverWidth" },
  ],
  noise: [figures("pipeline/adaptation.ts", "NoiseFigures"), { [RUN]: "sigma smoothed" }],
  stages: [figures("contracts/totals.ts", "StageFigures"), { [RUN]: "p50Ms p95Ms p99Ms" }],
  outputs: [
    figures("outputs/outputs.ts", "OutputFigures"),
    { [RUN]: "bytes latencyMs problem sent streams" },
  ],
  info: [
    literalFields("edge/run/info.ts", "runtimeInfo"),
    {
      [RUN]: `algorithm backend backendReason board captureClocks captureFormat captureMemory correction depth drift height instructionSet
        match memory parameters refine region search source threads version wallClock width`,
    },
  ],
  "info.memory": [
    literalFields("edge/run/info.ts", "memoryPaths"),
    { [RUN]: "available images imagesMicroseconds reason results resultsMicroseconds" },
  ],
  camera_info: [
    literalFields("edge/pipeline/geometry.ts", "cameraInfo"),
    { [RUN]: "K P Q baselineMetres calibrationHash disparityOffsetPixels focalPixels height rightP width" },
  ],
  "frames' headers": [
    unique(
      ["FrameDescription", "FrameIdentity", "FrameHeader"].flatMap((type) =>
        typeFields("core/frame/payload.ts", type),
      ),
    ),
    {
      [RUN]: `available bodyBytes clock clockDomain element encoding energy frameNumber headerBytes height leftSequence
        leftTimestampNs points realtimeOffsetNs reason reduction rightSequence rightTimestampNs runId stream timestampPoint
        width`,
      "test/integration/registration.test.ts": "camera",
    },
  ],
  "stageCosts of profile --json": [
    figures("commands/profile/stage-energy.ts", "StageCosts"),
    { [COMMANDS]: "idleJoulesPerFrame joules milliseconds notAdded" },
  ],
  "results of profile --json": [
    figures("profile/types.ts", "PointResult"),
    {
      [COMMANDS]: `backend binSeconds date fps frames id instructionSet point power seconds stages temperature threads timeline
        validPercent watts`,
      "test/integration/profile-energy.test.ts": "addedPerFrame",
    },
  ],
  "temperature of a profile": [
    figures("profile/types.ts", "TemperatureFigures"),
    { [COMMANDS]: "available endCelsius reason startCelsius steady" },
  ],
};

const split = (names: string) => names.split(/\s+/).filter(Boolean);

/** Expects each declared field to have a test that names it. */
function expectFields(declared: readonly string[], fields: Record<string, string>): void {
  expect(unique(Object.values(fields).flatMap(split))).toEqual(declared);
  for (const [file, names] of Object.entries(fields)) {
    const text = readFileSync(join(packageRoot(), file), "utf8");
    const unnamed = split(names).filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
    expect(unnamed, file).toEqual([]);
  }
}

test.each(Object.entries(DOCUMENTS))("fields of %s", (_, [declared, fields]) =>
  expectFields(declared, fields),
);

/** The fields of documents in recordings, and the tests that compare them with the published ones. */
const RECORDED: Record<string, Record<string, string>> = {
  "depthwatt.FrameEnergy": {
    "test/unit/outputs/recorded-energy.test.ts": "ageMs available joules joulesUncertainty reason seconds",
  },
  "depthwatt.Info": { [RUN]: "backend parameters source version" },
  "depthwatt.Metrics": {
    [RUN]: "algorithm backend drops fps frames governor latencyMs outputs pairing power seconds stages",
  },
  "depthwatt.Notice": { [RUN]: "text" },
  "depthwatt.Settings": { [RUN]: "from values" },
  "depthwatt.State": { [RUN]: "reason state" },
};
const recorded = Object.values(schemas).filter(
  (one): one is schemas.RecordedSchema => typeof one === "object" && one.encoding === "jsonschema",
);

test("every document in recordings has its row", () => {
  expect(recorded.map(({ name }) => name).sort()).toEqual(Object.keys(RECORDED));
});

test.each(recorded)("fields of $name in a recording", ({ name, text }) =>
  expectFields(Object.keys(JSON.parse(text).properties).sort(), RECORDED[name]!),
);

test("the definition of recorded metrics names fields that metrics have", () => {
  const recorded = Object.keys(JSON.parse(schemas.METRICS.text).properties);
  const published = figures("run/figures.ts", "RunFigures");
  expect(recorded.filter((name) => !published.includes(name))).toEqual([]);
});

/** Messages of ROS 2, and the test that reads each in another way. */
const ROS_MESSAGES: Record<string, string> = {
  "sensor_msgs/msg/CameraInfo": "test/unit/outputs/ros-messages.test.ts",
  "sensor_msgs/msg/CompressedImage": "test/integration/record.test.ts",
  "sensor_msgs/msg/Image": "test/integration/record.test.ts",
  "sensor_msgs/msg/PointCloud2": "test/integration/record.test.ts",
  "tf2_msgs/msg/TFMessage": "test/integration/record.test.ts",
};

test("every ROS message has a test that names it", () => {
  const names = Object.values(schemas).flatMap((one) =>
    "text" in one && one.encoding === "ros2msg" ? [one.name] : [],
  );
  expect(Object.keys(ROS_MESSAGES)).toEqual(names.sort());
  for (const [name, file] of Object.entries(ROS_MESSAGES))
    expect(readFileSync(join(packageRoot(), file), "utf8"), file).toContain(name.split("/").at(-1));
});

test("every kind of output has its row", () => {
  expect(Object.keys(DETAILS).sort()).toEqual([...OUTPUT_KINDS].sort());
});

test.each(Object.entries(DETAILS))("details of the output %s", (_, [source, fields]) => {
  expectFields(literalFields(`edge/outputs/${source}`, "details"), fields);
});
