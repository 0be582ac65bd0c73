// SPDX-License-Identifier: Apache-2.0
// The plots tab: small uPlot charts over a window of time, each with its newest values as text next to it.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { Choice } from "../controls.js";
import { setOptions, useOptions } from "../options.js";
import { useDocuments, useStore } from "../store.js";
import { S } from "../strings.js";
import { type Chart, chartsFrom, driftFrom, lineSlot } from "./charts.js";
import { recent } from "./history.js";

const HEIGHT = 120;
/** Distinguishable in light and dark themes, and with colour blindness (Okabe and Ito); dashes distinguish them too. */
const COLOURS = {
  light: ["#0072b2", "#c45500", "#00805d", "#94690a", "#b0558a", "#2f83b8", "#6b6b00", "#707070"],
  dark: ["#56b4e9", "#ff8f4d", "#2fd0a5", "#e0b040", "#e39cc4", "#7fd0ff", "#c9c94a", "#b0b0b0"],
};

const SYSTEM_DARK = matchMedia("(prefers-color-scheme: dark)");

/** Returns the theme in use, chosen by the user or by the system. */
function useTheme(): keyof typeof COLOURS {
  const { theme } = useOptions();
  const [dark, setDark] = useState(SYSTEM_DARK.matches);
  useEffect(() => {
    const look = () => setDark(SYSTEM_DARK.matches);
    SYSTEM_DARK.addEventListener("change", look);
    return () => SYSTEM_DARK.removeEventListener("change", look);
  }, []);
  return theme === "auto" ? (dark ? "dark" : "light") : theme;
}

const DASHES = [[], [6, 3], [2, 3], [10, 3, 2, 3], [], [6, 3], [2, 3], [10, 3, 2, 3]];

const shortened = (value: number) =>
  value === 0 ? "0" : Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);

const tickText = (value: number) => String(Number(value.toPrecision(3)));

/** Width of an axis that its longest label fits into, pixels. */
const labelSpace = (_plot: uPlot, labels: readonly string[] | null) =>
  Math.max(40, 16 + 8 * Math.max(...(labels ?? []).map(({ length }) => length)));

/** The plot of the days shows two months. */
const DRIFT_SECONDS = 60 * 86_400;

const clock = (seconds: number) => new Date(seconds * 1000).toLocaleTimeString("en-GB");
const date = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 10);

/** A colour of the style sheet, for a canvas that cannot read it. */
const styleColour = (element: Element, name: string) =>
  getComputedStyle(element).getPropertyValue(name).trim();

function plotData(chart: Chart, seconds: number[]): uPlot.AlignedData {
  return [seconds, ...chart.lines.map(({ values }) => values.map((value) => value ?? null))];
}

/** From 0 on; of what has a sign as far down as up, and never closer than noise. */
function axisRange({ signed }: Chart, min: number, max: number): [number, number] {
  if (!signed) return [0, max > 0 ? max * 1.1 : 1];
  const reach = Math.max(1.1 * Math.abs(min), 1.1 * Math.abs(max), 0.05);
  return [-reach, reach];
}

interface PlotProps {
  chart: Chart;
  seconds: number[];
  window: number;
  theme: keyof typeof COLOURS;
}

function Plot({ chart, seconds, window, theme }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const time = chart.key === "drift" ? date : clock;
  const newest = seconds.at(-1) ?? 0;
  const span = useRef<[number, number]>([0, 1]);
  span.current = [newest - window, newest];
  /** Index of the sample under the pointer. */
  const [hovered, setHovered] = useState<number>();
  const key = `${chart.lines.map(({ name }) => name).join("|")} ${theme}`;
  useEffect(() => {
    const element = box.current as HTMLDivElement;
    const ink = styleColour(element, "--quiet");
    const rule = styleColour(element, "--rule");
    const axis = { stroke: ink, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1 } };
    const made = new uPlot(
      {
        width: element.clientWidth || 300,
        height: HEIGHT,
        // The newest time may stand at the end, and half of it beyond.
        padding: [8, 28, 0, 0],
        legend: { show: false },
        // All plots show the same moment.
        cursor: { y: false, ...(chart.key === "drift" ? {} : { sync: { key: "plots" } }) },
        hooks: { setCursor: [({ cursor }) => setHovered(cursor.idx ?? undefined)] },
        scales: {
          x: { time: true, range: () => span.current },
          y: { range: (_plot, min, max) => axisRange(chart, min, max) },
        },
        axes: [
          { ...axis, size: 26, space: 70, values: (_plot, ticks) => ticks.map(time) },
          { ...axis, size: labelSpace, space: 22, values: (_plot, ticks) => ticks.map(tickText) },
        ],
        series: [
          {},
          ...chart.lines.map(({ name }) => ({
            label: name,
            stroke: COLOURS[theme][lineSlot(chart.key, name)] as string,
            dash: DASHES[lineSlot(chart.key, name)] as number[],
            width: 1.5,
            points: { show: seconds.length < 3 },
          })),
        ],
      },
      plotData(chart, seconds),
      element,
    );
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [key]);
  useEffect(() => {
    plot.current?.setData(plotData(chart, seconds));
  }, [newest, seconds.length, window]);
  return (
    <figure class="plot" data-plot={chart.key}>
      <figcaption>
        {chart.title} ({chart.unit}){" "}
        {hovered !== undefined && seconds[hovered] !== undefined && (
          <span data-plot-time>{time(seconds[hovered])}</span>
        )}
      </figcaption>
      <div ref={box} class="canvas" aria-hidden="true" />
      <ul class="legend">
        {chart.lines.map(({ name, values }) => {
          const slot = lineSlot(chart.key, name);
          const newest = values.findLast((value) => value !== undefined);
          const shownValue = hovered === undefined ? newest : values[hovered];
          return (
            <li key={name}>
              <svg width="22" height="8" aria-hidden="true">
                <path
                  d="M0 4H22"
                  stroke={COLOURS[theme][slot]}
                  stroke-width="2"
                  stroke-dasharray={String(DASHES[slot])}
                />
              </svg>
              {name}{" "}
              <b data-newest={name}>{shownValue === undefined ? S.figures.unknown : shortened(shownValue)}</b>
            </li>
          );
        })}
      </ul>
    </figure>
  );
}

export default function Plots() {
  const { plotSeconds } = useOptions();
  const theme = useTheme();
  const device = useStore((state) => state.device);
  // Renders again with each new document.
  useStore((state) => state.documents);
  const samples = recent(device, plotSeconds);
  const charts = chartsFrom(samples);
  const seconds = samples.map((sample) => sample.seconds);
  const drift = driftFrom(useDocuments().info);
  return (
    <div class="plots">
      <Choice
        label={S.plots.window}
        value={String(plotSeconds)}
        choices={Object.fromEntries(Object.entries(S.plots.windows))}
        onChange={(value) => setOptions({ plotSeconds: Number(value) })}
      />
      {charts.length === 0 && drift === undefined && <p class="quiet">{S.plots.none}</p>}
      {charts.map((chart) => (
        <Plot key={chart.key} chart={chart} seconds={seconds} window={plotSeconds} theme={theme} />
      ))}
      {drift && <Plot {...drift} window={DRIFT_SECONDS} theme={theme} />}
    </div>
  );
}
