// SPDX-License-Identifier: Apache-2.0
// The mean rotation of each day: over restarts, over midnight, with files that are none and folders that cannot be written.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { rectify, sceneCalibration } from "../../camera/index.js";
import { driftFrom } from "../../clients/page/figures/charts.js";
import { DriftFile } from "../../edge/rig/health/drift.js";
import { keepCorrection } from "../../edge/rig/health/keep.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-drift-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const HOUR = 3_600_000;
const radians = (degrees: number) => ({ value: (degrees * Math.PI) / 180, deviation: 1e-5 });
const estimate = (roll: number) => ({
  terms: { pitch: radians(0.1), yaw: radians(0), roll: radians(roll) } as never,
});

test("means of days continue after a restart, and are written once an hour and at the end", () => {
  const file = join(folder, "new", "drift.json");
  let now = Date.parse("2026-11-25T22:30:00Z");
  let saved = 0;
  const open = () =>
    new DriftFile(
      file,
      () => saved++,
      () => now,
    );
  const first = open();
  first.take(estimate(0.2));
  first.take(estimate(0.4));
  expect(saved).toBe(1);
  first.save();
  const second = open();
  second.take(estimate(0.6));
  expect(saved).toBe(2);
  now += HOUR;
  second.take(estimate(0.8));
  expect(saved).toBe(3);
  now += HOUR;
  second.take(estimate(1));
  const days = JSON.parse(readFileSync(file, "utf8"));
  expect(days).toEqual([
    { date: "2026-11-25", pitch: expect.closeTo(0.1, 9), yaw: 0, roll: expect.closeTo(0.5, 9), looks: 4 },
    { date: "2026-11-26", pitch: expect.closeTo(0.1, 9), yaw: 0, roll: expect.closeTo(1, 9), looks: 1 },
  ]);
  expect(second.report).toMatchObject({ file, days });
  expect(driftFrom({ drift: second.report })).toMatchObject({
    seconds: [Date.parse("2026-11-25") / 1000, Date.parse("2026-11-26") / 1000],
    chart: {
      lines: [{ name: "pitch" }, { name: "yaw" }, { name: "roll", values: [expect.closeTo(0.5, 9), 1] }],
    },
  });
  expect(driftFrom({ drift: { available: false, reason: "health.driftFile is not set" } })).toBeUndefined();
});

test("a file that is no list of days stays as it is; a folder that cannot be written is tried again", () => {
  const other = join(folder, "other.json");
  writeFileSync(other, '{"not": "days"}');
  const problems: (string | undefined)[] = [];
  const drift = new DriftFile(other, (problem) => problems.push(problem));
  drift.take(estimate(0.2));
  drift.save();
  expect(readFileSync(other, "utf8")).toBe('{"not": "days"}');
  expect(drift.report).toMatchObject({
    available: false,
    reason: expect.stringContaining("expected a list of days"),
  });
  // A folder stands where the file is written before it is renamed.
  const file = join(folder, "blocked.json");
  const blocked = `${file}.${process.pid}.new`;
  mkdirSync(blocked);
  let now = 0;
  const later = new DriftFile(
    file,
    (problem) => problems.push(problem),
    () => now,
  );
  later.take(estimate(0.2));
  expect(later.report).toMatchObject({
    available: false,
    reason: expect.stringContaining("cannot write it"),
  });
  rmSync(blocked, { recursive: true });
  now += HOUR;
  later.take(estimate(0.4));
  expect(later.report).toMatchObject({ days: [{ date: "1970-01-01", looks: 2 }] });
  expect(problems.map((problem) => problem?.slice(0, 16))).toEqual([
    "health.driftFile",
    "health.driftFile",
    undefined,
  ]);
});

test("a correction goes to the state folder of a service that cannot write next to its calibration", () => {
  const calibration = sceneCalibration({ width: 320, height: 240 });
  const rig = { calibration, rectification: rectify(calibration) };
  const correction = { pitch: 0.1, yaw: 0, roll: 0.2, changes: 1, refused: null };
  const keep = (crop: number | "given", of = correction) =>
    keepCorrection(
      { file: "/nowhere/left.yaml,/nowhere/right.yaml", crop },
      rig,
      of,
      new Date("2026-11-26T21:00:05Z"),
    );
  process.env.STATE_DIRECTORY = folder;
  try {
    expect(keep(0).file).toBe(join(folder, "calibration-2026-11-26T21-00-05.json"));
    expect(() => keep(0)).toThrow(/EEXIST/);
    expect(() => keep("given")).toThrow(/calibration.crop is given/);
    expect(() => keep(0, { ...correction, pitch: 0, roll: 0 })).toThrow(/no rotation is corrected now/);
  } finally {
    delete process.env.STATE_DIRECTORY;
  }
});
