// SPDX-License-Identifier: Apache-2.0
// How many instructions and clocks SGM's kernels take for a cell on each architecture, read off their disassembly:
//   node scripts/sass-cells.mjs [--commit HASH] [--out FILE] [SASS...]
// SASS: what cuda/gpu/sass.sh left elsewhere (sm_110.sass, gzip or not), for architectures that nvcc 11.8 does not know and for
// times that another nvcc's kernels took; all others it disassembles itself with nvcc 11.8. Of each walk it takes one turn of the
// loop, the way of inner pixels.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gunzipSync } from "node:zlib";
import { launchOf, readableNames, residentWarps } from "./cuda-table.mjs";
import { FLAGS_11_8, fetchNvcc118 } from "./nvcc-11.8.mjs";
import { costOf, loopsOf, parseSass, slotsOf, turnOf } from "./sass-loops.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const OWN_TARGETS = ["53", "62", "72", "87"];
const PADDED = [64, 128];
/** Kernels by their names without arguments; padded: what the numbers of disparities are rounded up to. */
const SHAPES = {
  costs: { name: (padded) => `costsKernel<${padded}>` },
  walk32: { name: (padded) => `linesKernel<32, ${padded / 64}, false, false>`, lanes: 32 },
  walk8: { name: (padded) => `linesKernel<8, ${padded / 16}, false, false>`, lanes: 8 },
  selection32: {
    name: (padded) => `rowsSelectKernel<32, ${padded / 64}, false, 1>`,
    lanes: 32,
    selects: true,
  },
};
/** Pixels that are selected for at once, and a scan's cells in a turn of its loop. */
const SELECTED = 32;
const SCANNED = 32;

/** Counts by mnemonic, added with a weight. */
function added(counts, others, weight) {
  const sum = { ...counts };
  for (const [name, n] of Object.entries(others)) sum[name] = (sum[name] ?? 0) + weight * n;
  return sum;
}

const has = (code, [a, b], pattern) => code.slice(a, b + 1).some((one) => pattern.test(one.name));
const counted = (counts, pattern) =>
  Object.entries(counts).reduce((sum, [name, n]) => sum + (pattern.test(name) ? n : 0), 0);

/** One turn's instructions of a shape, and the cells that a thread updates in it. */
function turnFor(shape, padded, code, architecture) {
  const cost = (name) => slotsOf(name, architecture);
  if (shape.lanes === undefined) {
    const end = code.findLastIndex((one) => /^EXIT/.test(one.name));
    const counts = turnOf(code, [0, end], [/^POPC/], cost);
    return { counts, cells: counted(counts, /^POPC/) };
  }
  const loops = loopsOf(code);
  const walk = loops
    .filter((loop) => has(code, loop, /^SHFL/) && has(code, loop, /^STG|^ST\./))
    .sort((a, b) => a[1] - a[0] - (b[1] - b[0]))[0];
  if (walk === undefined) throw new Error("no loop walks a line in this disassembly");
  // A step asks the lane before and the lane behind for one register each.
  const stepsOf = (counts) => counted(counts, /^SHFL\.IDX/) / 2;
  const cellsOf = (counts) => (stepsOf(counts) * padded) / shape.lanes;
  if (!shape.selects) {
    const counts = turnOf(code, walk, [/^SHFL/, /^LDGSTS/, /^LDS/], cost);
    return { counts, cells: cellsOf(counts) };
  }
  // The tile is selected from when it is full, in two scans.
  const without = turnOf(code, walk, [/^SHFL/, /^LDGSTS/], cost);
  let selecting = added(turnOf(code, walk, [/^SHFL/, /^LDGSTS/, /^LDS/], cost), without, -1);
  for (const scan of loops.filter(([a, b]) => a > walk[0] && b < walk[1] && has(code, [a, b], /^LDS/))) {
    selecting = added(selecting, turnOf(code, scan, [/^LDS/], cost), padded / SCANNED - 1);
  }
  return { counts: added(without, selecting, stepsOf(without) / SELECTED), cells: cellsOf(without) };
}

/** Registers and static shared memory by mangled name, as the assembler said them behind the disassembly. */
function resourcesOf(text) {
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
export function cellsOf(text, architecture, cells) {
  const functions = parseSass(text);
  const resources = resourcesOf(text);
  const mangled = [...functions.keys()];
  const names = readableNames(mangled);
  const round = (value) => Math.round(value * 1000) / 1000;
  return Object.entries(SHAPES).flatMap(([name, shape]) =>
    PADDED.map((padded) => {
      const readable = shape.name(padded);
      const at = names.indexOf(readable);
      if (at < 0) throw new Error(`the disassembly holds no ${readable}`);
      const turn = turnFor(shape, padded, functions.get(mangled[at]), architecture);
      const { instructions, slots, clocks, binds } = costOf(turn.counts, architecture);
      const launch = launchOf(readable, architecture);
      return {
        kind: "measured",
        architecture,
        cells,
        shape: name,
        numDisparities: padded,
        instructionsPerCell: round(instructions / turn.cells),
        slotsPerCell: round(slots / turn.cells),
        boundSlotsPerCell: round(clocks / turn.cells),
        binds,
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

/** What cuda/gpu/traits.h chooses, unless a target names its cells. */
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
  execFileSync("bash", [join(root, "cuda/gpu/sass.sh"), folder, ...OWN_TARGETS], { env, stdio: "inherit" });
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
      const bytes = readFileSync(file);
      const text = (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
      return cellsOf(text, Number.parseInt(target, 10), cellsFor(target));
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
  if (values.out === undefined) return;
  const commit =
    values.commit ??
    execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
  const head = {
    machine: "disassembly",
    commit,
    date: new Date().toISOString(),
    toolchain: "nvcc 11.8 for sm_53 to sm_87, 13.0 for the others",
    powerMode: "none",
    clocks: "none",
    load: "none",
  };
  const lines = rows.map((row) => `  ${JSON.stringify(row)}`).join(",\n");
  writeFileSync(values.out, `${JSON.stringify(head).slice(0, -1)},\n "rows": [\n${lines}\n ]}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
