// SPDX-License-Identifier: Apache-2.0
// Counts the instructions of the walks with four costs in a register (cuda/check/baselines), from their disassembly:
//   node bench/model/bytes-form.mjs [--commit HASH] [--out FILE] [SASS...]
// SASS: disassemblies of sass_bytes.cu, followed by the assembler's registers, made elsewhere (sm_110.sass, gzip or not) for
// architectures that nvcc 11.8 lacks; the others it disassembles with nvcc 11.8.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { FLAGS_11_8, fetchNvcc118 } from "../../test/setup/nvcc-11.8.mjs";
import { readSass, writeCounts } from "./sass-files.mjs";
import { countCost, findIteration, findLoops, issueSlots, parseSass } from "./sass-loops.mjs";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const SOURCE = join(root, "bench/model/sass_bytes.cu");
/** Where costs come from, by the template argument Costs. */
const COSTS = ["from the volume", "from the census", "from the census, written to the volume"];
/** A thread holds four of the 128 disparities. */
const CELLS = 4;

const round = (value) => Math.round(value * 100) / 100;

/** One row for each walk of a disassembly. */
function countWalks(text, architecture) {
  const cost = (name) => issueSlots(name, architecture);
  /** Minima over a warp: one instruction, or five exchanges before 8.0. A pixel takes one, and one more where it selects. */
  const minima = (counts) =>
    Object.entries(counts).reduce(
      (sum, [name, n]) => sum + (/^REDUX/.test(name) ? n : /^SHFL\.BFLY/.test(name) ? n / 5 : 0),
      0,
    );
  return [...parseSass(text)].flatMap(([name, all]) => {
    const found = name.match(/warpWalkKernelILi1ELNS1_5CostsE(\d)ELb(\d)ELb(\d)E/);
    if (found === null) return [];
    const [costs, selects, seven] = found.slice(1).map(Number);
    // Warps do not diverge: a slice is a whole warp's.
    const code = all.map((one) => (one.name === "BRA.DIV" ? { ...one, conditional: true } : one));
    const preferred = [/^(SHFL|REDUX)/, /^POPC/, selects === 1 ? /^LDG|^LD\./ : /^STG|^ST\./];
    const turns = findLoops(code)
      .sort((a, b) => a[1] - a[0] - (b[1] - b[0]))
      .map((loop) => findIteration(code, loop, preferred, cost))
      .filter((counts) => minima(counts) >= 1 + selects);
    if (turns.length === 0) throw new Error(`sm_${architecture}: no loop walks in ${name}`);
    const { instructions, slots, clocks, binds } = countCost(turns[0], architecture);
    const cells = (CELLS * minima(turns[0])) / (1 + selects);
    const registers = new RegExp(`Compiling entry function '${name}'[^]*?Used (\\d+) registers`).exec(text);
    return {
      kind: "measured",
      architecture,
      costs: COSTS[costs],
      selects: selects === 1,
      bitsOfACell: seven === 1 ? 7 : 8,
      instructionsPerCell: round(instructions / cells),
      slotsPerCell: round(slots / cells),
      boundSlotsPerCell: round(clocks / cells),
      binds,
      registers: Number(registers?.[1]),
    };
  });
}

/** Returns the text of the disassembly for an architecture that nvcc 11.8 knows. */
function disassemble(architecture, folder) {
  const nvcc = fetchNvcc118();
  const cubin = join(folder, `${architecture}.cubin`);
  const target = `-gencode=arch=compute_${architecture},code=sm_${architecture}`;
  const words = [...FLAGS_11_8, "-std=c++14", "-O3", "--fmad=false", target, "-w", "-Xptxas", "-v", "-cubin"];
  const log = execFileSync("bash", ["-c", '"$@" 2>&1', "nvcc", nvcc, ...words, "-o", cubin, SOURCE]);
  const sass = execFileSync(join(dirname(nvcc), "../../../bin/cuobjdump"), ["-sass", cubin], {
    maxBuffer: 1 << 28,
  });
  return `${sass}${log}`;
}

const { values, positionals } = parseArgs({
  options: { out: { type: "string" }, commit: { type: "string" } },
  allowPositionals: true,
});
const folder = mkdtempSync(join(tmpdir(), "depthwatt-sass-"));
const rows = [53, 62, 72, 87].flatMap((architecture) =>
  countWalks(disassemble(architecture, folder), architecture),
);
rmSync(folder, { recursive: true });
for (const file of positionals) {
  rows.push(...countWalks(readSass(file), Number(basename(file).match(/^sm_(\d+)/)[1])));
}
console.table(rows.map(({ kind: _, ...row }) => row));
if (values.out !== undefined) writeCounts(values.out, rows, values.commit);
