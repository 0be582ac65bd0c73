// SPDX-License-Identifier: Apache-2.0
// Defines every metric once: the exposition, the dashboard, the alert rules and the manual are made from this list.
// Names: https://prometheus.io/docs/practices/naming (base units, _total for counters, _info for descriptions).
import type { PowerFigures, RailFigure, Unavailable } from "../../../power/index.js";
import type { Family, ScrapeFacts, ValueSample } from "./family.js";

const STATES = ["online", "degraded", "stopped"] as const;

const one = (value: number | undefined): ValueSample[] => (value === undefined ? [] : [{ value }]);

function byLabel<T>(
  label: string,
  values: Readonly<Record<string, T>> | undefined,
  pick: (value: T) => number | undefined,
): ValueSample[] {
  return Object.entries(values ?? {}).flatMap(([name, given]) => {
    const value = pick(given);
    return value === undefined ? [] : [{ labels: { [label]: name }, value }];
  });
}

const powerRails = (power: PowerFigures | undefined): Record<string, RailFigure | Unavailable> =>
  power?.rails ?? {};

/** Undefined where no sensor measures the total, or no frame was computed. */
function powerNumber(
  power: PowerFigures | undefined,
  name: "joulesPerFrame" | "fpsPerWatt" | "wattsUncertainty",
) {
  const value = power?.available ? power[name] : undefined;
  return typeof value === "number" ? value : undefined;
}

const powerContext = ({ recent }: ScrapeFacts) => {
  const power = recent?.power;
  return power?.available && !("available" in power.context) ? power.context : undefined;
};

/** Returns the reasons of unavailable values; the values themselves are absent, never 0. */
function unavailable({ recent }: ScrapeFacts): ValueSample[] {
  if (recent === undefined) return [];
  const { power } = recent;
  const missing = (figure: string, reason: string) => ({ labels: { figure, reason }, value: 1 });
  if (!power.available) return [missing("power", power.reason)];
  const { context, wattsUncertainty } = power;
  return [
    ...("available" in context ? [missing("conditions", context.reason)] : []),
    ...(typeof wattsUncertainty === "object" ? [missing("uncertainty", wattsUncertainty.reason)] : []),
  ];
}

const dutyCycle = (totals: ScrapeFacts["totals"]) =>
  totals?.dutyCycle.available ? totals.dutyCycle : undefined;

const ON = '{instance=~"$instance"}';
const on = (matchers: string) => `{instance=~"$instance",${matchers}}`;
const rate = (name: string, matchers?: string) =>
  `rate(${name}${matchers ? on(matchers) : ON}[$__rate_interval])`;
const quantile = (share: number, name: string, by: string) =>
  `histogram_quantile(${share}, sum by (instance, ${by}le) (${rate(`${name}_bucket`)}))`;

export const FAMILIES: readonly Family[] = [
  {
    name: "depthwatt_build",
    type: "info",
    help: "Version, board, backend, instruction set and algorithm of the run.",
    samples: ({ build }) => (Object.keys(build).length > 0 ? [{ labels: build, value: 1 }] : []),
  },
  {
    name: "depthwatt_state",
    type: "gauge",
    help: "1 for the state that the run is in, 0 for the others.",
    samples: ({ state }) =>
      state === undefined
        ? []
        : STATES.map((name) => ({ labels: { state: name }, value: Number(name === state) })),
    alerts: [
      {
        name: "DepthwattDegraded",
        expr: 'depthwatt_state{state="degraded"} == 1',
        for: "1m",
        severity: "warning",
        summary: "depthwatt on {{ $labels.instance }} is degraded; its log and its state topic say why.",
      },
    ],
  },
  {
    name: "depthwatt_warnings",
    type: "counter",
    help: "Sentences that the log got as warnings.",
    samples: ({ warnings }) => one(warnings),
  },
  {
    name: "depthwatt_frames",
    type: "counter",
    help: "Frames computed.",
    samples: ({ totals }) => one(totals?.frames),
    panel: {
      title: "Frames a second",
      lines: [{ expr: rate("depthwatt_frames_total"), legend: "{{instance}}" }],
      unit: "short",
    },
    alerts: [
      {
        name: "DepthwattNoFrames",
        expr: "rate(depthwatt_frames_total[1m]) == 0 unless on (instance, job) rate(depthwatt_asleep_seconds_total[1m]) > 0",
        for: "1m",
        severity: "critical",
        summary: "depthwatt on {{ $labels.instance }} has computed no frame for a minute.",
      },
    ],
  },
  {
    name: "depthwatt_drops",
    type: "counter",
    help: "Images and pairs that became no frame, and frames that an output did not send, by cause.",
    samples: ({ totals }) => byLabel("cause", totals?.drops, (count) => count),
    panel: {
      title: "Drops a second",
      lines: [{ expr: rate("depthwatt_drops_total"), legend: "{{instance}} {{cause}}" }],
      unit: "short",
    },
    alerts: [
      {
        name: "DepthwattEngineTooSlow",
        expr: 'rate(depthwatt_drops_total{cause="engineBusy"}[5m]) > on (instance, job) rate(depthwatt_frames_total[5m])',
        for: "10m",
        severity: "warning",
        summary:
          "depthwatt on {{ $labels.instance }} drops more than every second pair: the cameras are faster than it.",
      },
    ],
  },
  {
    name: "depthwatt_pixels",
    type: "counter",
    help: "Pixels asked for, with a disparity (filled ones among them), and found by matching.",
    samples: ({ totals }) => byLabel("kind", totals?.pixels, (count) => count),
    panel: {
      title: "Share of pixels with a disparity",
      lines: ["matched", "valid"].map((kind) => ({
        expr: `${rate("depthwatt_pixels_total", `kind="${kind}"`)} / ignoring (kind) ${rate("depthwatt_pixels_total", 'kind="asked"')}`,
        legend: `{{instance}} ${kind}`,
      })),
      unit: "percentunit",
    },
  },
  {
    name: "depthwatt_dropped_pixels",
    type: "counter",
    help: "Pixels dropped by refine.minConfidence, depth.minMetres and depth.maxMetres, by cause.",
    samples: ({ totals }) => byLabel("cause", totals?.droppedPixels, (count) => count),
    panel: {
      title: "Share of pixels dropped by limits",
      lines: [
        {
          expr: `${rate("depthwatt_dropped_pixels_total")} / ignoring (cause, kind) group_left () ${rate("depthwatt_pixels_total", 'kind="asked"')}`,
          legend: "{{instance}} {{cause}}",
        },
      ],
      unit: "percentunit",
    },
  },
  {
    name: "depthwatt_stage_duration_seconds",
    type: "histogram",
    unit: "seconds",
    help: "Time of each stage of a frame.",
    samples: ({ totals }) =>
      Object.entries(totals?.stages ?? {}).map(([stage, counts]) => ({ labels: { stage }, counts })),
    panel: {
      title: "Time of a stage, 95 %",
      lines: [
        {
          expr: quantile(0.95, "depthwatt_stage_duration_seconds", "stage, "),
          legend: "{{instance}} {{stage}}",
        },
      ],
      unit: "s",
    },
  },
  {
    name: "depthwatt_compute_latency_seconds",
    type: "histogram",
    unit: "seconds",
    help: "From capture to the end of the computation.",
    samples: ({ totals }) => (totals === undefined ? [] : [{ counts: totals.latency }]),
    panel: {
      title: "Latency to the end of the computation",
      lines: [0.5, 0.95, 0.99].map((share) => ({
        expr: quantile(share, "depthwatt_compute_latency_seconds", ""),
        legend: `{{instance}} ${share * 100} %`,
      })),
      unit: "s",
    },
  },
  {
    name: "depthwatt_output_latency_seconds",
    type: "histogram",
    unit: "seconds",
    help: "From capture to the moment when an output had sent the frame.",
    samples: ({ totals }) =>
      Object.entries(totals?.outputs ?? {}).flatMap(([output, { latency: counts }]) =>
        counts.count > 0 ? [{ labels: { output }, counts }] : [],
      ),
    panel: {
      title: "Latency of an output, 95 %",
      lines: [
        {
          expr: quantile(0.95, "depthwatt_output_latency_seconds", "output, "),
          legend: "{{instance}} {{output}}",
        },
      ],
      unit: "s",
    },
  },
  {
    name: "depthwatt_output_messages",
    type: "counter",
    help: "Messages, files or responses that an output has sent.",
    samples: ({ totals }) => byLabel("output", totals?.outputs, ({ sent }) => sent),
  },
  {
    name: "depthwatt_output_bytes",
    type: "counter",
    unit: "bytes",
    help: "Bytes that an output has sent.",
    samples: ({ totals }) => byLabel("output", totals?.outputs, ({ bytes }) => bytes),
    panel: {
      title: "Bytes a second",
      lines: [{ expr: rate("depthwatt_output_bytes_total"), legend: "{{instance}} {{output}}" }],
      unit: "Bps",
    },
  },
  {
    name: "depthwatt_output_problem",
    type: "gauge",
    help: "1 where something is wrong with an output; the state says what.",
    samples: ({ totals }) =>
      byLabel("output", totals?.outputs, ({ problem }) => Number(problem !== undefined)),
    alerts: [
      {
        name: "DepthwattOutputProblem",
        expr: "depthwatt_output_problem == 1",
        for: "1m",
        severity: "warning",
        summary: "The output {{ $labels.output }} of depthwatt on {{ $labels.instance }} does not work.",
      },
    ],
  },
  {
    name: "depthwatt_power_watts",
    type: "gauge",
    unit: "watts",
    help: "Mean power of the total over the last seconds, idle included.",
    samples: ({ recent }) => one(recent?.power.available ? recent.power.watts : undefined),
    panel: {
      title: "Power",
      lines: [
        { expr: `depthwatt_power_watts${ON}`, legend: "{{instance}} total" },
        { expr: `depthwatt_rail_power_watts${ON}`, legend: "{{instance}} {{rail}}" },
        { expr: `depthwatt_idle_power_watts${ON}`, legend: "{{instance}} idle" },
      ],
      unit: "watt",
    },
  },
  {
    name: "depthwatt_rail_power_watts",
    type: "gauge",
    unit: "watts",
    help: "Mean power of a rail over the last seconds. Rails overlap: their sum is no total.",
    samples: ({ recent }) =>
      byLabel("rail", powerRails(recent?.power), (rail) => (rail.available ? rail.watts : undefined)),
  },
  {
    name: "depthwatt_idle_power_watts",
    type: "gauge",
    unit: "watts",
    help: "Power of the total before the first frame, where it was measured.",
    samples: ({ recent }) => {
      const power = recent?.power;
      return power?.available && typeof power.idleWatts === "number" ? one(power.idleWatts) : [];
    },
  },
  {
    name: "depthwatt_power_uncertainty_watts",
    type: "gauge",
    unit: "watts",
    help: "Expanded uncertainty of depthwatt_power_watts (k = 2): the sensor's step and sampling, not its gain.",
    samples: ({ recent }) => one(powerNumber(recent?.power, "wattsUncertainty")),
  },
  {
    name: "depthwatt_frame_energy_joules",
    type: "gauge",
    unit: "joules",
    help: "Mean energy of a frame over the last seconds, idle included.",
    samples: ({ recent }) => one(powerNumber(recent?.power, "joulesPerFrame")),
  },
  {
    name: "depthwatt_frame_interval_energy_joules",
    type: "histogram",
    unit: "joules",
    help: "Energy between the captures of two successive frames, idle included, as each frame carries it.",
    samples: ({ totals }) =>
      totals === undefined || totals.frameEnergy.count === 0 ? [] : [{ counts: totals.frameEnergy }],
  },
  {
    name: "depthwatt_pair_skew_seconds",
    type: "histogram",
    unit: "seconds",
    help: "Time between the two images of a pair, as their time stamps say.",
    samples: ({ totals }) =>
      totals === undefined || totals.skew.count === 0 ? [] : [{ counts: totals.skew }],
  },
  {
    name: "depthwatt_frames_per_second_watt",
    type: "gauge",
    help: "Frames a second for each watt over the last seconds, idle included.",
    samples: ({ recent }) => one(powerNumber(recent?.power, "fpsPerWatt")),
  },
  {
    name: "depthwatt_energy_joules",
    type: "counter",
    unit: "joules",
    help: "Energy of the total since the start, idle included.",
    samples: ({ totals }) => one(totals?.power.available ? totals.power.joules : undefined),
    panel: {
      title: "Joules a frame",
      lines: [
        {
          expr: `${rate("depthwatt_energy_joules_total")} / ${rate("depthwatt_frames_total")}`,
          legend: "{{instance}}",
        },
      ],
      unit: "joule",
    },
  },
  {
    name: "depthwatt_rail_energy_joules",
    type: "counter",
    unit: "joules",
    help: "Energy of a rail since the start. Rails overlap: their sum is no total.",
    samples: ({ totals }) =>
      byLabel("rail", powerRails(totals?.power), (rail) => (rail.available ? rail.joules : undefined)),
    panel: {
      title: "Frames a second and watt",
      lines: [
        {
          expr: `${rate("depthwatt_frames_total")} / ${rate("depthwatt_energy_joules_total")}`,
          legend: "{{instance}}",
        },
      ],
      unit: "short",
    },
  },
  {
    name: "depthwatt_asleep_seconds",
    type: "counter",
    unit: "seconds",
    help: "Time in which power.dutyCycle had the cameras closed.",
    samples: ({ totals }) => one(dutyCycle(totals)?.asleepSeconds),
  },
  {
    name: "depthwatt_wakes",
    type: "counter",
    help: "Wakes of power.dutyCycle, the start among them.",
    samples: ({ totals }) => one(dutyCycle(totals)?.wakes),
  },
  {
    name: "depthwatt_useful_frame_joules",
    type: "gauge",
    unit: "joules",
    help: "Energy of all complete cycles of power.dutyCycle, sleep included, over their frames.",
    samples: ({ totals }) => {
      const joules = dutyCycle(totals)?.joulesPerUsefulFrame;
      return one(typeof joules === "number" ? joules : undefined);
    },
    panel: {
      title: "Joules a useful frame",
      lines: [{ expr: `depthwatt_useful_frame_joules${ON}`, legend: "{{instance}}" }],
      unit: "joule",
    },
  },
  {
    name: "depthwatt_temperature_celsius",
    type: "gauge",
    unit: "celsius",
    help: "Temperature of a thermal zone.",
    samples: (facts) => byLabel("zone", powerContext(facts)?.temperaturesCelsius, (value) => value),
    panel: {
      title: "Temperatures",
      lines: [{ expr: `depthwatt_temperature_celsius${ON}`, legend: "{{instance}} {{zone}}" }],
      unit: "celsius",
    },
    alerts: [
      {
        name: "DepthwattHot",
        expr: "max by (instance, job, zone) (depthwatt_temperature_celsius) > 90",
        for: "5m",
        severity: "warning",
        summary: "{{ $labels.zone }} of {{ $labels.instance }} is hotter than 90 degrees Celsius.",
      },
    ],
  },
  {
    name: "depthwatt_throttle_events",
    type: "counter",
    help: "Counters of the board that rise when power or heat was limited.",
    samples: (facts) => byLabel("counter", powerContext(facts)?.throttle, (value) => value),
    alerts: [
      {
        name: "DepthwattThrottled",
        expr: "increase(depthwatt_throttle_events_total[10m]) > 0",
        for: "0m",
        severity: "info",
        summary: "{{ $labels.instance }} was held back: {{ $labels.counter }} has risen.",
      },
    ],
  },
  {
    name: "depthwatt_unavailable",
    type: "gauge",
    help: "1 for each figure that this machine cannot measure, with the reason.",
    samples: unavailable,
  },
  {
    name: "process_cpu_seconds",
    type: "counter",
    unit: "seconds",
    help: "CPU time of the process, user and system.",
    samples: ({ process }) => one(process.cpuSeconds),
  },
  {
    name: "process_resident_memory_bytes",
    type: "gauge",
    unit: "bytes",
    help: "Resident memory of the process.",
    samples: ({ process }) => one(process.residentBytes),
    panel: {
      title: "Memory",
      lines: [{ expr: `process_resident_memory_bytes${ON}`, legend: "{{instance}}" }],
      unit: "bytes",
    },
  },
  {
    name: "process_start_time_seconds",
    type: "gauge",
    unit: "seconds",
    help: "Start of the process, seconds since 1970.",
    samples: ({ process }) => one(process.startSeconds),
  },
];
