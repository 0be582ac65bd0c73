// SPDX-License-Identifier: Apache-2.0
// Which board this is, and why: exact compatible strings, then the module's part number (carrier boards replace the
// rest), then the system on chip with the model's name, then what a PC has.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { modeNames } from "../../power/index.js";
import { type L4tFinding, readL4t } from "./l4t.js";
import type { BoardFile } from "./schema.js";
import { known } from "./schema.js";

export interface BoardEvidence {
  /** Entries of the device tree's compatible list, most particular first; undefined where there is no device tree. */
  compatible: string[] | undefined;
  model: string | undefined;
  l4t: L4tFinding | undefined;
  /** Names of the power modes that this machine's nvpmodel.conf offers. */
  modes: string[];
  architecture: string;
  hasNvidiaDriver: boolean;
}

export interface Detection {
  board: BoardFile | undefined;
  /** How sure: the board itself, its module, a guess among boards of one chip, a generic config, or nothing. */
  level: "board" | "module" | "guess" | "generic" | "none";
  /** Why, one clause. */
  reason: string;
  evidence: BoardEvidence;
}

export interface DetectOptions {
  /** Root of the file system; another one in tests. */
  root?: string;
  /** Default: process.arch. */
  architecture?: string;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** Device-tree text ends each string with NUL, the last one included. */
const strings = (text: string): string[] =>
  text
    .split("\0")
    .map((part) => part.trim())
    .filter((part) => part !== "");

export function gatherEvidence(options: DetectOptions = {}): BoardEvidence {
  const root = options.root ?? "/";
  const compatible = readText(join(root, "proc/device-tree/compatible"));
  const model = readText(join(root, "proc/device-tree/model"));
  const release = readText(join(root, "etc/nv_tegra_release"));
  return {
    compatible: compatible === undefined ? undefined : strings(compatible),
    model: model === undefined ? undefined : strings(model)[0],
    l4t: release === undefined ? undefined : readL4t(release),
    modes: modeNames(readText(join(root, "etc/nvpmodel.conf")) ?? ""),
    architecture: options.architecture ?? process.arch,
    hasNvidiaDriver: existsSync(join(root, "proc/driver/nvidia/version")),
  };
}

/** "nvidia,p3509-0000+p3767-0005-super" holds the part numbers p3509-0000 and p3767-0005-super. */
const partNumbers = (entries: readonly string[]): string[] =>
  entries.flatMap((entry) => entry.match(/p\d{4}-\d{4}(-super)?/g) ?? []);

const SUPER = "-super";
const isSuper = (board: BoardFile): boolean => board.identity.modules.some((part) => part.endsWith(SUPER));

/**
 * Module numbers stay the same when a board runs in its super modes on another carrier: then the model's name or the
 * mode list decides.
 */
function preferSuper(found: BoardFile, boards: readonly BoardFile[], evidence: BoardEvidence): BoardFile {
  const runsSuper = evidence.modes.includes("MAXN_SUPER") || (evidence.model ?? "").endsWith(" Super");
  if (isSuper(found) || !runsSuper) return found;
  const parts = found.identity.modules.map((part) => part + SUPER);
  return boards.find((board) => board.identity.modules.some((part) => parts.includes(part))) ?? found;
}

function byModule(boards: readonly BoardFile[], evidence: BoardEvidence): [BoardFile, string] | undefined {
  const parts = partNumbers(evidence.compatible ?? []);
  for (const part of parts) {
    const exact = boards.find((board) => board.identity.modules.includes(part));
    if (exact !== undefined) return [preferSuper(exact, boards, evidence), part];
  }
  for (const part of parts) {
    const family = boards.find((board) => board.identity.modules.includes(part.slice(0, 5)));
    if (family !== undefined) return [family, part];
  }
  return undefined;
}

/** The most careful of several boards with one chip: the one with the least memory bandwidth. */
function smallest(boards: readonly BoardFile[]): BoardFile | undefined {
  const bandwidth = (board: BoardFile): number => known(board.memory.gigabytesPerSecond) ?? Infinity;
  return [...boards].sort((a, b) => bandwidth(a) - bandwidth(b))[0];
}

function bySoc(
  boards: readonly BoardFile[],
  evidence: BoardEvidence,
): Omit<Detection, "evidence"> | undefined {
  const entries = evidence.compatible ?? [];
  const sameChip = boards.filter((board) => board.identity.soc.some((soc) => entries.includes(soc)));
  if (sameChip.length === 0) return undefined;
  const chip = sameChip[0]!.identity.soc.find((soc) => entries.includes(soc))!;
  const named = sameChip.filter((board) =>
    board.identity.models.some((model) => (evidence.model ?? "").includes(model)),
  );
  const board = smallest(named.length > 0 ? named : sameChip)!;
  const others = (named.length > 0 ? named : sameChip)
    .filter((other) => other !== board)
    .map((other) => other.name);
  const also = others.length > 0 ? `; ${others.join(", ")} would fit too, the smallest is taken` : "";
  const model = named.length > 0 ? ` and the model "${evidence.model}"` : "";
  return { board, level: "guess", reason: `only the chip ${chip}${model} is known${also}` };
}

function generic(boards: readonly BoardFile[], evidence: BoardEvidence): Omit<Detection, "evidence"> {
  const find = (name: string): BoardFile | undefined => boards.find((board) => board.name === name);
  if (evidence.hasNvidiaDriver && find("generic-nvml") !== undefined) {
    return {
      board: find("generic-nvml"),
      level: "generic",
      reason: "no known board, but an NVIDIA driver is loaded",
    };
  }
  if (evidence.architecture === "x64" && find("generic-x86") !== undefined) {
    return { board: find("generic-x86"), level: "generic", reason: "an x86 CPU without a device tree" };
  }
  const what =
    evidence.compatible === undefined
      ? `there is no device tree, and the CPU is ${evidence.architecture}`
      : `no board config names ${evidence.compatible.join(", ")}`;
  return { board: undefined, level: "none", reason: what };
}

export function detectBoard(boards: readonly BoardFile[], options: DetectOptions = {}): Detection {
  const evidence = gatherEvidence(options);
  // The first strings are the most particular ones: the order of the tree decides, not the order of our files.
  for (const entry of evidence.compatible ?? []) {
    const board = boards.find((candidate) => candidate.compatible.includes(entry));
    if (board !== undefined) {
      const run = preferSuper(board, boards, evidence);
      return { board: run, level: "board", reason: `the device tree says ${entry}`, evidence };
    }
  }
  const module = byModule(boards, evidence);
  if (module !== undefined) {
    const [board, part] = module;
    return {
      board,
      level: "module",
      reason: `module ${part} on a carrier board with another name`,
      evidence,
    };
  }
  return { ...(bySoc(boards, evidence) ?? generic(boards, evidence)), evidence };
}
