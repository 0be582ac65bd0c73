// SPDX-License-Identifier: Apache-2.0
// The scale below the picture: which colour stands for which value.
import { useEffect, useRef } from "preact/hooks";
import { type Options, type Quantity, useOptions } from "../options.js";
import { S } from "../strings.js";
import { colourTable } from "./colour-maps.js";
import type { Painter } from "./painter.js";

const UNITS: Record<Quantity, string> = {
  depth: ` ${S.units.m}`,
  disparity: ` ${S.units.px}`,
  confidence: "",
};
const TICKS = [0, 0.25, 0.5, 0.75, 1];

/** A value with its unit, with about three digits. */
export const formatValue = (quantity: Quantity, value: number): string =>
  `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)}${UNITS[quantity]}`;

function drawColours(canvas: HTMLCanvasElement, map: Options["map"], reversed: boolean): void {
  const image = new ImageData(256, 1);
  const words = new Uint32Array(image.data.buffer);
  words.set(colourTable(map));
  if (reversed) words.reverse();
  canvas.getContext("2d")?.putImageData(image, 0, 0);
}

export function ColourBar({ painter }: { painter: Painter | undefined }) {
  const options = useOptions();
  const canvas = useRef<HTMLCanvasElement>(null);
  const quantity = painter?.quantity(options);
  const range = painter?.range(options);
  useEffect(() => {
    if (canvas.current) drawColours(canvas.current, options.map, quantity === "depth");
  }, [options.map, quantity]);
  if (quantity === undefined || range === undefined) return null;
  const [min, max] = [formatValue(quantity, range.min), formatValue(quantity, range.max)];
  return (
    <div class="colour-bar">
      <canvas ref={canvas} width={256} height={1} role="img" aria-label={S.picture.colourBar(min, max)} />
      <div class="row" aria-hidden="true">
        {TICKS.map((share) => (
          <span key={share} data-tick={share}>
            {formatValue(quantity, range.min + share * (range.max - range.min))}
          </span>
        ))}
      </div>
    </div>
  );
}
