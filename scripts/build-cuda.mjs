// SPDX-License-Identifier: Apache-2.0
// Builds libdepthwatt_cuda.so next to the addon, where nvcc is there; where it is not, reports it and that is no error.
//   node scripts/build-cuda.mjs [--board NAME] [--out FILE] [--report FILE]
// Architectures: DEPTHWATT_CUDA_ARCHS ("87" or "87,90"), else the board's, else this machine's GPU, else all of the toolkit.
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/**
 * @typedef {{
 *   kernel: string,
 *   architecture: number,
 *   stackBytes: number,
 *   spillBytes: number,
 *   registers: number,
 *   sharedBytes: number,
 * }} KernelResources
 */

/** Every architecture that a supported board or card has. */
const KNOWN_ARCHITECTURES = ["53", "62", "72", "87", "90", "110"];

const PLUGIN = "cuda/gpu/plugin.cu";

/** Every .cu of the engine: the stages' kernels and the backend. What cuda/check builds for itself is not part of it. */
export const KERNELS = readdirSync(join(root, "cuda"), { recursive: true })
  .map((name) => `cuda/${name}`)
  .filter((path) => path.endsWith(".cu") && !path.startsWith("cuda/check/"))
  .sort();
export const HOST_SOURCES = ["cuda/output/bodies.cc", "cuda/output/rvl/rvl.cc", "core/pixel_format.cc"];

function fail(message, hint) {
  console.error(`error: ${message}\nhint: ${hint}`);
  process.exit(1);
}

function output(program, args) {
  try {
    return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return undefined;
  }
}

function boardArchitectures(name) {
  // A published package has the board configs once, in dist.
  const folder = join(root, existsSync(join(root, "board-configs")) ? "" : "dist", "board-configs");
  let path = join(folder, `${name}.json`);
  if (!existsSync(path)) fail(`there is no board-configs/${name}.json`, "'depthwatt boards' lists the names");
  for (;;) {
    const board = JSON.parse(readFileSync(path, "utf8"));
    const found = board.gpu?.nvccArchitectures?.value;
    if (found !== undefined) return found.map(String);
    if (board.extends === undefined) fail(`${name} names no nvccArchitectures`, "set DEPTHWATT_CUDA_ARCHS");
    path = join(folder, board.extends);
  }
}

/**
 * @param {Record<"asked" | "gpu", string | undefined> & {board: string[] | undefined, toolkit: string[]}} found
 * @returns {string[]}
 */
export function chooseArchitectures({ asked, board, gpu, toolkit }) {
  const supported = KNOWN_ARCHITECTURES.filter((one) => toolkit.includes(one));
  if (asked !== undefined && asked !== "") return asked.split(/[ ,]+/).filter((one) => one !== "");
  if (board !== undefined) return board.filter((one) => toolkit.includes(one));
  if (gpu !== undefined && toolkit.includes(gpu)) return [gpu];
  return supported;
}

/**
 * Registers, stack and spills of each kernel and architecture, out of what ptxas -v says.
 * @param {string} log
 * @returns {KernelResources[]}
 */
export function readResources(log) {
  const rows = [];
  /** @type {any} */
  let current;
  for (const line of log.split("\n")) {
    const entry = line.match(/Compiling entry function '([^']+)' for 'sm_(\d+)'/);
    if (entry) current = { kernel: entry[1], architecture: Number(entry[2]) };
    const spills = line.match(/(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads/);
    if (spills && current) {
      current.stackBytes = Number(spills[1]);
      current.spillBytes = Number(spills[2]) + Number(spills[3]);
    }
    const used = line.match(/Used (\d+) registers(?:.*?(\d+) bytes smem)?/);
    if (used && current) {
      rows.push({ ...current, registers: Number(used[1]), sharedBytes: Number(used[2] ?? 0) });
      current = undefined;
    }
  }
  return rows;
}

async function main() {
  const { values } = parseArgs({
    options: {
      board: { type: "string" },
      out: { type: "string" },
      report: { type: "string" },
      // Another file in place of plugin.cu: the plugin that fails, for test/gpu/faults.mjs.
      plugin: { type: "string", default: PLUGIN },
    },
  });
  const nvcc = process.env.NVCC ?? "nvcc";
  const version = output(nvcc, ["--version"])?.match(/release (\S+),/)?.[1];
  if (version === undefined) {
    console.error("nvcc is not there: the CUDA plugin is not built, the CPU computes the same bits");
    return;
  }
  const toolkit = [...(output(nvcc, ["--list-gpu-arch"]) ?? "").matchAll(/compute_(\d+)/g)].map((m) => m[1]);
  const gpu = output("nvidia-smi", ["--query-gpu=compute_cap", "--format=csv,noheader"])?.split("\n")[0];
  const architectures = chooseArchitectures({
    asked: process.env.DEPTHWATT_CUDA_ARCHS,
    board: values.board === undefined ? undefined : boardArchitectures(values.board),
    gpu: gpu?.replace(".", "").trim(),
    toolkit,
  });
  const unknown = architectures.filter((one) => !toolkit.includes(one));
  if (architectures.length === 0 || unknown.length > 0) {
    fail(
      `CUDA ${version} compiles for ${toolkit.join(", ")}, not for ${unknown.join(", ") || "any board of ours"}`,
      "set DEPTHWATT_CUDA_ARCHS, or take another toolkit",
    );
  }

  const started = performance.now();
  const prebuilds = join(root, "prebuilds", `linux-${process.arch}`);
  const compiled = existsSync(join(root, "build/Release/depthwatt.node")) || !existsSync(prebuilds);
  const library = resolve(
    values.out ?? join(compiled ? join(root, "build/Release") : prebuilds, "libdepthwatt_cuda.so"),
  );
  const folder = join(root, "build/cuda", `${version}-${architectures.join("-")}`);
  mkdirSync(folder, { recursive: true });
  mkdirSync(dirname(library), { recursive: true });
  const newest = architectures.at(-1);
  const targets = architectures.flatMap((one) => ["-gencode", `arch=compute_${one},code=sm_${one}`]);
  const flags = ["-std=c++14", "-O3", "--fmad=false", "-Xptxas=-v", "-Xcompiler=-fPIC,-fvisibility=hidden"];
  flags.push(`-DDEPTHWATT_CUDA_ARCHS="${architectures.join(", ")}"`, ...targets);
  flags.push("-gencode", `arch=compute_${newest},code=compute_${newest}`);
  const more = (process.env.NVCCFLAGS ?? "").split(" ").filter((flag) => flag !== "");
  flags.push(...more);

  const run = promisify(execFile);
  const objects = [];
  let log = "";
  const sources = KERNELS.map((source) => (source === PLUGIN ? values.plugin : source));
  const jobs = [...sources, ...HOST_SOURCES].map((source) => async () => {
    const object = join(folder, `${basename(source)}.o`);
    objects.push(object);
    const command = source.endsWith(".cu")
      ? [nvcc, ...flags]
      : [process.env.CXX ?? "g++", "-std=c++17", "-O2", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden"];
    const { stderr } = await run(command[0], [...command.slice(1), "-c", join(root, source), "-o", object], {
      maxBuffer: 1 << 28,
    });
    log += stderr;
  });
  const worker = async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await job();
  };
  try {
    await Promise.all(Array.from({ length: availableParallelism() }, worker));
    await run(nvcc, ["-shared", ...more, ...targets, "-o", library, ...objects]);
  } catch (error) {
    process.stderr.write(`${error.stdout ?? ""}${error.stderr ?? error}\n`);
    fail("the CUDA plugin did not build", "the compiler's first error above names the file");
  }
  // The doctor compares it with the program and the board.
  const { version: program } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const facts = { version: program, nvcc: version, architectures };
  writeFileSync(library.replace(/\.so$/, ".json"), `${JSON.stringify(facts)}\n`);
  const resources = readResources(log);
  if (values.report !== undefined) {
    writeFileSync(values.report, `${JSON.stringify({ nvcc: version, architectures, kernels: resources })}\n`);
  }
  const spilling = resources.filter((row) => row.spillBytes > 0);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.error(
    `CUDA plugin for ${architectures.map((one) => `sm_${one}`).join(", ")} built with nvcc ${version} in ${seconds} s; ` +
      `${resources.length} kernels, ${spilling.length} with spills`,
  );
  if (spilling.length > 0) {
    for (const row of spilling)
      console.error(`  sm_${row.architecture} ${row.kernel}: ${row.spillBytes} bytes`);
    fail(
      "kernels spill registers",
      "a kernel that spills is slower than it looks: give it fewer cells a lane",
    );
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
