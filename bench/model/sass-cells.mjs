// SPDX-License-Identifier: Apache-2.0
// How many instructions and clocks SGM's kernels take for a cell on each architecture, read off their disassembly:
//   node bench/model/sass-cells.mjs [--commit HASH] [--out FILE] [SASS...]
// SASS: what bench/model/disassemble.sh left elsewhere (sm_110.sass, gzip or not), for architectures that nvcc 11.8 does not know and for
// times that another nvcc's kernels took; all others it disassembles itself with nvcc 11.8. Of each walk it takes one turn of the
// loop, the way of inner pixels.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { FLAGS_11_8, fetchNvcc118 } from "../../test/setup/nvcc-11.8.mjs";
import { launchShape, readableNames, residentWarps } from "./cuda-table.mjs";
import { readSass, writeCounts } from "./sass-files.mjs";
import { countCost, issueSlots, parseSass } from "./sass-loops.mjs";
import { costsTurn, firstTurn, lineTurn, selectingTurn, tileTurn } from "./sass-turns.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const OWN_TARGETS = ["53", "62", "72", "87"];
const PADDED = [64, 128];
/**
 * Kernels by their names without arguments, and how they are counted; padded: what the numbers of disparities are rounded up to.
 * warps: that work on a line. Of names for one shape the first that the disassembly holds; `optional` where it may hold none.
 */
const SHAPES = [
  { shape: "costs", name: (padded) => `costsKernel<${padded}, 1>`, count: costsTurn },
  {
    shape: "walk32",
    name: (padded) => `linesKernel<32, ${padded / 64}, false, false>`,
    count: lineTurn,
    lanes: 32,
    warps: 2,
  },
  {
    shape: "walk8",
    name: (padded) => `linesKernel<8, ${padded / 16}, false, false>`,
    count: lineTurn,
    lanes: 8,
    warps: 2,
  },
  {
    shape: "first",
    name: (padded) => `firstRowsKernel<${padded / 64}, false>`,
    count: firstTurn,
    lanes: 32,
    warps: 4,
    optional: true,
  },
  {
    shape: "selection32",
    name: (padded) => `rowsSelectKernel<${padded / 64}, false, 1, false>`,
    count: tileTurn,
    lanes: 32,
    warps: 4,
    optional: true,
  },
  {
    shape: "selection32",
    name: (padded) => `rowsSelectKernel<32, ${padded / 64}, false, 1>`,
    count: selectingTurn,
    lanes: 32,
    warps: 2,
    optional: true,
  },
];
/** Registers and static shared memory by mangled name, as the assembler said them behind the disassembly. */
function parseResources(text) {
  const found = new Map();
  let name;
  for (const line of text.split("\n")) {
    name = line.match(/Compiling entry function '(\S+)'/)?.[1] ?? name;
    const registers = line.match(/Used (\d+) registers/)?.[1];
    if (registers === undefined) continue;
    found.set(name, {
      registers: Number(registers),
      sharedBytes: Number(line.match(/(\d+) bytes smem/)?.[1] ?? 0),
    });
  }
  return found;
}

/** One row for each shape and number of disparities of a disassembly. */
export function parseCells(text, architecture, cells) {
  const functions = parseSass(text);
  const resources = parseResources(text);
  const mangled = [...functions.keys()];
  const names = readableNames(mangled);
  const round = (value) => Math.round(value * 1000) / 1000;
  const cost = (name) => issueSlots(name, architecture);
  return SHAPES.flatMap(({ shape, name, count, lanes, warps, optional }) =>
    PADDED.flatMap((padded) => {
      const readable = name(padded);
      const at = names.indexOf(readable);
      if (at < 0 && optional) return [];
      if (at < 0) throw new Error(`the disassembly holds no ${readable}`);
      const turn = count(functions.get(mangled[at]), padded, cost, lanes);
      const { instructions, slots, clocks, binds } = countCost(turn.counts, architecture);
      const launch = launchShape(readable, architecture);
      return {
        kind: "measured",
        architecture,
        cells,
        shape,
        numDisparities: padded,
        instructionsPerCell: round(instructions / turn.cells),
        slotsPerCell: round(slots / turn.cells),
        boundSlotsPerCell: round(clocks / turn.cells),
        binds,
        warpsOfALine: warps,
        // Thor's numbers of blocks and warps we have not read; registers and shared memory bind before a Hopper's do.
        residentWarps: residentWarps(Math.min(architecture, 90), {
          ...resources.get(mangled[at]),
          ...launch,
        }),
        cellsOfATurn: turn.cells,
        instructions: Object.fromEntries(Object.entries(turn.counts).map(([key, n]) => [key, round(n)])),
      };
    }),
  );
}

/** Returns the choice of cuda/device/traits.h, unless a target names its cells. */
const cellsFor = (target) => {
  const [architecture, named] = target.split(/[:-]/);
  return named ?? (architecture === "90" ? "uint16" : "half2");
};

function disassembled(folder) {
  const nvcc = fetchNvcc118();
  const env = {
    ...process.env,
    NVCC: nvcc,
    NVCC_FLAGS: FLAGS_11_8.join(" "),
    CUOBJDUMP: join(dirname(nvcc), "../../../bin/cuobjdump"),
  };
  execFileSync("bash", [join(root, "bench/model/disassemble.sh"), folder, ...OWN_TARGETS], {
    env,
    stdio: "inherit",
  });
  return OWN_TARGETS.map((target) => join(folder, `sm_${target}.sass`));
}

function main() {
  const { values, positionals } = parseArgs({
    options: { out: { type: "string" }, commit: { type: "string" } },
    allowPositionals: true,
  });
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-sass-"));
  let rows;
  try {
    rows = [...disassembled(folder), ...positionals].flatMap((file) => {
      const target = basename(file).match(/^sm_([\w-]+)\.sass/)[1];
      return parseCells(readSass(file), Number.parseInt(target, 10), cellsFor(target));
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
  for (const row of rows) {
    console.log(
      `sm_${row.architecture} ${row.cells.padEnd(6)} ${row.shape.padEnd(11)} ${String(row.numDisparities).padStart(3)}: ` +
        `${row.instructionsPerCell} instructions, ${row.slotsPerCell} slots a cell, ${row.boundSlotsPerCell} of ${row.binds}; ` +
        `${row.residentWarps} warps`,
    );
  }
  if (values.out !== undefined) writeCounts(values.out, rows, values.commit);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
