// SPDX-License-Identifier: Apache-2.0
// How many instructions and scheduler slots SGM's kernels take for a cell, read off their disassembly:
//   node scripts/sass-cells.mjs [--out FILE] [--commit HASH]
// Compiles the kernels for 128 disparities with nvcc 11.8 (its cuobjdump reads what it wrote) for sm_87 and sm_90, cells in half
// precision, and takes one turn of each walk's loop, the way of inner pixels.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { FLAGS_11_8, fetchNvcc118 } from "./nvcc-11.8.mjs";
import { costOf, loopsOf, parseSass, slotsOf, turnOf } from "./sass-loops.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const ARCHITECTURES = [87, 90];
const SOURCE = `#include "${root}/cuda/match/sgm/sgm_costs.cuh"
#include "${root}/cuda/match/sgm/sgm_lines.cuh"
#include "${root}/cuda/match/sgm/sgm_rows.cuh"
namespace depthwatt { namespace gpu {
template __global__ void costsKernel<128>(LineArguments);
template __global__ void linesKernel<32, 2, false, false>(LineArguments, int, int);
template __global__ void linesKernel<8, 8, false, false>(LineArguments, int, int);
template __global__ void rowsSelectKernel<32, 2, false, 1>(LineArguments, SelectArguments);
} }
`;
/** By shape of kernel: its mangled name, and the cells that a thread updates in one turn of the loop that is taken. */
const SHAPES = {
  costs: { name: /costsKernel/, cells: 8 * 16 },
  walk32: { name: /linesKernelILi32E/, cells: 8 * 4 },
  walk8: { name: /linesKernelILi8E/, cells: 2 * 16 },
  selection32: { name: /rowsSelectKernel/, cells: 8 * 4, turnsASelection: 4, scans: 4 },
};

/** Counts by mnemonic, added with a weight. */
function added(counts, others, weight) {
  const sum = { ...counts };
  for (const [name, n] of Object.entries(others)) sum[name] = (sum[name] ?? 0) + weight * n;
  return sum;
}

const has = (code, [a, b], pattern) => code.slice(a, b + 1).some((one) => pattern.test(one.name));

/** One turn's instructions of a shape. */
function turnFor(shape, code, architecture) {
  const cost = (name) => slotsOf(name, architecture);
  if (shape === SHAPES.costs) {
    const end = code.findLastIndex((one) => /^EXIT/.test(one.name));
    return turnOf(code, [0, end], [/^POPC/], cost);
  }
  const loops = loopsOf(code);
  const walk = loops
    .filter((loop) => has(code, loop, /^SHFL/) && has(code, loop, /^STG|^ST\./))
    .sort((a, b) => a[1] - a[0] - (b[1] - b[0]))[0];
  if (walk === undefined) throw new Error("no loop walks a line in this disassembly");
  if (shape.turnsASelection === undefined) return turnOf(code, walk, [/^SHFL/, /^LDGSTS/, /^LDS/], cost);
  // The tile of 32 pixels is selected from after every fourth batch, in two scans of four turns each.
  const without = turnOf(code, walk, [/^SHFL/, /^LDGSTS/], cost);
  let selecting = added(turnOf(code, walk, [/^SHFL/, /^LDGSTS/, /^LDS/], cost), without, -1);
  for (const scan of loops.filter(([a, b]) => a > walk[0] && b < walk[1] && has(code, [a, b], /^LDS/))) {
    selecting = added(selecting, turnOf(code, scan, [/^LDS/], cost), shape.scans - 1);
  }
  return added(without, selecting, 1 / shape.turnsASelection);
}

/** [{architecture, shape, instructionsPerCell, slotsPerCell, instructions}] of a disassembly. */
export function cellsOf(sass, architecture) {
  const functions = [...parseSass(sass)];
  return Object.entries(SHAPES).map(([name, shape]) => {
    const code = functions.find(([mangled]) => shape.name.test(mangled))?.[1];
    if (code === undefined) throw new Error(`the disassembly holds no ${name}`);
    const counts = turnFor(shape, code, architecture);
    const { instructions, slots } = costOf(counts, architecture);
    const round = (value) => Math.round(value * 1000) / 1000;
    return {
      kind: "measured",
      architecture,
      shape: name,
      cells: shape.cells,
      instructionsPerCell: round(instructions / shape.cells),
      slotsPerCell: round(slots / shape.cells),
      instructions: Object.fromEntries(Object.entries(counts).map(([key, n]) => [key, round(n)])),
    };
  });
}

function main() {
  const { values } = parseArgs({ options: { out: { type: "string" }, commit: { type: "string" } } });
  const nvcc = fetchNvcc118();
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-sass-"));
  const rows = [];
  try {
    writeFileSync(join(folder, "kernels.cu"), SOURCE);
    for (const one of ARCHITECTURES) {
      const cubin = join(folder, `${one}.cubin`);
      const target = `-gencode=arch=compute_${one},code=sm_${one}`;
      const flags = [
        ...FLAGS_11_8,
        "-std=c++14",
        "-O3",
        "--fmad=false",
        "-DDEPTHWATT_CELL_HALF2",
        target,
        "-cubin",
      ];
      execFileSync(nvcc, [...flags, "-o", cubin, join(folder, "kernels.cu")], {
        stdio: ["ignore", "ignore", "inherit"],
      });
      const tool = join(dirname(nvcc), "../../../bin/cuobjdump");
      rows.push(
        ...cellsOf(execFileSync(tool, ["-sass", cubin], { encoding: "utf8", maxBuffer: 1 << 28 }), one),
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  for (const { architecture, shape, instructionsPerCell, slotsPerCell } of rows) {
    console.log(
      `sm_${architecture} ${shape.padEnd(12)} ${instructionsPerCell} instructions, ${slotsPerCell} slots a cell`,
    );
  }
  if (values.out === undefined) return;
  const commit =
    values.commit ??
    execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
  const head = {
    machine: "disassembly",
    commit,
    date: new Date().toISOString(),
    toolchain: "nvcc 11.8",
    powerMode: "none",
  };
  const lines = rows.map((row) => `  ${JSON.stringify(row)}`).join(",\n");
  writeFileSync(
    values.out,
    `${JSON.stringify({ ...head, clocks: "none", load: "none" }).slice(0, -1)},\n "rows": [\n${lines}\n ]}\n`,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
