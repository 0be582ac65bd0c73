// SPDX-License-Identifier: Apache-2.0
// Tests the metrics for Prometheus: both formats by hand, unknown values absent, and clients that do not read.
import { readFileSync } from "node:fs";
import { request as ask, createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import { BucketCounts, ENERGY_BUCKETS, TIME_BUCKETS } from "../../../edge/contracts/bucket-counts.js";
import type { FrameLease, OutputContext } from "../../../edge/contracts/output.js";
import { HttpServer } from "../../../edge/http/index.js";
import { alertRules, grafanaDashboard } from "../../../edge/outputs/prometheus/dashboard.js";
import { exposition, formatFor } from "../../../edge/outputs/prometheus/exposition.js";
import { FAMILIES } from "../../../edge/outputs/prometheus/families.js";
import type { Family, ScrapeFacts } from "../../../edge/outputs/prometheus/family.js";
import { openPrometheus } from "../../../edge/outputs/prometheus/prometheus-output.js";
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

const rail = { available: true, watts: 4, joules: 40, wattsUncertainty: 0.1, samples: 9 } as const;
const POWER = {
  available: true,
  watts: 5.25,
  wattsUncertainty: 0.25,
  joules: 52.5,
  joulesPerFrame: 7.5,
  fpsPerWatt: 0.5,
  idleWatts: 3,
  rails: { VDD_IN: rail, VDD_CPU: { available: false, reason: "denied" } },
  context: { temperaturesCelsius: { "CPU-therm": 48.5 }, throttle: { soctherm: 2 } },
};
const NONE = { available: false, reason: "not there" };
const one = { buckets: { bounds: [250], perUnit: 1000 }, cumulative: [1], count: 1, sum: 100 };
const none = { ...one, cumulative: [0], count: 0, sum: 0 };
const TOTALS = {
  frames: 7,
  pixels: { asked: 100, valid: 90, matched: 80 },
  droppedPixels: { filled: 10, lowConfidence: 9, tooNear: 8, tooFar: 6 },
  stages: { match: one },
  outputs: {
    mqtt: { sent: 11, bytes: 1100, problem: undefined, latency: one },
    ros: { sent: 12, bytes: 1200, problem: "the broker is away", latency: none },
  },
  latency: one,
  frameEnergy: one,
  skew: one,
  drops: { "left.late": 3 },
  power: { ...POWER, joules: 525, rails: { VDD_IN: { ...rail, joules: 400 }, VDD_CPU: NONE } },
  dutyCycle: {
    available: true,
    state: "asleep",
    wakes: 4,
    usefulFrames: 8,
    asleepSeconds: 31.5,
    joulesPerUsefulFrame: 12.25,
  },
};

/** Returns the samples, of histograms the count. */
const samples = (facts: object) =>
  exposition(FAMILIES, { ...NOTHING, ...facts } as ScrapeFacts, "prometheus")
    .trim()
    .split("\n")
    .filter((line) => !/^#|_(bucket|sum)[{ ]/.test(line));
const PROCESS = [
  "process_cpu_seconds_total 1.5",
  "process_resident_memory_bytes 1024",
  "process_start_time_seconds 1700000000",
];

test("every known value is a sample with its unit and labels, and an unknown one is none", () => {
  const build = { version: "1.2.3", board: "orin-nano" };
  expect(
    samples({ build, state: "degraded", warnings: 5, recent: { power: POWER }, totals: TOTALS }),
  ).toEqual([
    'depthwatt_build_info{version="1.2.3",board="orin-nano"} 1',
    'depthwatt_state{state="online"} 0',
    'depthwatt_state{state="degraded"} 1',
    'depthwatt_state{state="stopped"} 0',
    "depthwatt_warnings_total 5",
    "depthwatt_frames_total 7",
    'depthwatt_drops_total{cause="left.late"} 3',
    'depthwatt_pixels_total{kind="asked"} 100',
    'depthwatt_pixels_total{kind="valid"} 90',
    'depthwatt_pixels_total{kind="matched"} 80',
    'depthwatt_dropped_pixels_total{cause="filled"} 10',
    'depthwatt_dropped_pixels_total{cause="lowConfidence"} 9',
    'depthwatt_dropped_pixels_total{cause="tooNear"} 8',
    'depthwatt_dropped_pixels_total{cause="tooFar"} 6',
    'depthwatt_stage_duration_seconds_count{stage="match"} 1',
    "depthwatt_compute_latency_seconds_count 1",
    'depthwatt_output_latency_seconds_count{output="mqtt"} 1',
    'depthwatt_output_messages_total{output="mqtt"} 11',
    'depthwatt_output_messages_total{output="ros"} 12',
    'depthwatt_output_bytes_total{output="mqtt"} 1100',
    'depthwatt_output_bytes_total{output="ros"} 1200',
    'depthwatt_output_problem{output="mqtt"} 0',
    'depthwatt_output_problem{output="ros"} 1',
    "depthwatt_power_watts 5.25",
    'depthwatt_rail_power_watts{rail="VDD_IN"} 4',
    "depthwatt_idle_power_watts 3",
    "depthwatt_power_uncertainty_watts 0.25",
    "depthwatt_frame_energy_joules 7.5",
    "depthwatt_frame_interval_energy_joules_count 1",
    "depthwatt_pair_skew_seconds_count 1",
    "depthwatt_frames_per_second_watt 0.5",
    "depthwatt_energy_joules_total 525",
    'depthwatt_rail_energy_joules_total{rail="VDD_IN"} 400',
    "depthwatt_asleep_seconds_total 31.5",
    "depthwatt_wakes_total 4",
    "depthwatt_useful_frame_joules 12.25",
    'depthwatt_temperature_celsius{zone="CPU-therm"} 48.5',
    'depthwatt_throttle_events_total{counter="soctherm"} 2',
    ...PROCESS,
  ]);
  const unknown = { wattsUncertainty: NONE, joulesPerFrame: NONE, fpsPerWatt: NONE, idleWatts: NONE };
  const power = { ...POWER, ...unknown, rails: {}, context: NONE };
  const dutyCycle = { ...TOTALS.dutyCycle, joulesPerUsefulFrame: NONE };
  const nothing = { drops: {}, pixels: {}, droppedPixels: {}, stages: {}, outputs: {} };
  const totals = { ...TOTALS, ...nothing, latency: none, frameEnergy: none, skew: none, dutyCycle };
  expect(samples({ recent: { power }, totals: { ...totals, power: { ...NONE, rails: {} } } })).toEqual([
    "depthwatt_warnings_total 0",
    "depthwatt_frames_total 7",
    "depthwatt_compute_latency_seconds_count 0",
    "depthwatt_power_watts 5.25",
    "depthwatt_asleep_seconds_total 31.5",
    "depthwatt_wakes_total 4",
    'depthwatt_unavailable{figure="conditions",reason="not there"} 1',
    'depthwatt_unavailable{figure="uncertainty",reason="not there"} 1',
    ...PROCESS,
  ]);
  expect(samples({ totals: { ...totals, power: NONE, dutyCycle: NONE } })).toEqual([
    "depthwatt_warnings_total 0",
    "depthwatt_frames_total 7",
    "depthwatt_compute_latency_seconds_count 0",
    ...PROCESS,
  ]);
});

test.each([
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "+Inf"],
  [Number.NEGATIVE_INFINITY, "-Inf"],
  [-0.5, "-0.5"],
])("the value %d is written as %s", (value, text) => {
  const family: Family = { name: "robot_x", type: "gauge", help: "x", samples: () => [{ value }] };
  expect(exposition([family], NOTHING, "prometheus")).toContain(`\nrobot_x ${text}\n`);
});

test("the output answers with the newest facts, at most every 200 ms, and counts the answers", async () => {
  const server = new HttpServer({ address: "127.0.0.1", port: 0, gate: undefined });
  await server.listen();
  const output = await openPrometheus({
    http: async () => ({ server }),
    totals: () => TOTALS,
  } as unknown as OutputContext<unknown>);
  const scrape = async (accept: string) => {
    const answer = await fetch(`${server.url}/metrics`, { headers: { accept } });
    const text = await answer.text();
    const { headers, status } = answer;
    const [type, cache] = ["content-type", "cache-control"].map((name) => headers.get(name));
    expect([status, cache, headers.get("content-length")]).toEqual([200, "no-store", String(text.length)]);
    return { type, lines: text.trim().split("\n") };
  };
  let released = 0;
  output.frame({ release: () => released++ } as unknown as FrameLease);
  output.state!("degraded", "hot");
  output.notice!("a");
  output.notice!("b");
  output.info!({ version: "1.2.3", board: undefined, backend: "cpu", instructionSet: "avx2", device: "rig" });
  output.metrics!({ power: POWER });
  const { type, lines } = await scrape("text/plain");
  expect([type, released]).toEqual(["text/plain; version=0.0.4; charset=utf-8", 1]);
  for (const line of [
    'depthwatt_build_info{version="1.2.3",backend="cpu",instruction_set="avx2"} 1',
    'depthwatt_state{state="degraded"} 1',
    "depthwatt_warnings_total 2",
    "depthwatt_power_watts 5.25",
    "depthwatt_energy_joules_total 525",
  ])
    expect(lines).toContain(line);
  const figure = (name: string) => Number(lines.find((line) => line.startsWith(`${name} `))!.split(" ")[1]);
  const { user, system } = process.cpuUsage();
  const cpuSeconds = figure("process_cpu_seconds_total");
  expect(cpuSeconds).toBeGreaterThan(0);
  expect(cpuSeconds).toBeLessThanOrEqual((user + system) / 1e6);
  // Neither bytes of another process nor seconds of another clock.
  expect(figure("process_resident_memory_bytes")).toBeGreaterThan(1 << 20);
  const startSeconds = Date.now() / 1000 - process.uptime();
  expect(Math.abs(figure("process_start_time_seconds") - startSeconds)).toBeLessThan(60);
  const open = await scrape("application/openmetrics-text");
  expect([open.type, open.lines.at(-1)]).toEqual([
    "application/openmetrics-text; version=1.0.0; charset=utf-8",
    "# EOF",
  ]);
  await vi.waitFor(() => expect(output.counters().sent).toBe(2));
  const bytes = [lines, open.lines].reduce((sum, all) => sum + all.join("\n").length + 1, 0);
  expect(output.counters()).toEqual({ sent: 2, bytes, drops: {}, details: { refusedBusy: 0, cutOff: 0 } });
  expect([output.streams, output.greeting!()]).toEqual([[], [["metrics", `${server.url}/metrics`]]]);
  await output.close();
  await server.close();
});

test("a text is made again when it is 200 ms old; the 17th answer at a time is refused; 10 s to read one", () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  try {
    let made = 0;
    const scrapes = new Scrapes(() => `text ${++made}`);
    const destroyed: number[] = [];
    const closers: ((finished: boolean) => void)[] = [];
    const answer = () => {
      const place = closers.length;
      const response = {
        writableFinished: false,
        destroy: () => destroyed.push(place),
        once: (_: string, done: () => void) =>
          closers.push((finished) => {
            response.writableFinished = finished;
            done();
          }),
        writeHead: () => {},
        end: () => {},
      };
      return scrapes.answer("prometheus", response as unknown as ServerResponse);
    };
    answer();
    vi.advanceTimersByTime(199);
    answer();
    expect(made).toBe(1);
    vi.advanceTimersByTime(1);
    for (let at = 2; at < 16; at++) expect(answer()).toBeUndefined();
    expect(made).toBe(2);
    expect(answer()).toMatch(/at most 16 scrapes/);
    // One was read, one broke off, and the others do not read.
    closers[0]!(true);
    closers[1]!(false);
    vi.advanceTimersByTime(9_999);
    expect(destroyed).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(destroyed).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    // Closed now, they are not counted a second time.
    closers[2]!(true);
    const details = { refusedBusy: 1, cutOff: 14 };
    expect(scrapes.counters()).toEqual({ sent: 1, bytes: 6, drops: {}, details });
    // After the end nothing is cut off.
    answer();
    scrapes.close();
    vi.advanceTimersByTime(10_000);
    expect(destroyed).toHaveLength(14);
  } finally {
    vi.useRealTimers();
  }
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
