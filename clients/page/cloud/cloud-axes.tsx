// SPDX-License-Identifier: Apache-2.0
// Drawn over the point cloud: the directions of its axes, and a length at the distance that the view turns around.
import { S } from "../strings.js";
import { type OrbitState, scaleBar, screenAxes } from "./orbit.js";

const NAMES = ["X", "Y", "Z"] as const;
const LENGTH = 26;
const MAX_BAR_PIXELS = 120;

interface CloudAxesProps {
  orbit: OrbitState;
  /** The canvas's shorter side, pixels of the page. */
  side: number;
}

export function CloudAxes({ orbit, side }: CloudAxesProps) {
  const bar = scaleBar(orbit, side, MAX_BAR_PIXELS);
  return (
    <svg class="axes" width="220" height="88" aria-hidden="true">
      {screenAxes(orbit).map(([x, y], axis) => (
        <g key={NAMES[axis]} class={`axis-${NAMES[axis]}`} data-axis={NAMES[axis]}>
          <path d={`M44 44L${44 + LENGTH * x} ${44 + LENGTH * y}`} />
          <text x={44 + (LENGTH + 9) * x} y={48 + (LENGTH + 9) * y}>
            {NAMES[axis]}
          </text>
        </g>
      ))}
      <path class="scale" d={`M90 66v8h${bar.pixels.toFixed(1)}v-8`} />
      <text class="scale" x="94" y="62" data-scale={bar.metres}>
        {`${Number(bar.metres.toPrecision(1))} ${S.units.m}`}
      </text>
    </svg>
  );
}
