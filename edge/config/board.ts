// SPDX-License-Identifier: Apache-2.0
// Which board config applies, and its settings as one layer below the user's own.
import { dirname, join, resolve } from "node:path";
import { DepthwattError } from "../../core/index.js";
import type { TotalRule } from "../../power/index.js";
import {
  type BoardFile,
  boardTotalRule,
  type Detection,
  detectBoard,
  known,
  listBoards,
  loadBoardFile,
  loadBoards,
  SHIPPED_BOARDS,
} from "../boards/index.js";
import { type Layer, layerFromObject } from "./layers.js";
import { nearestName } from "./words.js";

export interface BoardChoice {
  /** Undefined: no board config applies. */
  name: string | undefined;
  title: string;
  file: string | undefined;
  /** Why this one, one clause. */
  reason: string;
  layer: Layer;
  /** Everything the config holds. */
  facts: BoardFile | undefined;
  /** How the board's rails make its total, where that is known. */
  totalRule: TotalRule | undefined;
}

export interface BoardPlaces {
  /** Folder of the board configs. */
  folder?: string;
  /** Root of the file system in which the board is looked for. */
  root?: string;
}

const nothing = (title: string, reason: string): BoardChoice => ({
  name: undefined,
  title,
  file: undefined,
  reason,
  layer: { entries: new Map(), problems: [] },
  facts: undefined,
  totalRule: undefined,
});

function choice(facts: BoardFile, file: string, reason: string, detection?: Detection): BoardChoice {
  const { name, title, settings, power } = facts;
  const layer = layerFromObject(settings, { kind: "board", name: file }, dirname(resolve(file)));
  const totalRule = detection === undefined ? known(power.total) : boardTotalRule(detection);
  return { name, title, file, reason, layer, facts, totalRule };
}

function detect(folder: string, root: string | undefined): BoardChoice {
  const detection = detectBoard(loadBoards(folder), root === undefined ? {} : { root });
  const { board, reason } = detection;
  if (board === undefined) return nothing("unknown board", reason);
  return choice(board, join(folder, `${board.name}.json`), reason, detection);
}

/**
 * @param board the setting `board`: auto, none, a name or a file
 * @throws DepthwattError CONFIG_INVALID for a name that is not there, CONFIG_UNREADABLE for a file that cannot be read
 */
export function chooseBoard(board: string, places: BoardPlaces = {}): BoardChoice {
  const folder = places.folder ?? SHIPPED_BOARDS;
  if (board === "none") return nothing("none", "board is none");
  if (board === "auto") return detect(folder, places.root);
  if (/[/.]/.test(board)) return choice(loadBoardFile(board), board, "its file was given");
  const names = listBoards(folder);
  if (names.includes(board)) {
    const file = join(folder, `${board}.json`);
    return choice(loadBoardFile(file), file, "its name was given");
  }
  const near = nearestName(board, names);
  throw new DepthwattError("CONFIG_INVALID", `board: no board config is called "${board}"`, {
    hint: near === undefined ? `There are: ${names.join(", ") || "none"}.` : `Did you mean "${near}"?`,
    context: { key: "board", found: board, known: names },
  });
}
