// SPDX-License-Identifier: Apache-2.0
// The table of a fleet out of what devices say, of any form.
import { expect, test } from "vitest";
import type { ConsumerEvents } from "../../../../../clients/javascript/src/consumer.js";
import { Emitter } from "../../../../../clients/javascript/src/emitter.js";
import { summary } from "../../../../../edge/commands/fleet/command.js";
import { Fleet, MAX_DEVICES } from "../../../../../edge/commands/fleet/fleet.js";

class Said extends Emitter<ConsumerEvents> {
  say<Name extends keyof ConsumerEvents>(name: Name, event: ConsumerEvents[Name]): void {
    this.emit(name, event);
  }
}

function createFleet() {
  let nowMs = 0;
  const said = new Said();
  const fleet = new Fleet(() => nowMs);
  fleet.follow(said as never);
  return { said, fleet, pass: (ms: number) => (nowMs += ms) };
}

const online = { state: "online", reason: "runs", runId: 1 };

test("devices stand in the order of their names with what they say; what they do not say is null", () => {
  const { said, fleet } = createFleet();
  said.say("state", { device: "b", ...online });
  said.say("metrics", {
    device: "a",
    metrics: {
      fps: 30,
      power: {
        available: true,
        watts: 8,
        fpsPerWatt: 3.75,
        context: { temperaturesCelsius: { cpu: 40, gpu: 51 } },
      },
    },
  });
  const [a, b] = fleet.devices();
  expect(a).toMatchObject({
    device: "a",
    state: "unknown",
    fps: 30,
    watts: 8,
    temperatureCelsius: 51,
    version: null,
  });
  expect(b).toMatchObject({ device: "b", state: "online", fps: null, watts: null, metricsAgeSeconds: null });
});

test("every field of a device, with its bounds", () => {
  const { said, fleet, pass } = createFleet();
  const info = { version: "1.0", board: "x".repeat(201), backend: "cpu", algorithm: "sgm" };
  const power = {
    available: false,
    reason: "no total",
    watts: 8,
    fpsPerWatt: 3.75,
    joulesPerFrame: 0.25,
    context: { temperaturesCelsius: { cpu: 40, gpu: 51, none: "hot" } },
  };
  for (const device of ["b", "c", "a"]) said.say("state", { device, ...online });
  said.say("info", { device: "b", info });
  said.say("metrics", { device: "b", metrics: { fps: 30, power } });
  pass(1260);
  expect(fleet.devices().map(({ device }) => device)).toEqual(["a", "b", "c"]);
  expect(fleet.devices()[1]).toEqual({
    device: "b",
    state: "online",
    reason: "runs",
    version: "1.0",
    board: "x".repeat(200),
    backend: "cpu",
    algorithm: "sgm",
    fps: 30,
    watts: 8,
    powerReason: "no total",
    fpsPerWatt: 3.75,
    joulesPerFrame: 0.25,
    temperatureCelsius: 51,
    metricsAgeSeconds: 1.3,
    warnings: [],
  });
  expect(fleet.devices()[0]).toMatchObject({ temperatureCelsius: null, powerReason: null });
});

test.each([
  ["the first metrics are late after 5 s", [], 5000],
  ["metrics twice a second too", [500], 5000],
  ["metrics of each 2 s after 10 s", [2000], 10_000],
])("%s", (_, intervalsMs, lateMs) => {
  const { said, fleet, pass } = createFleet();
  said.say("state", { device: "a", ...online });
  said.say("metrics", { device: "a", metrics: { fps: 5 } });
  for (const ms of intervalsMs) {
    pass(ms);
    said.say("metrics", { device: "a", metrics: { fps: 5 } });
  }
  pass(lateMs);
  expect(fleet.devices()[0]!.warnings).toEqual([]);
  pass(1);
  expect(fleet.devices()[0]!.warnings).toEqual([`no metrics for ${lateMs / 1000} s`]);
});

test("a device that stopped is neither late nor without frames, and its runs are forgotten", () => {
  const { said, fleet, pass } = createFleet();
  for (const runId of [1, 2]) said.say("state", { device: "a", ...online, runId });
  said.say("metrics", { device: "a", metrics: { fps: 0 } });
  expect(fleet.devices()[0]!.warnings).toEqual(["2 runs have this name", "no frames"]);
  pass(60_000);
  said.say("state", { device: "a", state: "stopped", reason: "end", runId: 2 });
  expect(fleet.devices()[0]!.warnings).toEqual([]);
});

test("the summary adds up the watts of the devices that measure them", () => {
  const { said, fleet } = createFleet();
  expect(summary(fleet.devices())).toBe("0 devices: none; 0.0 fps together");
  said.say("state", { device: "a", ...online });
  expect(summary(fleet.devices())).toBe("1 device: 1 online; 0.0 fps together");
  for (const [device, watts] of [
    ["b", 8],
    ["c", 4.5],
  ] as const)
    said.say("metrics", { device, metrics: { fps: 30, power: { available: true, watts } } });
  expect(summary(fleet.devices())).toBe("3 devices: 1 online, 2 unknown; 60.0 fps together, 12.5 W of 2");
});

test("it warns of devices that are degraded, silent or without frames, and of two runs under one name", () => {
  const { said, fleet, pass } = createFleet();
  said.say("state", { device: "a", state: "degraded", reason: "one camera is late", runId: 1 });
  said.say("metrics", { device: "a", metrics: { fps: 0, power: { available: false, reason: "no sensor" } } });
  pass(6000);
  said.say("state", { device: "a", ...online, state: "degraded", reason: "one camera is late", runId: 2 });
  expect(fleet.devices()[0]!.warnings).toEqual([
    "one camera is late",
    "2 runs have this name",
    "no metrics for 6 s",
    "no frames",
  ]);
  expect(fleet.devices()[0]).toMatchObject({ watts: null, powerReason: "no sensor" });
  // A run that ends and another that begins do not compete.
  said.say("state", { device: "a", state: "offline", reason: "lost", runId: 2 });
  said.say("state", { device: "a", ...online, runId: 3 });
  said.say("metrics", { device: "a", metrics: { fps: 5, power: { available: true, watts: 1 } } });
  expect(fleet.devices()[0]!.warnings).toEqual([]);
  expect(fleet.devices()[0]).toMatchObject({ watts: 1, powerReason: null });
});

test("metrics that come every minute are not late after ten seconds", () => {
  const { said, fleet, pass } = createFleet();
  said.say("state", { device: "a", ...online });
  for (let times = 0; times < 3; times++) {
    said.say("metrics", { device: "a", metrics: { fps: 5 } });
    pass(60_000);
  }
  expect(fleet.devices()[0]!.warnings).toEqual([]);
});

test.each([null, 7, "text", [], { fps: "fast", power: null }, { power: { watts: Number.NaN } }, { fps: {} }])(
  "metrics and info of the form %j are null in the table",
  (form) => {
    const { said, fleet } = createFleet();
    said.say("metrics", { device: "a", metrics: form });
    said.say("info", { device: "a", info: form });
    expect(fleet.devices()[0]).toMatchObject({
      fps: null,
      watts: null,
      version: null,
      temperatureCelsius: null,
    });
  },
);

test("runs of one name are counted up to a bound", () => {
  const { said, fleet } = createFleet();
  for (let runId = 1; runId <= 15; runId++) said.say("state", { device: "a", ...online, runId });
  expect(fleet.devices()[0]!.warnings).toEqual(["15 runs have this name"]);
  for (let runId = 16; runId <= 1000; runId++) said.say("state", { device: "a", ...online, runId });
  expect(fleet.devices()[0]!.warnings).toEqual(["16 runs or more have this name"]);
});

test("names are bounded", () => {
  const { said, fleet } = createFleet();
  for (let index = 0; index < MAX_DEVICES + 5; index++) said.say("state", { device: `d${index}`, ...online });
  expect(fleet.devices()).toHaveLength(MAX_DEVICES);
  expect(fleet.overlooked).toBe(5);
});
