// SPDX-License-Identifier: Apache-2.0
// Defines a metric: name, type, unit, the source of its samples, and its use in dashboards and alerts.
import type { PowerFigures } from "../../../power/index.js";
import type { BucketCountsSnapshot } from "../../contracts/bucket-counts.js";
import type { DeviceState } from "../../contracts/output.js";
import type { RunTotals } from "../../contracts/totals.js";

/** The facts at the moment of a scrape; an unknown one is undefined, and has no samples. */
export interface ScrapeFacts {
  totals: RunTotals | undefined;
  /** Values of the last seconds. */
  recent: { power: PowerFigures } | undefined;
  state: DeviceState | undefined;
  /** Labels from the retained info. */
  build: Record<string, string>;
  warnings: number;
  process: { cpuSeconds: number; residentBytes: number; startSeconds: number };
}

export type Labels = Readonly<Record<string, string>>;

export interface ValueSample {
  labels?: Labels;
  value: number;
}

export interface HistogramSample {
  labels?: Labels;
  counts: BucketCountsSnapshot;
}

/** A drawing of the dashboard. `$instance` stands for the devices that are chosen there. */
export interface Panel {
  title: string;
  /** PromQL, and what one line of it is called. */
  lines: readonly { expr: string; legend: string }[];
  /** As Grafana names units: "watt", "s", "celsius", "percentunit", "short". */
  unit: string;
}

export interface Alert {
  name: string;
  expr: string;
  /** How long it must hold, such as "1m". */
  for: string;
  severity: "info" | "warning" | "critical";
  /** One sentence; `{{ $labels.instance }}` is the device. */
  summary: string;
}

interface FamilyFacts {
  /** Without the endings _total and _info, which the formats ask for; a unit is its last word. */
  name: string;
  unit?: "seconds" | "joules" | "watts" | "celsius" | "bytes";
  help: string;
  panel?: Panel;
  alerts?: readonly Alert[];
}

export interface ValueFamily extends FamilyFacts {
  type: "counter" | "gauge" | "info";
  samples(facts: ScrapeFacts): ValueSample[];
}

export interface HistogramFamily extends FamilyFacts {
  type: "histogram";
  samples(facts: ScrapeFacts): HistogramSample[];
}

export type Family = ValueFamily | HistogramFamily;
