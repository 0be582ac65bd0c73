// SPDX-License-Identifier: Apache-2.0
// Builds the GPU check's twins, and the plugin itself, for the CPU: their own sources over the stand-in for CUDA in
// native/warp/.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { HOST_SOURCES, KERNELS } from "../../scripts/build-cuda.mjs";

const root = new URL("../../", import.meta.url).pathname;
const STAND_IN = join(root, "test/doubles/native/warp");
const PROGRAM = "cuda/check/twins_main.cu";
const STAGE_KERNELS = KERNELS.filter((path) => !path.startsWith("cuda/gpu/") && !path.endsWith(".stage.cu"));
const REFERENCES = (readdirSync(join(root, "cuda"), { recursive: true }) as string[])
  .filter((name) => name.endsWith(".ref.cc"))
  .map((name) => `cuda/${name}`);

/** Replaces CUDA syntax that C++ does not have: a launch, and shared memory whose size is given at the launch. */
export function withoutCudaSyntax(text: string): string {
  return text
    .replace(/^(\s*)([^\n;{}/]+?)<<<(.+?)>>>\(/gm, "$1::warp::launcher($3, $2)(")
    .replace(
      /extern __shared__ (?:__align__\(16\) )?(\w+) (\w+)\[\];/g,
      "$1* const $2 = reinterpret_cast<$1*>(::warp::dynamicShared());",
    );
}

function copySources(folder: string): void {
  for (const top of ["core", "cuda"]) {
    for (const name of readdirSync(join(root, top), { recursive: true }) as string[]) {
      if (!/\.(cuh?|h|cc)$/.test(name)) continue;
      const to = join(folder, top, name);
      mkdirSync(dirname(to), { recursive: true });
      if (/\.cuh?$/.test(name))
        writeFileSync(to, withoutCudaSyntax(readFileSync(join(root, top, name), "utf8")));
      else cpSync(join(root, top, name), to);
    }
  }
}

/** Every source compiled, two at a time. Gives the objects. */
async function compiled(
  folder: string,
  sources: readonly string[],
  flags: readonly string[],
): Promise<string[]> {
  const run = promisify(execFile);
  const objects = sources.map((path) => join(folder, `${basename(path)}.o`));
  const jobs = sources.map((path, i) => async () => {
    await run("g++", [...flags, "-x", "c++", "-c", path, "-o", objects[i]!], { cwd: folder });
  });
  const worker = async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await job();
  };
  await Promise.all([worker(), worker()]);
  return objects;
}

const FLAGS = ["-std=c++17", "-O1", "-w", "-ffp-contract=off", `-I${STAND_IN}`];
const STAND_IN_SOURCES = ["warp.cc", "host_api.cc"].map((name) => join(STAND_IN, name));

/** `cell`: U16 or HALF2; `architecture`: what __CUDA_ARCH__ says. Gives the path of the program. */
export async function buildEmulatedTwins(
  folder: string,
  cell: string,
  architecture: number,
): Promise<string> {
  copySources(folder);
  const flags = [...FLAGS, `-D__CUDA_ARCH__=${architecture}`, `-DDEPTHWATT_CELL_${cell}`];
  const sources = [...STAGE_KERNELS, PROGRAM, ...REFERENCES].map((path) => join(folder, path));
  const objects = await compiled(folder, [...sources, ...STAND_IN_SOURCES], flags);
  const program = join(folder, "twins");
  await promisify(execFile)("g++", ["-o", program, ...objects]);
  return program;
}

/**
 * Returns the compiler's messages for another file in place of the plugin's plugin.cu, next to sources that were copied
 * before; "" if there are none.
 */
export async function compilePlugin(folder: string, source: string): Promise<string> {
  const copy = join(folder, source);
  mkdirSync(dirname(copy), { recursive: true });
  writeFileSync(copy, withoutCudaSyntax(readFileSync(join(root, source), "utf8")));
  const flags = [...FLAGS, "-D__CUDA_ARCH__=900", "-fsyntax-only", "-x", "c++", copy];
  return promisify(execFile)("g++", flags).then(
    ({ stderr }) => stderr,
    (error: { stderr: string }) => error.stderr,
  );
}

/** The whole plugin for the CPU: the addon opens it in place of libdepthwatt_cuda.so. Gives the library's path. */
export async function buildEmulatedPlugin(folder: string): Promise<string> {
  copySources(folder);
  const flags = [
    ...FLAGS,
    "-fPIC",
    "-fvisibility=hidden",
    "-D__CUDA_ARCH__=900",
    '-DDEPTHWATT_CUDA_ARCHS="the stand-in"',
  ];
  const sources = [...KERNELS, ...HOST_SOURCES].map((path) => join(folder, path));
  const objects = await compiled(folder, [...sources, ...STAND_IN_SOURCES], flags);
  const library = join(folder, "libdepthwatt_emulated.so");
  await promisify(execFile)("g++", [
    "-shared",
    "-Wl,-Bsymbolic",
    "-Wl,--no-undefined",
    "-o",
    library,
    ...objects,
  ]);
  return library;
}
