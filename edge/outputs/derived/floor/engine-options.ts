// SPDX-License-Identifier: Apache-2.0
// Makes the engine's options for the floor and its grid from the settings of the output "derived".
import type { EngineOptions } from "../../../../cuda/index.js";
import type { Rig } from "../../../contracts/rig.js";
import { type FloorGeometry, planeOf } from "./plane.js";

/** Settings of outputs.derived. */
export interface FloorSettings {
  enabled: boolean;
  floor: "off" | "auto" | "set";
  floorHeightMetres: number;
  floorTiltDegrees: number;
  floorRollDegrees: number;
  grid: boolean;
  gridMetres: number;
  gridCellMetres: number;
  obstacleMetres: number;
  dropMetres: number;
}

/** Things higher above the floor are no obstacles. */
const TALL_METRES = 2;
const ERROR_PIXELS = 0.5;
const MIN_PIXELS = 6;

/** Cells along one side of the grid. */
export const gridSide = ({
  gridMetres,
  gridCellMetres,
}: Pick<FloorSettings, "gridMetres" | "gridCellMetres">) => Math.round(gridMetres / gridCellMetres);

export const floorGeometry = (rig: Rig, width: number, height: number): FloorGeometry => {
  const { focalPixels, baselineMetres, disparityOffsetPixels, cx, cy } = rig.rectification;
  return { width, height, focalPixels, baselineMetres, disparityOffsetPixels, cx, cy };
};

/** Returns no options without a calibration, or if the settings publish no floor. */
export function floorEngineOptions(
  settings: FloorSettings,
  { width, height, rig }: { width: number; height: number; rig: Rig | undefined },
): Pick<EngineOptions, "floor" | "grid"> {
  if (!settings.enabled || settings.floor === "off" || rig === undefined) return {};
  const geometry = floorGeometry(rig, width, height);
  const plane = planeOf(
    {
      heightMetres: settings.floorHeightMetres,
      pitchDegrees: settings.floorTiltDegrees,
      rollDegrees: settings.floorRollDegrees,
    },
    geometry,
  );
  const { cx, cy } = geometry;
  const side = gridSide(settings);
  return {
    floor: { cx, cy, ...(settings.floor === "set" && { plane: Float64Array.of(plane.a, plane.b, plane.c) }) },
    ...(settings.grid && {
      grid: {
        cellMetres: settings.gridCellMetres,
        aheadCells: side,
        leftCells: side,
        obstacleMetres: settings.obstacleMetres,
        tallMetres: TALL_METRES,
        dropMetres: settings.dropMetres,
        errorPixels: ERROR_PIXELS,
        minPixels: MIN_PIXELS,
        stepX: Math.max(1, Math.round(width / 320)),
      },
    }),
  };
}
