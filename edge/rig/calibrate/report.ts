// SPDX-License-Identifier: Apache-2.0
// The report of a calibration: one HTML file that needs nothing next to it.
import {
  boardWords,
  type CalibrationResult,
  COVERAGE_COLUMNS,
  COVERAGE_ROWS,
  type Coverage,
  encodeJpeg,
  type GreyImage,
  type SeenPair,
} from "../../../camera/index.js";
import { VERSION } from "../../contracts/version.js";
import { rectifiedPicture } from "./rectified-picture.js";

export interface ReportInput {
  readonly result: CalibrationResult;
  readonly seen: readonly SeenPair[];
  /** A pair that was used, for the rectified picture. */
  readonly example:
    | { readonly name: string; readonly left: GreyImage; readonly right: GreyImage }
    | undefined;
  readonly notes: readonly string[];
  /** When it was made. */
  readonly date: Date;
}

const escaped = (text: string) => text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);

const figure = (value: number | undefined, digits = 3) =>
  value === undefined || !Number.isFinite(value) ? "unknown" : value.toFixed(digits);

/** Metres with a unit that suits them. */
export function lengthWords(metres: number): string {
  if (!Number.isFinite(metres)) return "unknown";
  if (metres < 0.01) return `${(metres * 1000).toPrecision(3)} mm`;
  if (metres < 1) return `${(metres * 100).toPrecision(3)} cm`;
  return `${metres.toPrecision(3)} m`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, row: readonly string[]) =>
    row.map((cell) => `<${tag}>${cell}</${tag}>`).join("");
  return `<table><thead><tr>${cells("th", head)}</tr></thead><tbody>${rows
    .map((row) => `<tr>${cells("td", row)}</tr>`)
    .join("")}</tbody></table>`;
}

/** Three bars a pair: reprojection left and right, rows. */
function pairBars({ pairs, rmsPixels }: CalibrationResult): string {
  const used = pairs.filter((pair) => pair.used);
  const values = used.map(({ leftRmsPixels, rightRmsPixels, epipolarRmsPixels }) => [
    leftRmsPixels ?? 0,
    rightRmsPixels ?? 0,
    epipolarRmsPixels ?? 0,
  ]);
  const top = Math.max(...values.flat(), rmsPixels, 0.01) * 1.1;
  const [width, height, left, bottom] = [900, 220, 40, 20];
  const step = (width - left) / Math.max(used.length, 1);
  const y = (value: number) => height - bottom - (value / top) * (height - bottom - 10);
  const bars = values.flatMap((three, at) =>
    three.map((value, kind) => {
      const x = left + at * step + step * (0.14 + kind * 0.24);
      return `<rect class="s${kind}" x="${x.toFixed(1)}" y="${y(value).toFixed(1)}" width="${(step * 0.22).toFixed(1)}" height="${(height - bottom - y(value)).toFixed(1)}"><title>${escaped(used[at]!.name)}: ${value.toFixed(3)} px</title></rect>`;
    }),
  );
  const lines = [0.25, 0.5, 0.75, 1].map((share) => {
    const value = (top / 1.1) * share;
    return `<line class="grid" x1="${left}" x2="${width}" y1="${y(value)}" y2="${y(value)}"/><text x="0" y="${y(value) + 4}">${value.toFixed(2)}</text>`;
  });
  const numbers = used.map(({ name }, at) =>
    step < 14
      ? ""
      : `<text class="middle" x="${left + (at + 0.5) * step}" y="${height - 5}"><title>${escaped(name)}</title>${at + 1}</text>`,
  );
  return (
    `<p class="legend"><b class="s0"></b>left reprojection <b class="s1"></b>right reprojection ` +
    `<b class="s2"></b>rows (epipolar), all in pixels, one group a pair</p>` +
    `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="errors of each pair">${lines.join("")}${bars.join("")}${numbers.join("")}</svg>`
  );
}

/** Every corner of the used pairs, over cells that are darker the more they hold. */
function coverageMap(
  title: string,
  coverage: Coverage,
  side: "left" | "right",
  { result, seen }: ReportInput,
): string {
  const { width, height } = result.calibration.imageSize;
  const max = Math.max(...coverage.counts, 1);
  const [w, h] = [width / COVERAGE_COLUMNS, height / COVERAGE_ROWS];
  const cells = coverage.counts.map((count, at) => {
    const opacity = count === 0 ? 0 : 0.15 + (0.5 * count) / max;
    return `<rect class="cell" x="${(at % COVERAGE_COLUMNS) * w}" y="${Math.floor(at / COVERAGE_COLUMNS) * h}" width="${w}" height="${h}" fill-opacity="${opacity.toFixed(2)}"><title>${count} corners</title></rect>`;
  });
  const size = Math.max(width / 250, 1).toFixed(1);
  const points = seen.flatMap((pair, at) => {
    if (!result.pairs[at]!.used) return [];
    const { points: xy } = pair[side];
    return Array.from(
      { length: xy.length / 2 },
      (_, i) => `M${xy[2 * i]!.toFixed(1)} ${xy[2 * i + 1]!.toFixed(1)}h0`,
    );
  });
  return (
    `<figure><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="coverage of the ${title} image">` +
    `<rect class="frame" width="${width}" height="${height}"/>${cells.join("")}` +
    `<path class="points" stroke-width="${size}" d="${points.join("")}"/></svg>` +
    `<figcaption>${title}: ${Math.round(coverage.share * 100)} % of the cells hold corners</figcaption></figure>`
  );
}

async function rectifiedOverlay({ result, example }: ReportInput): Promise<string> {
  if (example === undefined || result.epipolarRmsPixels === undefined) return "";
  const width = 640;
  const pictures = (["left", "right"] as const).map((side) =>
    rectifiedPicture(example[side], result.calibration, side, width),
  );
  const height = pictures[0]!.height;
  const images = await Promise.all(
    pictures.map(async (picture, at) => {
      const jpeg = Buffer.from(await encodeJpeg(picture)).toString("base64");
      return `<image x="${at * width}" width="${width}" height="${height}" href="data:image/jpeg;base64,${jpeg}"/>`;
    }),
  );
  const lines = Array.from({ length: 15 }, (_, at) => {
    const y = (((at + 1) * height) / 16).toFixed(1);
    return `<line class="row${at % 2}" x1="0" x2="${2 * width}" y1="${y}" y2="${y}"/>`;
  });
  return (
    `<h2>Rectified pair</h2><p>${escaped(example.name)}. The same point of the scene lies on the same line in both images.</p>` +
    `<svg viewBox="0 0 ${2 * width} ${height}" role="img" aria-label="rectified pair with lines">${images.join("")}${lines.join("")}</svg>`
  );
}

/** The expected depth error over distance, in percent, both scales logarithmic. */
function depthCurve({ depthErrors }: CalibrationResult): string {
  // Both parts grow with the square of the distance, but a wrong baseline with the distance alone; it is reported where
  // it is computed.
  return table(
    ["distance", "by the calibration", "by matching", "together", "share"],
    depthErrors.map(({ depthMetres, calibrationMetres, matchingMetres, totalMetres }) => [
      `${depthMetres} m`,
      lengthWords(calibrationMetres),
      lengthWords(matchingMetres),
      lengthWords(totalMetres),
      `${figure((100 * totalMetres) / depthMetres, 2)} %`,
    ]),
  );
}

function summary({ result, date, notes }: ReportInput): string {
  const { calibration, deviations, board } = result;
  const focal = (side: "left" | "right", deviation: number | undefined) =>
    `${figure(calibration[side].K[0], 2)} px &plusmn; ${figure(deviation, 2)}`;
  const turn = calibration.R;
  const angle = (Math.acos(Math.min(1, Math.max(-1, (turn[0] + turn[4] + turn[8] - 1) / 2))) * 180) / Math.PI;
  const rows: [string, string][] = [
    ["reprojection error (rms)", `${figure(result.rmsPixels)} px`],
    ["rows apart after rectification (rms)", `${figure(result.epipolarRmsPixels)} px`],
    ["pairs used", `${result.pairsUsed} of ${result.pairs.length}`],
    ["focal length, left", focal("left", deviations?.leftFocalPixels)],
    ["focal length, right", focal("right", deviations?.rightFocalPixels)],
    [
      "baseline",
      `${lengthWords(result.baselineMetres)} &plusmn; ${lengthWords(deviations?.baselineMetres ?? Number.NaN)}`,
    ],
    [
      "rotation between the cameras",
      `${figure(angle, 3)}&deg; &plusmn; ${figure(deviations?.rotationDegrees, 4)}`,
    ],
    ...result.others.map(({ name, images, rmsPixels, deviations: own }): [string, string] => [
      `camera ${escaped(name)}`,
      `${figure(rmsPixels)} px (rms) in ${images} images, position &plusmn; ${lengthWords(own?.positionMetres ?? Number.NaN)}, ` +
        `rotation &plusmn; ${figure(own?.rotationDegrees, 4)}&deg;`,
    ]),
    ["lens model", result.lens],
    ["board", `${escaped(boardWords(board))}, ${lengthWords(board.squareMetres)}`],
    ["image size", `${calibration.imageSize.width}x${calibration.imageSize.height}`],
    [
      "blur of edges, left and right",
      `${figure(result.blurPixels.left, 2)} and ${figure(result.blurPixels.right, 2)} px`,
    ],
    ["made", `${date.toISOString().slice(0, 16).replace("T", " ")} UTC, depthwatt ${VERSION}`],
    ["hash", `<code>${calibration.hash.slice(0, 16)}</code>`],
  ];
  const remarks = [...result.warnings, ...notes].map((text) => `<li>${escaped(text)}</li>`).join("");
  return `${table(["quantity", "value"], rows)}${remarks === "" ? "" : `<ul class="remarks">${remarks}</ul>`}`;
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1d2530;--paper:#fff;--line:#ccd3dc;--a:#2f6fb5;--b:#d9822b;--c:#3a8f5c}
@media(prefers-color-scheme:dark){:root{--ink:#e3e8ee;--paper:#14181d;--line:#3a434e;--a:#6aa8e8;--b:#eaa75c;--c:#6cc490}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1000px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{text-align:left;padding:.25rem .9rem .25rem 0;border-bottom:1px solid var(--line)}
svg{width:100%;height:auto;display:block}svg text{font:11px system-ui,sans-serif;fill:currentColor}.middle{text-anchor:middle}
.grid{stroke:var(--line)}rect.s0,b.s0{fill:var(--a);background:var(--a)}rect.s1,b.s1{fill:var(--b);background:var(--b)}rect.s2,b.s2{fill:var(--c);background:var(--c)}
.legend b{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 .8em}
.maps{display:grid;grid-template-columns:1fr 1fr;gap:1rem}figure{margin:0}figcaption{font-size:.9em}
.frame{fill:none;stroke:var(--line);stroke-width:2}.cell{fill:var(--a);stroke:var(--line)}.points{stroke:var(--ink);stroke-linecap:round;fill:none}
.row0{stroke:#ff5a36}.row1{stroke:#ffd23e}.wide{overflow-x:auto}.remarks{padding-left:1.2rem}
`;

/** The whole page. */
export async function reportPage(input: ReportInput): Promise<string> {
  const { result } = input;
  const rejected = result.pairs.filter((pair) => !pair.used);
  const left =
    rejected.length === 0
      ? "<p>None.</p>"
      : table(
          ["pair", "reason"],
          rejected.map(({ name, reason }) => [escaped(name), escaped(reason ?? "")]),
        );
  const used = result.pairs.filter((pair) => pair.used);
  const pairs = table(
    ["", "pair", "left", "right", "rows", "corners left out"],
    used.map((pair, at) => [
      String(at + 1),
      escaped(pair.name),
      figure(pair.leftRmsPixels),
      figure(pair.rightRmsPixels),
      figure(pair.epipolarRmsPixels),
      String(pair.cornersLeftOut),
    ]),
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Calibration report</title><style>${STYLE}</style></head><body>
<h1>Calibration report</h1>
${summary(input)}
${await rectifiedOverlay(input)}
<h2>Expected depth error</h2>
<p>Standard deviation on the axis of the left camera. Matching is taken to be right within ${result.matchingErrorPixels} px; the
calibration's part follows from the uncertainty of all its numbers.</p>
${depthCurve(result)}
<h2>Errors of each pair</h2>
${pairBars(result)}
<div class="wide">${pairs}</div>
<h2>Pairs left out</h2>
${left}
<h2>Coverage</h2>
<div class="maps">${coverageMap("left", result.coverage.left, "left", input)}${coverageMap("right", result.coverage.right, "right", input)}</div>
</body></html>
`;
}
