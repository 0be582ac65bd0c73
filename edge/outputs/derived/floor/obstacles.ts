// SPDX-License-Identifier: Apache-2.0
// The floor and the obstacles of each frame as JSON: calls the stages "floor" and "grid", and filters the floor over time.
import type { NativeStages } from "../../../../cuda/index.js";
import type { ComputedFrame } from "../../../contracts/computed-frame.js";
import type { FloorCells, FloorPose, FloorScan } from "../../../mcap/floor-messages.js";
import { type FloorGeometry, type FloorPlane, floorFigures, floorPose, planeOf } from "./plane.js";

/** Why there is no floor, by outcome of cuda/output/floor/floor.h. */
const REASONS = [
  "",
  "fewer than a twentieth of the pixels were matched",
  "no plane below the cameras fits the pixels",
  "fewer than a twentieth of the pixels are on it",
  "more pixels are below it than on it",
  "the lowest rows show another level: set outputs.derived.floor",
] as const;
/** A floor that is not seen any more is kept this long. */
const KEPT_SECONDS = 2;
/** Share of the new frame's floor in the filtered one. */
const NEW_SHARE = 0.25;
/** A floor whose disparity in the lowest row is smaller cannot be separated from others: pixels on it may be 1 px off. */
const LEAST_PIXELS = 20;
const CELLS = 64 * 48;
const TALL_METRES = 2;
const ERROR_PIXELS = 0.5;
const MIN_PIXELS = 6;
const RAYS = 64;
/** unknown, free, occupied, drop-off */
const SIGNS = "?.#v";

type Stage = (call: object) => unknown;
const missing = (reason: string) => ({ available: false, reason }) as const;
const round = (value: number, digits: number) => Number(value.toFixed(digits));

/** Settings of outputs.derived. */
export interface ObstacleSettings {
  floor: "off" | "auto" | "set";
  floorHeightMetres: number;
  floorTiltDegrees: number;
  grid: boolean;
  gridMetres: number;
  gridCellMetres: number;
  obstacleMetres: number;
  dropMetres: number;
}

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
  readonly #floorStage: Stage;
  readonly #gridStage: Stage;
  readonly #variant: string;
  readonly #settings: ObstacleSettings;
  readonly #found = new Float64Array(9);
  readonly #cells: Uint8Array;
  readonly #side: number;
  #filtered: FloorPlane | undefined;
  #view: FloorView;
  #geometryKey = "";
  #lastSeenNs = 0n;

  constructor(settings: ObstacleSettings, stages: NativeStages, variant: string) {
    this.#settings = settings;
    this.#floorStage = stages.floor as unknown as Stage;
    this.#gridStage = stages.grid as unknown as Stage;
    this.#variant = variant;
    this.#side = Math.round(settings.gridMetres / settings.gridCellMetres);
    this.#cells = new Uint8Array(this.#side * this.#side);
    this.#view = this.#unseen();
  }

  /** The grid of the last documents(); its memory is used again by the next. */
  get view(): FloorView {
    return this.#view;
  }

  #unseen(): FloorView {
    this.#cells.fill(0);
    const scan = { angleMin: 0, angleMax: 0, angleIncrement: 0, ranges: [] };
    const { gridCellMetres: cellMetres } = this.#settings;
    return { cells: this.#cells, side: this.#side, cellMetres, scan, pose: undefined };
  }

  /** @param geometry undefined: there is no calibration */
  documents(frame: ComputedFrame, geometry: FloorGeometry | undefined): ObstacleDocuments {
    const { grid } = this.#settings;
    this.#view = this.#unseen();
    if (geometry === undefined) {
      const none = missing("without a calibration there is no depth");
      return { floor: none, ...(grid && { grid: none }) };
    }
    const floor = this.#estimate(frame, geometry);
    if (this.#filtered === undefined) {
      const reason = (floor as { reason: string }).reason;
      return { floor, ...(grid && { grid: missing(`no floor: ${reason}`) }) };
    }
    return { floor, ...(grid && { grid: this.#grid(frame, geometry, this.#filtered) }) };
  }

  #estimate({ slot, leftTimestampNs }: ComputedFrame, geometry: FloorGeometry): object {
    const key = JSON.stringify(geometry);
    if (key !== this.#geometryKey) this.#filtered = undefined;
    this.#geometryKey = key;
    const { floor, floorHeightMetres, floorTiltDegrees } = this.#settings;
    const isSet = floor === "set";
    if (isSet)
      this.#filtered = planeOf(
        { heightMetres: floorHeightMetres, pitchDegrees: floorTiltDegrees, rollDegrees: 0 },
        geometry,
      );
    const before = this.#filtered && Float64Array.of(this.#filtered.a, this.#filtered.b, this.#filtered.c);
    this.#floorStage({
      variant: this.#variant,
      ...geometry,
      disparityQ4: slot.disparityQ4,
      confidence: slot.confidence,
      ...(before && { before, onlyBefore: isSet }),
      floor: this.#found,
    });
    const [outcome, a, b, c, , on, , under] = this.#found as unknown as number[];
    const lowest = (c! + b! * Math.ceil(geometry.height / 2)) / (16 * 65_536);
    const isSmall = outcome === 0 && !isSet && lowest < LEAST_PIXELS;
    const reason = isSmall
      ? `its largest disparity is below ${LEAST_PIXELS} px: use larger images`
      : REASONS[outcome!]!;
    const isSeen = outcome === 0 && !isSmall;
    if (isSeen) {
      this.#lastSeenNs = leftTimestampNs;
      if (!isSet) this.#filtered = mixed(this.#filtered, { a: a!, b: b!, c: c! });
    } else if (!isSet) {
      const age = Number(leftTimestampNs - this.#lastSeenNs) / 1e9;
      if (!(age >= 0 && age <= KEPT_SECONDS)) this.#filtered = undefined;
    }
    if (this.#filtered === undefined) return missing(reason);
    const { heightMetres, pitchDegrees, rollDegrees } = floorFigures(this.#filtered, geometry);
    return {
      source: isSet ? "set" : isSeen ? "estimated" : "kept",
      heightMetres: round(heightMetres, 4),
      pitchDegrees: round(pitchDegrees, 3),
      rollDegrees: round(rollDegrees, 3),
      confidence: isSeen && under! > 0 ? round(on! / under!, 3) : 0,
      imageShare: isSeen ? round(on! / CELLS, 3) : 0,
      ...(!isSeen && { reason }),
    };
  }

  #grid({ slot }: ComputedFrame, geometry: FloorGeometry, { a, b, c }: FloorPlane): object {
    const { gridCellMetres: cellMetres, obstacleMetres, dropMetres } = this.#settings;
    const side = this.#side;
    this.#gridStage({
      variant: this.#variant,
      ...geometry,
      disparityQ4: slot.disparityQ4,
      confidence: slot.confidence,
      floor: Float64Array.of(a, b, c),
      cellMetres,
      aheadCells: side,
      leftCells: side,
      obstacleMetres,
      tallMetres: TALL_METRES,
      dropMetres,
      errorPixels: ERROR_PIXELS,
      minPixels: MIN_PIXELS,
      stepX: Math.max(1, Math.round(geometry.width / 320)),
      threads: 2,
      cells: this.#cells,
    });
    const scan = scanOf(this.#cells, side, cellMetres, geometry);
    this.#view = { cells: this.#cells, side, cellMetres, scan, pose: floorPose({ a, b, c }, geometry) };
    return { cellMetres, ...topView(this.#cells, side), scan };
  }
}

function mixed(before: FloorPlane | undefined, { a, b, c }: FloorPlane): FloorPlane {
  if (before === undefined) return { a, b, c };
  const mix = (old: number, now: number) => Math.round(old + NEW_SHARE * (now - old));
  return { a: mix(before.a, a), b: mix(before.b, b), c: mix(before.c, c) };
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
