// SPDX-License-Identifier: Apache-2.0
// Histogram and the two handles of the range that the colours span.
import { useEffect, useRef } from "preact/hooks";
import { setOptions, useOptions } from "../options.js";
import { S } from "../strings.js";
import { formatValue } from "./colour-bar.js";
import { colourTable } from "./colour-maps.js";
import { BINS, type Histogram, scalePosition, valueAt } from "./histogram.js";
import { type Painter, SCALES } from "./painter.js";

const STEPS = 1000;

function drawBars(canvas: HTMLCanvasElement, { bins }: Histogram, colourAt: (place: number) => string): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const { width, height } = canvas;
  context.clearRect(0, 0, width, height);
  const max = Math.max(1, ...bins);
  for (let i = 0; i < BINS; i++) {
    const bar = Math.sqrt(bins[i]! / max) * height;
    context.fillStyle = colourAt((i + 0.5) / BINS);
    context.fillRect((i * width) / BINS, height - bar, width / BINS - 1, bar);
  }
}

export function RangePanel({ painter }: { painter: Painter | undefined }) {
  const options = useOptions();
  const canvas = useRef<HTMLCanvasElement>(null);
  const quantity = painter?.quantity(options) ?? options.quantity;
  const scale = SCALES[quantity];
  const range = painter?.range(options) ?? options.ranges[quantity];
  const histogram = painter?.histogram;
  useEffect(() => {
    if (!histogram || !canvas.current) return;
    const colours = colourTable(options.map);
    drawBars(canvas.current, histogram, (place) => {
      const share = (valueAt(scale, place) - range.min) / (range.max - range.min || 1);
      const clamped = Math.min(1, Math.max(0, quantity === "depth" ? 1 - share : share));
      const word = colours[Math.round(clamped * 255)]!;
      return `rgb(${word & 255} ${(word >> 8) & 255} ${(word >> 16) & 255})`;
    });
  }, [histogram, options.map, range.min, range.max, quantity]);

  const set = (end: "min" | "max", place: number) => {
    const value = valueAt(scale, place / STEPS);
    const next = { ...range, [end]: value };
    // A handle that meets the other one pushes it.
    if (next.min > next.max) next[end === "min" ? "max" : "min"] = value;
    setOptions({ autoRange: false, ranges: { ...options.ranges, [quantity]: next } });
  };
  const total = histogram ? histogram.values + histogram.invalid : 0;
  const label = (end: "min" | "max", text: string) => (
    <label for={`range-${end}`}>
      {text} <b data-range={end}>{formatValue(quantity, range[end])}</b>
    </label>
  );
  const handle = (end: "min" | "max") => (
    <input
      id={`range-${end}`}
      type="range"
      min={0}
      max={STEPS}
      value={Math.round(scalePosition(scale, range[end]) * STEPS)}
      aria-valuetext={formatValue(quantity, range[end])}
      onInput={(event) => set(end, Number(event.currentTarget.value))}
    />
  );
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  const matched = painter?.matchedShare;
  return (
    <section class="range" aria-labelledby="range-title">
      <h2 id="range-title">{S.range.title}</h2>
      <canvas
        ref={canvas}
        class="histogram"
        width={480}
        height={64}
        role="img"
        aria-label={S.range.histogram}
      />
      {handle("min")}
      {handle("max")}
      <div class="row">
        {label("min", S.range.near)}
        {label("max", S.range.far)}
      </div>
      <div class="row">
        <label class="check">
          <input
            type="checkbox"
            checked={options.autoRange}
            onChange={(event) =>
              setOptions({
                autoRange: event.currentTarget.checked,
                ranges: { ...options.ranges, [quantity]: { ...range } },
              })
            }
          />
          {S.range.auto}
        </label>
        {histogram && total > 0 && (
          <span class="quiet" data-range="valid">
            {S.range.shares(
              percent(histogram.values / total),
              matched === undefined ? undefined : percent(matched),
            )}
          </span>
        )}
      </div>
    </section>
  );
}
