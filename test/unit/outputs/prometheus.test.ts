// SPDX-License-Identifier: Apache-2.0
// Tests the metrics for Prometheus: both formats by hand, unknown values absent, and clients that do not read.
import { readFileSync } from "node:fs";
import { request as ask, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import {
  BucketCounts,
  ENERGY_BUCKETS,
  SKEW_BUCKETS,
  TIME_BUCKETS,
} from "../../../edge/contracts/bucket-counts.js";
import { alertRules, grafanaDashboard } from "../../../edge/outputs/prometheus/dashboard.js";
import { exposition, formatFor } from "../../../edge/outputs/prometheus/exposition.js";
import { FAMILIES } from "../../../edge/outputs/prometheus/families.js";
import type { Family, ScrapeFacts } from "../../../edge/outputs/prometheus/family.js";
import { Scrapes } from "../../../edge/outputs/prometheus/scrapes.js";

const NOTHING: ScrapeFacts = {
  totals: undefined,
  recent: undefined,
  state: undefined,
  build: {},
  warnings: 0,
  process: { cpuSeconds: 1.5, residentBytes: 1024, startSeconds: 1_700_000_000 },
};

const sample: Family[] = [
  {
    name: "robot_energy_joules",
    type: "counter",
    unit: "joules",
    help: 'of "all"\nrails \\ rail',
    samples: () => [{ labels: { rail: 'VDD "IN"\n\\' }, value: 2.5 }],
  },
  { name: "robot_build", type: "info", help: "it", samples: () => [{ labels: { v: "1" }, value: 1 }] },
  { name: "robot_power_watts", type: "gauge", unit: "watts", help: "unknown", samples: () => [] },
];

test("a counter and an info in both formats, by hand", () => {
  expect(exposition(sample, NOTHING, "prometheus")).toBe(
    '# HELP robot_energy_joules_total of "all"\\nrails \\\\ rail\n' +
      "# TYPE robot_energy_joules_total counter\n" +
      'robot_energy_joules_total{rail="VDD \\"IN\\"\\n\\\\"} 2.5\n' +
      "# HELP robot_build_info it\n# TYPE robot_build_info gauge\n" +
      'robot_build_info{v="1"} 1\n',
  );
  expect(exposition(sample, NOTHING, "openMetrics")).toBe(
    '# HELP robot_energy_joules of "all"\\nrails \\\\ rail\n' +
      "# TYPE robot_energy_joules counter\n# UNIT robot_energy_joules joules\n" +
      'robot_energy_joules_total{rail="VDD \\"IN\\"\\n\\\\"} 2.5\n' +
      "# HELP robot_build it\n# TYPE robot_build info\n" +
      'robot_build_info{v="1"} 1\n# EOF\n',
  );
});

test("a histogram counts exactly, its bounds included", () => {
  const times = new BucketCounts(TIME_BUCKETS);
  for (const milliseconds of [0.05, 1, 1.0001, 1000, 9999]) times.add(milliseconds);
  const family: Family = {
    name: "robot_time_seconds",
    type: "histogram",
    unit: "seconds",
    help: "t",
    samples: () => [{ labels: { stage: "match" }, counts: times.snapshot() }],
  };
  const lines = exposition([family], NOTHING, "openMetrics").split("\n");
  const at = (le: string) =>
    lines.find((line) => line.includes(`le="${le}"`))?.replace(/^.* /, "") ?? `no ${le}`;
  expect([at("0.0001"), at("0.0005"), at("0.001"), at("0.0025"), at("1.0"), at("2.5"), at("+Inf")]).toEqual([
    "1",
    "1",
    "2",
    "3",
    "4",
    "4",
    "5",
  ]);
  expect(lines).toContain('robot_time_seconds_count{stage="match"} 5');
  expect(lines).toContain(
    `robot_time_seconds_sum{stage="match"} ${(0.05 + 1 + 1.0001 + 1000 + 9999) / 1000}`,
  );
  for (const { bounds } of [TIME_BUCKETS, ENERGY_BUCKETS])
    expect(bounds.every((value, place) => place === 0 || value > bounds[place - 1]!)).toBe(true);
});

test.each([
  [undefined, "prometheus"],
  ["text/plain", "prometheus"],
  ["application/openmetrics-text; version=1.0.0; charset=utf-8", "openMetrics"],
  [
    "application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    "prometheus",
  ],
  ["application/openmetrics-text;version=1.0.0;q=0,text/plain", "prometheus"],
  ["text/plain;q=0.5, application/openmetrics-text", "openMetrics"],
])("Accept %s is answered in %s", (accept, format) => {
  expect(formatFor(accept)).toBe(format);
});

test("before the first frame only known values are there", () => {
  const text = exposition(FAMILIES, NOTHING, "prometheus");
  expect(text.match(/^[a-z_]+/gm)).toEqual([
    "depthwatt_warnings_total",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
  ]);
});

test("power that cannot be read is absent, and the reason stands next to it", () => {
  const recent = { power: { available: false, reason: "no power sensor" } } as const;
  const text = exposition(FAMILIES, { ...NOTHING, recent }, "prometheus");
  expect(text).toContain('depthwatt_unavailable{figure="power",reason="no power sensor"} 1');
  expect(text).not.toMatch(/watts|joules/);
});

test("power, rails, idle and temperatures that are known stand with their units", () => {
  const rail = { available: true, watts: 4, joules: 40, wattsUncertainty: 0.1, samples: 9 } as const;
  const power = {
    available: true,
    watts: 5.25,
    wattsUncertainty: 0.25,
    joules: 52.5,
    joulesPerFrame: 7.5,
    fpsPerWatt: { available: false, reason: "no frame" },
    idleWatts: 3,
    rails: { VDD_IN: rail, VDD_CPU: { available: false, reason: "denied" } },
    context: { temperaturesCelsius: { "CPU-therm": 48.5 }, throttle: { soctherm: 2 } },
  };
  const text = exposition(
    FAMILIES,
    {
      ...NOTHING,
      recent: { power } as unknown as ScrapeFacts["recent"],
      totals: {
        frames: 7,
        pixels: { asked: 100, valid: 90, matched: 80 },
        droppedPixels: { filled: 10, lowConfidence: 0, tooNear: 0, tooFar: 0 },
        stages: {},
        outputs: {},
        latency: new BucketCounts(TIME_BUCKETS).snapshot(),
        frameEnergy: { buckets: ENERGY_BUCKETS, cumulative: [0, 0, 0, 0, 1], count: 1, sum: 0.2 },
        skew: new BucketCounts(SKEW_BUCKETS).snapshot(),
        drops: { "left.late": 3 },
        power: power as never,
        dutyCycle: {
          available: true,
          state: "asleep",
          wakes: 4,
          usefulFrames: 8,
          asleepSeconds: 31.5,
          joulesPerUsefulFrame: 12.25,
        },
      },
    },
    "prometheus",
  );
  for (const line of [
    "depthwatt_power_watts 5.25",
    "depthwatt_asleep_seconds_total 31.5",
    "depthwatt_wakes_total 4",
    "depthwatt_useful_frame_joules 12.25",
    "depthwatt_idle_power_watts 3",
    "depthwatt_power_uncertainty_watts 0.25",
    "depthwatt_frame_energy_joules 7.5",
    'depthwatt_rail_power_watts{rail="VDD_IN"} 4',
    "depthwatt_energy_joules_total 52.5",
    'depthwatt_frame_interval_energy_joules_bucket{le="0.25"} 1',
    "depthwatt_frame_interval_energy_joules_sum 0.2",
    'depthwatt_rail_energy_joules_total{rail="VDD_IN"} 40',
    'depthwatt_temperature_celsius{zone="CPU-therm"} 48.5',
    'depthwatt_throttle_events_total{counter="soctherm"} 2',
    "depthwatt_frames_total 7",
    'depthwatt_drops_total{cause="left.late"} 3',
    'depthwatt_pixels_total{kind="matched"} 80',
    'depthwatt_dropped_pixels_total{cause="filled"} 10',
  ])
    expect(text.split("\n")).toContain(line);
  expect(text).not.toContain("VDD_CPU");
});

test("names follow the conventions, and dashboard and alerts name only metrics that there are", () => {
  const exposed = new Set<string>();
  for (const { name, type, unit } of FAMILIES) {
    expect(name).toMatch(/^(depthwatt|process)_[a-z_]+$/);
    expect(name).not.toMatch(/_(total|info|count|sum|bucket)$/);
    if (unit) expect(name.endsWith(`_${unit}`)).toBe(true);
    exposed.add(name + { counter: "_total", info: "_info", gauge: "", histogram: "_bucket" }[type]);
  }
  expect(exposed.size).toBe(FAMILIES.length);
  const used = `${JSON.stringify(grafanaDashboard())}${alertRules()}`.match(
    /\b(depthwatt|process)_[a-z_]+/g,
  )!;
  for (const name of used) expect([...exposed]).toContain(name);
});

test("the committed dashboard and rules are those of the list", () => {
  const folder = new URL("../../../docs/guides/prometheus/", import.meta.url);
  expect(JSON.parse(readFileSync(new URL("grafana-dashboard.json", folder), "utf8"))).toEqual(
    grafanaDashboard(),
  );
  expect(readFileSync(new URL("alert-rules.yaml", folder), "utf8")).toBe(alertRules());
});

test("clients that do not read are bounded and cut off; the others are served from one text", async () => {
  let made = 0;
  const scrapes = new Scrapes(
    () => {
      made++;
      return "x".repeat(8 << 20);
    },
    { maxUnread: 2, readLimitMs: 1500, freshMs: 60_000 },
  );
  const server = createServer((_, response) => {
    const why = scrapes.answer("prometheus", response);
    if (why) response.writeHead(503).end(why);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const stalled = [0, 1].map(
    () =>
      new Promise<void>((resolve) => {
        const asked = ask({ port, host: "127.0.0.1", agent: false }, (response) => {
          response.pause();
          resolve();
        });
        asked.on("error", () => {});
        asked.end();
      }),
  );
  await Promise.all(stalled);
  const third = await fetch(`http://127.0.0.1:${port}`);
  expect([third.status, await third.text()]).toEqual([503, expect.stringContaining("at most 2 scrapes")]);
  const cutOff = () => scrapes.counters().details?.cutOff;
  await vi.waitFor(() => expect(cutOff()).toBe(2), { timeout: 20_000, interval: 50 });
  const fourth = await fetch(`http://127.0.0.1:${port}`);
  expect([fourth.status, (await fourth.text()).length]).toEqual([200, 8 << 20]);
  await vi.waitFor(
    () => expect(scrapes.counters()).toMatchObject({ sent: 1, details: { refusedBusy: 1, cutOff: 2 } }),
    10_000,
  );
  expect(made).toBe(1);
  server.closeAllConnections();
  server.close();
});
