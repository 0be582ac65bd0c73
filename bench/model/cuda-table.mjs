// SPDX-License-Identifier: Apache-2.0
// Prints registers and resident warps of every kernel on every architecture, as Markdown tables. Template arguments of the walks:
// lanes per line, pairs of disparities per lane, wide sums, then those of the kernel.
//   node bench/model/cuda-table.mjs [REPORT...]     reads reports of build-cuda.mjs --report; without one, it builds with nvcc 11.8,
//                                               and with nvcc 13 if that is installed
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { FLAGS_11_8, fetchNvcc118 } from "../../test/setup/nvcc-11.8.mjs";

/**
 * Limits of a multiprocessor: registers, warps, blocks, bytes of shared memory (CUDA C++ Programming Guide, compute
 * capabilities).
 */
const LIMITS = {
  53: { registers: 65536, warps: 64, blocks: 32, shared: 65536 },
  62: { registers: 65536, warps: 64, blocks: 32, shared: 65536 },
  72: { registers: 65536, warps: 64, blocks: 32, shared: 98304 },
  87: { registers: 65536, warps: 48, blocks: 16, shared: 167936 },
  90: { registers: 65536, warps: 64, blocks: 32, shared: 233472 },
};
const RESERVED_SHARED = { 87: 1024, 90: 1024 };

/** Bytes of a warp's ring in shared memory: see cuda/match/sgm/sgm_ring.cuh. lineBytes: of a step of a line in each volume. */
function ringBytes(architecture, lanes, lineBytes) {
  const step = (32 / lanes) * lineBytes.reduce((sum, one) => sum + one, 0);
  const least = Math.max(1, (16 * lanes) / lineBytes[0]);
  const batch = [8, 4, 2].find((one) => least > one / 2 || one * step <= 3072) ?? 1;
  return (architecture >= 80 ? 3 : 2) * batch * step;
}

/** Threads of a block and the shared memory that a launch adds; see the stages' launchers. */
export function launchShape(name, architecture) {
  const lines = name.match(/^linesKernel<(\d+), (\d+), (\w+)/);
  if (lines !== null) {
    const [lanes, pairs] = [Number(lines[1]), Number(lines[2])];
    const padded = 2 * lanes * pairs;
    return {
      threads: 64,
      dynamic: 2 * ringBytes(architecture, lanes, [padded, lines[3] === "true" ? 2 * padded : padded]),
    };
  }
  // sgm_tile.cuh: a tile has 32 pixels of 32 words a pair, and four words more; sgm_rows.cuh: a slot has up to 6 KB.
  const rows = name.match(/^rowsSelectKernel<(\d), \w+, (\d)/);
  if (rows !== null) {
    const pairs = Number(rows[1]);
    const step = (1 + Number(rows[2])) * 64 * pairs;
    const slot = ([16, 8].find((batch) => batch * step <= 6144) ?? 4) * step;
    return { threads: 128, dynamic: 2 * 32 * 4 * (32 * pairs + 4) + 4 * slot };
  }
  // cross_plan.h: arms of 9 along rows; of 3, 9 and 9 down columns, where 48 KiB a block are too few for 128 threads of 9.
  const columns = name.match(/^crossColumnsKernel<(\d)/);
  if (columns !== null) {
    const threads = architecture < 70 && columns[1] !== "0" ? 64 : 128;
    return { threads, dynamic: [128, 320, 640][columns[1]] * threads + 66 * threads };
  }
  if (name.startsWith("crossRowsKernel")) return { threads: 128, dynamic: 20 * 16 * 128 };
  if (/^(costs|firstRows)Kernel/.test(name)) return { threads: 128, dynamic: 0 };
  if (name.startsWith("downKernel")) return { threads: 64, dynamic: 0 };
  if (name.startsWith("selectKernel")) return { threads: 256, dynamic: 9 * 640 };
  if (name.startsWith("boundaryKernel")) return { threads: 128, dynamic: 0 };
  return { threads: name.startsWith("probeKernel") ? 1 : 256, dynamic: 0 };
}

/**
 * Warps that a multiprocessor can hold: registers are given in eights a thread and 256 a warp.
 * @param {number} architecture
 * @param {{registers: number, sharedBytes: number, threads: number, dynamic: number}} kernel
 */
export function residentWarps(architecture, { registers, sharedBytes, threads, dynamic }) {
  const limit = LIMITS[architecture];
  if (limit === undefined) return undefined;
  const warps = Math.ceil(threads / 32);
  const perWarp = Math.ceil(registers / 8) * 256;
  const shared = sharedBytes + dynamic + (RESERVED_SHARED[architecture] ?? 0);
  const blocks = Math.min(
    limit.blocks,
    Math.floor(limit.warps / warps),
    Math.floor(Math.floor(limit.registers / perWarp) / warps),
    shared > 0 ? Math.floor(limit.shared / shared) : limit.blocks,
  );
  return blocks * warps;
}

export function readableNames(mangled) {
  const names = execFileSync("c++filt", [], { encoding: "utf8", input: `${mangled.join("\n")}\n` });
  return names
    .trim()
    .split("\n")
    .map((name) =>
      name
        .replace(/^void /, "")
        .replaceAll("depthwatt::gpu::", "")
        .replaceAll("(anonymous namespace)::", "")
        .replace(/\([A-Za-z_:]+\)(?=[-\d])/g, "")
        .replace(/\(.*$/, ""),
    );
}

/** Kernel by kernel: what each architecture needs. */
export function kernelTable({ nvcc, kernels }) {
  const names = readableNames(kernels.map((row) => row.kernel));
  const rows = new Map();
  kernels.forEach((row, i) => {
    const found = rows.get(names[i]) ?? {};
    const warps = residentWarps(row.architecture, { ...row, ...launchShape(names[i], row.architecture) });
    found[row.architecture] = { registers: row.registers, spillBytes: row.spillBytes, warps };
    rows.set(names[i], found);
  });
  const architectures = [...new Set(kernels.map((row) => row.architecture))].sort((a, b) => a - b);
  return { nvcc, architectures, rows: [...rows].sort(([a], [b]) => (a < b ? -1 : 1)) };
}

export function tableText({ nvcc, architectures, rows }) {
  const cell = (one) =>
    one === undefined ? "" : `${one.registers}${one.warps === undefined ? "" : ` / ${one.warps}`}`;
  const lines = [
    `| nvcc ${nvcc} | ${architectures.map((one) => `sm_${one}`).join(" | ")} |`,
    `|---|${architectures.map(() => "---|").join("")}`,
    ...rows.map(
      ([name, row]) => `| \`${name}\` | ${architectures.map((one) => cell(row[one])).join(" | ")} |`,
    ),
  ];
  return lines.join("\n");
}

function built(nvcc, architectures, flags) {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-table-"));
  const report = join(folder, "report.json");
  const env = { ...process.env, NVCC: nvcc, NVCCFLAGS: flags.join(" "), DEPTHWATT_CUDA_ARCHS: architectures };
  try {
    execFileSync(
      process.execPath,
      [
        fileURLToPath(new URL("../../scripts/build-cuda.mjs", import.meta.url)),
        "--out",
        join(folder, "plugin.so"),
        "--report",
        report,
      ],
      { env, stdio: ["ignore", "inherit", "inherit"] },
    );
    return tableText(kernelTable(JSON.parse(readFileSync(report, "utf8"))));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function allBuilt() {
  const tables = [built(fetchNvcc118(), "53,62,72,87", FLAGS_11_8)];
  const version = execFileSync("nvcc", ["--version"], { encoding: "utf8" });
  if (version.includes("release 13.")) tables.push(built("nvcc", "87,90,110", []));
  return tables;
}

function main(reports) {
  const tables =
    reports.length > 0
      ? reports.map((file) => tableText(kernelTable(JSON.parse(readFileSync(file, "utf8")))))
      : allBuilt();
  console.log(tables.join("\n\n"));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
