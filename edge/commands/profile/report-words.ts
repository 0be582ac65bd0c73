// SPDX-License-Identifier: Apache-2.0
// Words a report: the method of measurement, its uncertainty, and the machine.
import type { ContextSnapshot, Figure, Unavailable } from "../../../power/index.js";
import { escapeText, shortNumber } from "../../plot/index.js";
import type { Profile, RailProvenance } from "../../profile/types.js";
import type { MeasuredPoint } from "./charts.js";

const paragraph = (words: string): string => `<p>${words}</p>`;

const wattsOr = (figure: Figure): string =>
  typeof figure === "number" ? `${shortNumber(figure)} W` : escapeText(figure.reason);

function railWords(rail: RailProvenance): string {
  const unit = rail.kind === "power" ? "mW" : "uJ";
  const step = rail.step === null ? "step unknown" : `step ${shortNumber(rail.step)} ${unit}`;
  const every =
    rail.updateIntervalMs === null ? "interval unknown" : `renewed every ${rail.updateIntervalMs} ms`;
  return `${escapeText(rail.label)} (${rail.kind === "power" ? "power readings" : "energy counter"}, ${step}, ${every})`;
}

/** How it was measured, and what the uncertainty holds and what it does not. */
export function methodHtml(profile: Profile, points: readonly MeasuredPoint[]): string {
  const { sensor } = profile.provenance;
  const run = paragraph(
    `Each run computes pairs of the built-in scene that were drawn into memory beforehand, so that no camera, scene or broker is ` +
      `included: ${profile.warmUpSeconds} s of warm-up, then ${profile.seconds} s that are measured. ` +
      "“max” keeps one frame computing and one waiting; a rate in Hz takes frames in like a camera and lets the machine rest between them.",
  );
  if ("available" in sensor || points.length === 0) return `<h2>How it was measured</h2>${run}`;
  const { sampling } = points[0]!.power;
  const cost =
    typeof sampling.userPercent === "number" && typeof sampling.busReadPercent === "number"
      ? ` Reading cost ${shortNumber(sampling.userPercent)} % of one core in its own code and ${shortNumber(sampling.busReadPercent)} % in the kernel and drivers.`
      : "";
  const reading = paragraph(
    `Power comes from ${escapeText(sensor.name)}: ${sensor.rails.map(railWords).join("; ")}. The total is ${escapeText(sensor.total)}. ` +
      `A ${sampling.by} reads ${shortNumber(sampling.rateHz)} times a second; readings of power are integrated by the trapezoid rule over the monotonic clock, ` +
      `counters are differenced, and the energy of a run is interpolated to its first and last moment.${cost}`,
  );
  const uncertainty = paragraph(
    "Every “+-” is an expanded uncertainty (k = 2, about 95 %). It holds the size of a step, which a steady load does not average out, " +
      "and what the load may do between two readings, estimated from how much neighbouring readings differ. It does not hold the gain error of the sensor itself, " +
      "which no software can see: compare with a wall meter before comparing machines.",
  );
  const idle = paragraph(
    `Idle power before the runs: ${wattsOr(profile.idleBefore)}; after them: ${wattsOr(profile.idleAfter)}. ` +
      "Gross figures include it; net figures exclude it and are shown in addition.",
  );
  return `<h2>How it was measured</h2>${run}${reading}${uncertainty}${idle}`;
}

/** Says whether the GPU's clock could change, where the kernel shows it. */
function lockWords(context: ContextSnapshot | Unavailable | undefined): string {
  if (context === undefined || !("clocksLocked" in context)) return "";
  const { clocksLocked } = context;
  return typeof clocksLocked === "boolean" ? `, clocks ${clocksLocked ? "locked" : "not locked"}` : "";
}

/** On what it was measured. */
export function provenanceHtml(profile: Profile): string {
  const { provenance } = profile;
  const { board, sensor } = provenance;
  const first = profile.results[0];
  const context = first?.power.available ? first.power.context : undefined;
  const mode =
    context !== undefined && "powerMode" in context && typeof context.powerMode === "string"
      ? context.powerMode
      : "not known";
  const entries: [string, string][] = [
    ["board", `${board.title} (${board.reason})`],
    ["machine", provenance.machine],
    ["CPU", `${provenance.processor}, ${provenance.cores} cores online`],
    ["GPU", provenance.gpu ?? "none that NVML shows"],
    ["power mode", `${mode}${lockWords(context)}`],
    ["kernel", provenance.kernel],
    ["L4T", provenance.l4t ?? "not a Jetson system"],
    ["Node", provenance.node],
    ["backend", `${provenance.backend}: ${provenance.backendReason}`],
    ["sensor", "available" in sensor ? sensor.reason : `${sensor.name}, total: ${sensor.total}`],
    ["begun", profile.date],
  ];
  const rows = entries.map(([name, value]) => `<dt>${name}</dt><dd>${escapeText(value)}</dd>`);
  return `<h2>On what</h2><dl>${rows.join("")}</dl>`;
}
