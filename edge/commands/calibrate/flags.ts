// SPDX-License-Identifier: Apache-2.0
// The flags of depthwatt calibrate, and the board that they name.
import { InvalidArgumentError } from "commander";
import {
  DICTIONARIES,
  type Dictionary,
  LENS_MODELS,
  type LensModel,
  type Pattern,
} from "../../../camera/index.js";
import { DepthwattError } from "../../../core/index.js";
import type { ControlOptions } from "../../cli/ask-device.js";
import type { ConfigOptions, PlaceOptions } from "../../cli/options.js";
import type { OtherPlace, WantedBoard } from "../../rig/calibrate/index.js";

export interface CalibrateFlags extends ConfigOptions, PlaceOptions, Omit<ControlOptions, "device"> {
  source?: string;
  other?: string[];
  live?: boolean;
  save?: string;
  pattern: Pattern;
  board?: string;
  square?: string;
  marker?: string;
  dictionary: Dictionary;
  lens: LensModel;
  k3: boolean;
  baseline?: string;
  interval: number;
  output: string;
  opencv?: string;
  ros?: string;
  kalibr?: string;
  report?: string;
  force?: boolean;
  fromRun?: string;
  undo?: boolean;
  json?: boolean;
}

/** "0.025", "25mm" or "2.5 cm" in metres. */
export function parseMetres(flag: string, text: string): number {
  const [, number, unit = "m"] = /^\s*(\d*\.?\d+(?:e-?\d+)?)\s*(m|cm|mm)?\s*$/i.exec(text) ?? [];
  const metres = Number(number) * { m: 1, cm: 0.01, mm: 0.001 }[unit.toLowerCase() as "m" | "cm" | "mm"];
  if (number !== undefined && metres > 0 && metres < 100) return metres;
  throw new DepthwattError(
    "USAGE",
    `expected ${flag} to be a length such as 0.025 (metres) or 25mm, got "${text}"`,
  );
}

/** Cameras next to the pair that are calibrated with it. */
const MAX_OTHERS = 16;
const OTHER = /^([a-z0-9][a-z0-9_-]{0,31})(?::(\w+))?=(.+)$/i;
const isLens = (name: string): name is LensModel => (LENS_MODELS as readonly string[]).includes(name);

/**
 * Reads --other NAME[:LENS]=PLACE.
 * @throws DepthwattError USAGE
 */
export function parseOthers({ other = [], lens }: CalibrateFlags): (OtherPlace & { lens: LensModel })[] {
  const others = other.map((text) => {
    const [, name, ownLens = lens, place] = OTHER.exec(text) ?? [];
    if (name !== undefined && place !== undefined) {
      if (isLens(ownLens)) return { name, lens: ownLens, place };
      const hint = `For example --other ${name}:${lens}=${place}.`;
      throw new DepthwattError(
        "USAGE",
        `camera ${name}: expected a lens of ${LENS_MODELS.join(", ")}, got ${ownLens}`,
        { hint },
      );
    }
    throw new DepthwattError(
      "USAGE",
      `expected --other to be NAME=IMAGES or NAME:LENS=IMAGES, got "${text}"`,
      {
        hint: "For example --other rgb=stills/rgb, or --other thermal:fisheye=stills/thermal.",
      },
    );
  });
  const names = ["left", "right", ...others.map(({ name }) => name)];
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined)
    throw new DepthwattError("USAGE", `expected every camera to have its own name, got ${twice} twice`);
  if (others.length > MAX_OTHERS)
    throw new DepthwattError("USAGE", `expected at most ${MAX_OTHERS} --other, got ${others.length}`);
  return others;
}

/** The argument of --interval. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && seconds >= 0 && seconds <= 3600) return seconds;
  throw new InvalidArgumentError("expected seconds, 0 to 3600");
}

/**
 * Rejects flags before anybody holds a board for minutes: a baseline that is no length, a format that cannot hold the
 * lens.
 * @throws DepthwattError USAGE
 */
export function checkFlags({ kalibr, lens, k3, baseline }: CalibrateFlags): void {
  if (baseline !== undefined) parseMetres("--baseline", baseline);
  if (kalibr === undefined || lens === "fisheye" || (lens === "radtan" && !k3)) return;
  throw new DepthwattError(
    "USAGE",
    `expected --kalibr with a lens that a camchain can hold (radtan of k1 k2 p1 p2, or equidistant), got --lens ${lens}` +
      (lens === "radtan" ? " with k3" : ""),
    { hint: "Add --no-k3 (radtan) or --lens fisheye, or write another form." },
  );
}

function parseBoardSize(text: string): { columns: number; rows: number } {
  const [, columns, rows] = /^\s*(\d+)\s*[x×]\s*(\d+)\s*$/.exec(text) ?? [];
  const size = { columns: Number(columns), rows: Number(rows) };
  if (Object.values(size).every((side) => side >= 3 && side <= 64)) return size;
  throw new DepthwattError(
    "USAGE",
    `expected --board to be COLUMNSxROWS of 3 to 64 each, such as 9x6, got "${text}"`,
  );
}

/** @throws DepthwattError USAGE */
export function parseBoard(flags: CalibrateFlags): WantedBoard {
  const { pattern, square, baseline } = flags;
  if (square === undefined && baseline === undefined) {
    throw new DepthwattError(
      "USAGE",
      "expected --square, the side of a square of the printed board, got nothing",
      {
        hint: "Measure ten squares with a ruler: --square 25mm. Or give --baseline, the distance between the cameras.",
      },
    );
  }
  if (pattern !== "chessboard" && flags.board === undefined)
    throw new DepthwattError(
      "USAGE",
      `expected --board COLUMNSxROWS: a board of ${pattern} cannot be guessed`,
    );
  const squareMetres = square === undefined ? 1 : parseMetres("--square", square);
  const board = { pattern, squareMetres, ...(flags.board === undefined ? {} : parseBoardSize(flags.board)) };
  if (pattern !== "charuco") return board;
  if (square === undefined || flags.marker === undefined)
    throw new DepthwattError(
      "USAGE",
      "expected --square and --marker, the sides of a square and of a marker",
    );
  const markerMetres = parseMetres("--marker", flags.marker);
  if (markerMetres > 0.95 * squareMetres || markerMetres < 0.3 * squareMetres) {
    throw new DepthwattError(
      "USAGE",
      `expected --marker to be 0.3 to 0.95 of --square (${squareMetres} m), got ${markerMetres} m`,
    );
  }
  return { ...board, markerMetres, dictionary: DICTIONARIES.indexOf(flags.dictionary) };
}
