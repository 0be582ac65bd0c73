// SPDX-License-Identifier: Apache-2.0
// depthwatt boards: which board this is and why, what can be measured on it, and every board that is known.
import type { Command } from "commander";
import { openCandidates } from "../../../power/index.js";
import {
  type BoardFile,
  boardTotalRule,
  type Detection,
  type DetectOptions,
  detectBoard,
  type Fact,
  known,
  knownNumber,
  loadBoards,
  PREDICTED_SPEED,
} from "../../boards/index.js";
import { withExamples, withJson } from "../../cli/options.js";
import { columns, paint, printJson, printLine } from "../../cli/output.js";
import { loadNative, type NativeAddon } from "../../contracts/native.js";
import { powerNative } from "../../power/open-meter.js";

function addonOrNothing(): NativeAddon | undefined {
  try {
    return loadNative();
  } catch {
    // Without the addon NVML says that it is missing; `depthwatt doctor` says how to build it.
    return undefined;
  }
}

/** Every sensor that could be here: its rails and total, or why it is not. */
function sensors(detection: Detection, { root = "/" }: DetectOptions) {
  const totalRule = boardTotalRule(detection);
  const candidates = openCandidates({
    root,
    native: powerNative(addonOrNothing()),
    ...(totalRule !== undefined && { totalRule }),
  });
  return candidates.map(({ name, result }) => {
    if (!("rails" in result)) return { name, ...result };
    const rails = result.rails.map(({ label, kind, sourcePath, updateIntervalMs, step }) => ({
      label,
      kind,
      sourcePath,
      updateIntervalMs: updateIntervalMs ?? null,
      step: step ?? null,
    }));
    result.close();
    return { name, available: true as const, rails, total: result.total };
  });
}

const shown = <T extends string | number>(item: Fact<T>, unit = ""): string => {
  const value = known(item);
  return value === undefined ? "?" : `${value}${unit}`;
};

function boardRow(board: BoardFile): string[] {
  const total = known(board.power.total);
  return [
    board.name,
    known(board.gpu.nvccArchitectures)
      ?.map((number) => `${number === "native" ? "" : "sm_"}${number}`)
      .join(" ") ?? "?",
    shown(board.gpu.multiprocessors),
    shown(board.memory.gigabytesPerSecond),
    total === undefined ? "?" : total.rails.join(" + "),
    board.title,
  ];
}

/** Predicted frames per second of both searches, and joules at the module's power limit: an upper bound. */
function predictions({ name, power }: BoardFile) {
  const watts = known(power.moduleLimitWatts);
  const notKnown = { available: false as const, reason: "the power limit of the module is not known" };
  return (PREDICTED_SPEED[name] ?? []).map(({ full, coarseToFine, ...image }) => {
    const search = (fps: number) => ({
      fps,
      maxWatts: watts ?? notKnown,
      maxJoulesPerFrame: watts === undefined ? notKnown : Number((watts / fps).toPrecision(3)),
    });
    return { ...image, full: search(full), coarseToFine: search(coarseToFine) };
  });
}

function printPredictions(board: BoardFile): void {
  const rows = predictions(board).map(({ width, height, numDisparities, full, coarseToFine }) => {
    const search = ({ fps, maxWatts, maxJoulesPerFrame }: typeof full) =>
      `${fps} fps${typeof maxWatts === "number" ? `, up to ${maxWatts} W, ${maxJoulesPerFrame} J` : ""}`;
    return [
      `    ${width}x${height}`,
      `${numDisparities} disparities`,
      `full: ${search(full)}`,
      `coarseToFine: ${search(coarseToFine)}`,
    ];
  });
  if (rows.length === 0) return;
  printLine("  predicted, for each match.sgm.search:");
  for (const line of columns(rows)) printLine(line);
}

function printDetection(detection: Detection, where: DetectOptions): void {
  const { board, level, reason, evidence } = detection;
  const { model, l4t } = evidence;
  printLine(paint("bold", `Board: ${board?.title ?? "unknown"}`));
  const rows = [["  because", `${reason}${level === "guess" ? " (a guess)" : ""}`]];
  if (model !== undefined) rows.push(["  model", model]);
  if (l4t !== undefined) {
    const software = l4t.jetpack === undefined ? "" : ` (JetPack ${l4t.jetpack}, CUDA ${l4t.cuda})`;
    rows.push(["  L4T", `${l4t.version}${software}${l4t.note === "" ? "" : `: ${l4t.note}`}`]);
  }
  for (const sensor of sensors(detection, where)) {
    const words = sensor.available ? sensor.rails.map((rail) => rail.label).join(", ") : sensor.reason;
    rows.push([`  ${sensor.name}`, words]);
    if (!sensor.available) continue;
    rows.push([
      "",
      "rails" in sensor.total ? `total: ${sensor.total.rails.join(" + ")}` : sensor.total.reason,
    ]);
  }
  for (const line of columns(rows)) printLine(line);
  if (board === undefined) return;
  printPredictions(board);
  if (!Array.isArray(board.recommended)) return;
  printLine("  expected:");
  const advice = board.recommended.map((item) => {
    const watts = knownNumber(item.budgetWatts);
    return [
      `    ${item.mode}`,
      watts === undefined ? "" : `${watts} W mode`,
      `${item.width}x${item.height}`,
      `${item.numDisparities} disparities`,
      `${item.paths} paths`,
      `${item.framesPerSecond} fps`,
      item.kind,
    ];
  });
  for (const line of columns(advice)) printLine(line);
}

/** Prints the detected board and every known one. */
export function printBoards(options: { json?: boolean }, where: DetectOptions = {}): void {
  const all = loadBoards();
  const detection = detectBoard(all, where);
  if (options.json) {
    const { board, level, reason, evidence } = detection;
    printJson({
      detected: {
        name: board?.name ?? null,
        title: board?.title ?? null,
        level,
        reason,
        model: evidence.model ?? null,
        compatible: evidence.compatible ?? null,
        l4t: evidence.l4t ?? null,
        modes: evidence.modes,
        sensors: sensors(detection, where),
      },
      boards: all.map((board) => ({ ...board, predicted: predictions(board) })),
    });
    return;
  }
  printDetection(detection, where);
  printLine();
  const head = ["board", "GPU", "SMs", "GB/s", "total power", ""];
  for (const [index, line] of columns([head, ...all.map(boardRow)]).entries()) {
    printLine(index === 0 ? paint("dim", line) : line);
  }
  printLine(paint("dim", "? = not known; --json gives every fact with its source, or why it is not known"));
}

export function define(command: Command): void {
  withJson(command, "print every fact of every board, with its source, as JSON").action((options) =>
    printBoards(options),
  );
  withExamples(command, "depthwatt boards", "depthwatt boards --json | tail -1 | jq .detected");
}
