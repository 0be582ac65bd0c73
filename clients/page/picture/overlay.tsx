// SPDX-License-Identifier: Apache-2.0
// Draws lines over an image, in its own pixels: grid, probe, zones, and the shape that is being drawn.
import type { DrawnRegion } from "./region.js";
import type { Point, Zone } from "./zones.js";

interface OverlayProps {
  size: { width: number; height: number } | undefined;
  point: Point | undefined;
  grid: boolean;
  region: DrawnRegion | undefined;
  /** Ends of the ruler, pixels. */
  ruler: readonly [Point, Point] | undefined;
  zones: readonly Zone[];
  /** Corners of the zone that is being drawn, in shares of the picture. */
  corners: readonly Point[] | undefined;
}

export function Overlay({ size, point, grid, region, ruler, zones, corners }: OverlayProps) {
  if (size === undefined) return null;
  const { width, height } = size;
  const step = Math.max(16, Math.round(width / 10 / 16) * 16);
  const lines = [];
  if (grid) {
    for (let x = step; x < width; x += step) lines.push(`M${x} 0V${height}`);
    for (let y = step; y < height; y += step) lines.push(`M0 ${y}H${width}`);
  }
  const at = ({ x, y }: Point) => `${(x * width).toFixed(1)} ${(y * height).toFixed(1)}`;
  const cursor = point && { x: (point.x + 0.5) / width, y: (point.y + 0.5) / height };
  return (
    <svg class="overlay" viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {grid && <path class="grid" d={lines.join("")} />}
      {zones.map(({ name, corners: polygon }) => (
        <g key={name} data-drawn-zone={name}>
          <path class="zone" d={`M${polygon.map(at).join("L")}Z`} />
          <text
            class="zone-name"
            x={Math.min(...polygon.map(({ x }) => x * width)) + width / 100}
            y={Math.min(...polygon.map(({ y }) => y * height)) + width / 24}
            font-size={width / 28}
          >
            {name}
          </text>
        </g>
      ))}
      {corners !== undefined && corners.length > 0 && (
        <path class="zone drawn" d={`M${[...corners, ...(cursor ? [cursor] : [])].map(at).join("L")}`} />
      )}
      {corners?.map((corner) => (
        <circle
          key={at(corner)}
          class="corner"
          cx={corner.x * width}
          cy={corner.y * height}
          r={width / 160}
        />
      ))}
      {point && (
        <path
          class="cross"
          d={`M${point.x + 0.5} ${point.y - 12}v8m0 9v8M${point.x - 12} ${point.y + 0.5}h8m9 0h8`}
        />
      )}
      {region && <rect class="region" {...region} />}
      {ruler && (
        <path
          class="ruler"
          data-drawn="ruler"
          d={`M${ruler.map(({ x, y }) => `${x + 0.5} ${y + 0.5}`).join("L")}`}
        />
      )}
    </svg>
  );
}
