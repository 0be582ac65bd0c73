// SPDX-License-Identifier: Apache-2.0
// Makes JSON of the floor and the grid that the engine found in a frame (cuda/output/floor and cuda/output/grid).
import type { ComputedFrame } from "../../../contracts/computed-frame.js";
import type { FloorCells, FloorPose, FloorScan } from "../../../mcap/floor-messages.js";
import { type FloorSettings, gridSide } from "./engine-options.js";
import { type FloorFigures, type FloorGeometry, floorFigures, floorPose } from "./plane.js";

/** Why there is no floor, by outcome of cuda/output/floor/floor.h. */
const REASONS = [
  "",
  "fewer than a twentieth of the pixels were matched",
  "no plane below the cameras fits the pixels",
  "fewer than a twentieth of the pixels are on it",
  "more pixels are below it than on it",
  "the lowest rows show another level: set outputs.derived.floor",
  "its largest disparity is below 20 px: use larger images",
] as const;
/** Where the filtered floor begins in FloorNumber of cuda/geometry.h, after whether there is one. */
const IS_THERE = 9;
const CELLS = 64 * 48;
const RAYS = 64;
/** unknown, free, occupied, drop-off */
const SIGNS = "?.#v";

const missing = (reason: string) => ({ available: false, reason }) as const;
const round = (value: number, digits: number) => Number(value.toFixed(digits));

export interface ObstacleDocuments {
  floor: object;
  /** Absent without a grid in the settings. */
  grid?: object;
}

/** The newest grid; without a floor, all cells are unknown. */
export interface FloorView extends FloorCells {
  scan: FloorScan;
  /** Undefined: there is no floor. */
  pose: FloorPose | undefined;
}

export class Obstacles {
  readonly #settings: FloorSettings;
  #view: FloorView;

  constructor(settings: FloorSettings) {
    this.#settings = settings;
    this.#view = this.#unseen();
  }

  /** The grid of the last documents(): its cells are the frame's. */
  get view(): FloorView {
    return this.#view;
  }

  #unseen(): FloorView {
    const side = gridSide(this.#settings);
    const scan = { angleMin: 0, angleMax: 0, angleIncrement: 0, ranges: [] };
    const { gridCellMetres: cellMetres } = this.#settings;
    return { cells: new Uint8Array(side * side), side, cellMetres, scan, pose: undefined };
  }

  /** @param geometry undefined: there is no calibration */
  documents({ slot }: ComputedFrame, geometry: FloorGeometry | undefined): ObstacleDocuments {
    const { grid, gridCellMetres: cellMetres } = this.#settings;
    this.#view = this.#unseen();
    if (geometry === undefined || slot.floor.length === 0) {
      const none = missing("without a calibration there is no depth");
      return { floor: none, ...(grid && { grid: none }) };
    }
    const [isThere, a, b, c] = slot.floor.subarray(IS_THERE) as unknown as [number, number, number, number];
    const reason = REASONS[slot.floor[0]!]!;
    if (isThere === 0)
      return { floor: missing(reason), ...(grid && { grid: missing(`no floor: ${reason}`) }) };
    const plane = { a, b, c };
    const floor = this.#floorDocument(slot.floor, floorFigures(plane, geometry), reason);
    if (!grid) return { floor };
    const side = gridSide(this.#settings);
    const scan = scanOf(slot.grid, side, cellMetres, geometry);
    this.#view = { cells: slot.grid, side, cellMetres, scan, pose: floorPose(plane, geometry) };
    return { floor, grid: { cellMetres, ...topView(slot.grid, side), scan } };
  }

  #floorDocument(
    numbers: Float64Array,
    { heightMetres, pitchDegrees, rollDegrees }: FloorFigures,
    reason: string,
  ): object {
    const [, , , , , on, , under] = numbers as unknown as number[];
    const isSeen = reason === "";
    return {
      source: this.#settings.floor === "set" ? "set" : isSeen ? "estimated" : "kept",
      heightMetres: round(heightMetres, 4),
      pitchDegrees: round(pitchDegrees, 3),
      rollDegrees: round(rollDegrees, 3),
      confidence: isSeen && under! > 0 ? round(on! / under!, 3) : 0,
      imageShare: isSeen ? round(on! / CELLS, 3) : 0,
      ...(!isSeen && { reason }),
    };
  }
}

/** The cells as rows of signs, the farthest row first, the left on the left. The pair is below the middle of the last row. */
function topView(cells: Uint8Array, side: number): { rows: string[] } {
  const rows = Array.from({ length: side }, (_, row) => {
    const first = (side - 1 - row) * side;
    let signs = "";
    for (let left = side - 1; left >= 0; left--) signs += SIGNS[cells[first + left]!];
    return signs;
  });
  return { rows };
}

/** The first occupied or drop-off cell by angle, as a laser scanner on the floor would see it; null: none. */
export function scanOf(cells: Uint8Array, side: number, cellMetres: number, view: FloorGeometry): FloorScan {
  const half = Math.atan(view.width / 2 / view.focalPixels);
  const angleIncrement = (2 * half) / (RAYS - 1);
  const ranges = Array.from({ length: RAYS }, (_, ray) => {
    const angle = -half + ray * angleIncrement;
    const [ahead, left] = [Math.cos(angle), Math.sin(angle)];
    for (let step = 1; ; step++) {
      const range = step / 2;
      const [x, y] = [Math.floor(range * ahead), Math.floor(range * left + Math.floor(side / 2))];
      if (x >= side || y < 0 || y >= side) return null;
      if (cells[x * side + y]! >= 2) return round(range * cellMetres, 3);
    }
  });
  return {
    angleMin: round(-half, 6),
    angleMax: round(half, 6),
    angleIncrement: round(angleIncrement, 8),
    ranges,
  };
}
