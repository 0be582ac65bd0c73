// SPDX-License-Identifier: Apache-2.0
// The report of a profile: one HTML file that needs nothing else, with the method and its uncertainty in words.
import { readFileSync } from "node:fs";
import { STAGE_NAMES } from "../../../cuda/index.js";
import type { Figure } from "../../../power/index.js";
import { escapeText, shortNumber } from "../../plot/index.js";
import type { PointResult, Profile } from "../../profile/types.js";
import {
  distinctPoints,
  type MeasuredPoint,
  measuredPoints,
  paretoFront,
  scatterChart,
  shortName,
  stageTimeChart,
  timelineChart,
} from "./charts.js";
import { bestClockWords, clockChart, clockCurves } from "./charts-clocks.js";
import { energyChart, railChart, shownRails, stageEnergyChart } from "./charts-energy.js";
import { methodHtml, provenanceHtml } from "./report-words.js";
import { type StageEnergies, stageEnergies } from "./stage-energy.js";

const STYLE = new URL("./report.css", import.meta.url);

/** Returns one colour per stage, readable on white and on black. Hues are a golden angle apart, so that adjacent stages differ clearly. */
export function stageColours(count: number): string[] {
  return Array.from(
    { length: count },
    (_, stage) => `hsl(${Math.round(205 + 137.5 * stage) % 360} 45% ${44 + 8 * (stage % 3)}%)`,
  );
}

const stageStyles = (): string =>
  stageColours(STAGE_NAMES.length)
    .map((colour, stage) => `.stage${stage} { fill: ${colour}; background: ${colour}; }`)
    .join("\n");

const figure = (chart: string, caption: string, key = ""): string =>
  `<figure>${key}${chart}<figcaption>${caption}</figcaption></figure>`;

const key = (entries: readonly [kind: string, words: string][]): string =>
  `<div class="key">${entries.map(([kind, words]) => `<span><i class="${kind}"></i>${words}</span>`).join("")}</div>`;

const pathsKey = (points: readonly PointResult[], more: [string, string][] = []): string => {
  const used = [2, 4, 8].filter((paths) => points.some((result) => result.point.paths === paths));
  return key([...used.map((paths): [string, string] => [`paths${paths}`, `${paths} paths`]), ...more]);
};

const cell = (value: Figure, digits?: number): string =>
  typeof value !== "number" ? "-" : digits === undefined ? shortNumber(value) : value.toFixed(digits);

function tile(value: string, words: string): string {
  return `<div class="tile"><b>${escapeText(value)}</b><span>${escapeText(words)}</span></div>`;
}

function tiles(profile: Profile, points: readonly MeasuredPoint[]): string {
  const fastest = distinctPoints(profile.results).sort((a, b) => b.fps - a.fps)[0];
  const parts =
    fastest === undefined ? [] : [tile(`${fastest.fps.toFixed(1)} fps`, `fastest: ${shortName(fastest)}`)];
  const best = (pick: (point: MeasuredPoint) => Figure): MeasuredPoint | undefined =>
    [...points].sort((a, b) => Number(pick(b)) - Number(pick(a)))[0];
  const frugal = best((point) => point.power.fpsPerWatt);
  const dense = best((point) => point.power.mdePerJoule);
  if (frugal !== undefined) {
    parts.push(tile(`${cell(frugal.power.fpsPerWatt)} fps/W`, `most frames per watt: ${shortName(frugal)}`));
    parts.push(tile(`${cell(frugal.power.joulesPerFrame)} J`, `per frame there, idle included`));
  }
  if (dense !== undefined) {
    parts.push(
      tile(`${cell(dense.power.mdePerJoule)} MDE/J`, `most disparities per joule: ${shortName(dense)}`),
    );
  }
  return `<div class="tiles">${parts.join("")}</div>`;
}

function table(profile: Profile): string {
  const head = [
    "point",
    "fps",
    "W",
    "+- W",
    "J/frame",
    "net J/frame",
    "fps/W",
    "MDE/J",
    "match ms",
    "hottest C",
  ];
  const rows = profile.results.map((result) => {
    const { power, stages, temperature } = result;
    const { without: left, repeat } = result.point;
    const without =
      (left === undefined ? "" : ` without ${left}`) +
      (repeat === undefined ? "" : `, ${repeat.stage} ${repeat.times} times`);
    const watts = power.available
      ? [
          power.watts,
          power.wattsUncertainty,
          power.joulesPerFrame,
          power.joulesPerFrameNet,
          power.fpsPerWatt,
          power.mdePerJoule,
        ]
      : [power, power, power, power, power, power];
    const changed = power.available && power.changed.length > 0 ? " *" : "";
    const cells = [
      escapeText(shortName(result) + without) + changed,
      result.fps.toFixed(1),
      ...watts.map((value) => cell(value)),
      stages.match === undefined ? "-" : shortNumber(stages.match.p50Ms),
      cell(temperature.endCelsius, 0),
    ];
    return `<tr>${cells.map((value) => `<td>${value}</td>`).join("")}</tr>`;
  });
  const unsteady = rows.some((row) => row.includes(" *"));
  const note = unsteady
    ? '<p class="soft">* mode, clocks or throttle counters changed during this run.</p>'
    : "";
  return `<div class="scroll"><table><tr>${head.map((name) => `<th>${name}</th>`).join("")}</tr>${rows.join("")}</table></div>${note}`;
}

/** Frames of different sizes are different work: each size has its own picture. */
function scatters(points: readonly MeasuredPoint[]): string[] {
  const sizes = [...new Set(points.map(({ point }) => `${point.width}x${point.height}`))];
  return sizes.map((size, index) => {
    const same = points.filter(({ point }) => `${point.width}x${point.height}` === size);
    const words =
      "Every point is one run, named by its size, d for disparities, p for paths and @ for the frames per second asked for. " +
      "The dashed line joins the runs that no other run of this size beats: more frames for no more watts. " +
      "Whiskers are the expanded uncertainty (k = 2) of the watts; where none is seen it is smaller than the mark.";
    return figure(scatterChart(same), index === 0 ? words : `The same for ${size}.`, pathsKey(same));
  });
}

function railFigure(points: readonly MeasuredPoint[], totalRails: readonly string[]): string {
  const rails = shownRails(points, totalRails);
  if (rails.length < 2) return "";
  const words =
    totalRails.length > 1
      ? "The rails of which the total is made."
      : `Rails below ${escapeText(totalRails[0] ?? "the input")}; they are parts of it; the remaining power is on no rail.`;
  return figure(
    railChart(points, rails),
    words,
    key(rails.map((label, colour) => [`stage${colour % 8}`, escapeText(label)])),
  );
}

function powerCharts(points: readonly MeasuredPoint[], totalRails: readonly string[]): string {
  const front = paretoFront(points);
  const ends = [front[0]!, ...(front.length > 1 ? [front.at(-1)!] : [])];
  const idleKnown = points.some((point) => typeof point.power.joulesPerFrameNet === "number");
  return [
    "<h2>Frames against watts</h2>",
    ...scatters(points),
    "<h2>Energy of a frame</h2>",
    figure(
      energyChart(points),
      idleKnown
        ? "Gross: all energy of the run over its frames. The grey part is what the machine takes while idle; nothing is subtracted from the figures."
        : "Gross: all energy of the run over its frames, what the idle machine takes included.",
      pathsKey(points, idleKnown ? [["idle", "idle power within"]] : []),
    ),
    railFigure(points, totalRails),
    "<h2>Watts over time</h2>",
    ...ends.map((point) => {
      const band = point.timeline.frames.length > 300 ? ", drawn as a band because they are many" : "";
      const words = `Mean of every ${point.timeline.binSeconds} s; short bins carry more noise than the figures above. The marks at the bottom are frames being taken in${band}.`;
      return figure(timelineChart(point), words);
    }),
  ].join("");
}

function stageCharts(profile: Profile, energies: StageEnergies | undefined): string {
  const used = STAGE_NAMES.filter((name) =>
    profile.results.some((result) => result.stages[name] !== undefined),
  );
  const entries = used.map((name): [string, string] => [`stage${STAGE_NAMES.indexOf(name)}`, name]);
  const time = figure(
    stageTimeChart(profile.results, STAGE_NAMES),
    "Medians, summed; stages of successive frames may overlap, so the sum is not the time between frames.",
    key(entries),
  );
  const energy =
    energies === undefined
      ? ""
      : `<h2>Energy of a stage</h2>${figure(
          stageEnergyChart(energies),
          `Least squares over ${energies.runs} runs with stages left out or repeated (${energies.degreesOfFreedom} degrees of freedom); whiskers are 95 % intervals. ` +
            `Everything else, the matcher included: ${shortNumber(energies.remainder.joulesPerFrame)} J +- ${shortNumber(energies.remainder.halfWidth)} J per frame.`,
        )}`;
  return `<h2>Time of a stage</h2>${time}${energy}`;
}

function clockCharts(profile: Profile): string {
  const curves = clockCurves(profile);
  if (curves.length === 0) return "";
  const words = curves.map((curve) => escapeText(bestClockWords(curve))).join(" ");
  return `<h2>Energy against the clock</h2>${figure(clockChart(curves), words)}`;
}

const namedTotalRails = ({ provenance: { sensor } }: Profile): readonly string[] =>
  "available" in sensor ? [] : sensor.totalRails;

/** One HTML page with everything inside. */
export function reportHtml(profile: Profile): string {
  const points = measuredPoints(profile.results);
  const { provenance } = profile;
  const refused = profile.results.find((result) => !result.power.available)?.power;
  const notice =
    points.length > 0 || refused === undefined || refused.available
      ? ""
      : `<div class="notice"><b>No watts on this machine.</b> ${escapeText(refused.reason)}. Frame rates and stage times below are measured; energy is not shown because it was not measured.</div>`;
  const title = `depthwatt profile: ${provenance.board.title}`;
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeText(title)}</title><style>${readFileSync(STYLE, "utf8")}${stageStyles()}</style></head><body><main>`,
    `<h1>${escapeText(title)}</h1>`,
    `<p class="soft">${escapeText(profile.date.slice(0, 10))} · ${escapeText(provenance.processor)} · ` +
      `${escapeText(provenance.gpu ?? "no NVIDIA GPU")} · backend ${escapeText(provenance.backend)} · depthwatt ${escapeText(provenance.version)}</p>`,
    notice,
    tiles(profile, points),
    points.length > 0 ? powerCharts(points, namedTotalRails(profile)) : "",
    clockCharts(profile),
    stageCharts(profile, stageEnergies(profile.results)),
    "<h2>All runs</h2>",
    table(profile),
    methodHtml(profile, points),
    provenanceHtml(profile),
    "</main></body></html>\n",
  ].join("\n");
}
