// SPDX-License-Identifier: Apache-2.0
// Builds the GPU check's twins, and the plugin itself, for the CPU: their own sources over the stand-in for CUDA in
// native/warp/.
import { execFile } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { locked } from "../../camera/v4l2/build.mjs";
import { HOST_SOURCES, KERNELS } from "../../scripts/build-cuda.mjs";
import { buildProgram, writeIfChanged } from "./incremental-build.js";

const root = new URL("../../", import.meta.url).pathname;
const STAND_IN = join(root, "test/doubles/native/warp");
const PROGRAM = "cuda/check/twins_main.cu";
const BASELINES = readdirSync(join(root, "cuda/check/baselines"))
  .filter((name) => name.endsWith(".cu"))
  .map((name) => `cuda/check/baselines/${name}`);
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

/** Copies, objects, programs and the library are kept here, so that a change compiles only what it changes. */
const KEPT = join(root, "build/emulated");
const COPIES = join(KEPT, "sources");
/** Most kernels are the same in every program: few depend on the architecture or the cell. */
const SHARED = join(KEPT, "objects");

/** Copies the sources, without CUDA syntax, and writes only what has changed. */
function copySources(): Promise<void> {
  return locked(COPIES, () => {
    for (const top of ["core", "cuda"]) {
      const wanted = new Set<string>();
      for (const name of readdirSync(join(root, top), { recursive: true }) as string[]) {
        if (!/\.(cuh?|h|cc)$/.test(name)) continue;
        const text = readFileSync(join(root, top, name), "utf8");
        const to = join(COPIES, top, name);
        writeIfChanged(to, /\.cuh?$/.test(name) ? withoutCudaSyntax(text) : text);
        wanted.add(to);
      }
      for (const name of readdirSync(join(COPIES, top), { recursive: true }) as string[]) {
        const path = join(COPIES, top, name);
        if (/\.(cuh?|h|cc)$/.test(name) && !wanted.has(path)) rmSync(path);
      }
    }
  });
}

const FLAGS = [
  ...["-std=c++17", "-O1", "-w", "-ffp-contract=off", `-I${STAND_IN}`],
  // The plugin needs these two; its objects are the other programs' too.
  ...["-fPIC", "-fvisibility=hidden"],
];
const STAND_IN_SOURCES = ["warp.cc", "host_api.cc"].map((name) => join(STAND_IN, name));

/** `cell`: U16 or HALF2; `architecture`: what __CUDA_ARCH__ says. Returns the path of the program. */
export async function buildEmulatedTwins(cell: string, architecture: number): Promise<string> {
  await copySources();
  const flags = [...FLAGS, `-D__CUDA_ARCH__=${architecture}`, `-DDEPTHWATT_CELL_${cell}`];
  const sources = [...STAGE_KERNELS, ...BASELINES, PROGRAM, ...REFERENCES].map((path) => join(COPIES, path));
  const program = join(KEPT, `${cell}-${architecture}`, "twins");
  await buildProgram(program, [...sources, ...STAND_IN_SOURCES], flags, { shared: SHARED });
  return program;
}

/** Returns the compiler's messages for another file in place of the plugin's plugin.cu; "" if there are none. */
export async function compilePlugin(source: string): Promise<string> {
  await copySources();
  const copy = join(COPIES, source);
  writeIfChanged(copy, withoutCudaSyntax(readFileSync(join(root, source), "utf8")));
  const flags = [...FLAGS, "-D__CUDA_ARCH__=900", "-fsyntax-only", "-x", "c++", copy];
  return promisify(execFile)("g++", flags).then(
    ({ stderr }) => stderr,
    (error: { stderr: string }) => error.stderr,
  );
}

const PLUGIN_FLAGS = [...FLAGS, "-D__CUDA_ARCH__=900", '-DDEPTHWATT_CUDA_ARCHS="the stand-in"'];
const STAGES_ON_CUDA = "test/doubles/native/stages_on_cuda.cu";

/** This machine's addon, in which the reference of each stage is its kernel over the stand-in. Returns the addon's path. */
export async function buildStagesOnCuda(): Promise<string> {
  await copySources();
  const copy = join(COPIES, STAGES_ON_CUDA);
  writeIfChanged(copy, withoutCudaSyntax(readFileSync(join(root, STAGES_ON_CUDA), "utf8")));
  const built = join(root, "build/Release/obj.target/depthwatt");
  const objects = (readdirSync(built, { recursive: true }) as string[])
    .filter((name) => name.endsWith(".o"))
    .map((name) => join(built, name));
  const kernels = STAGE_KERNELS.map((path) => join(COPIES, path));
  // The first of two definitions counts: the kernels' are before the addon's references.
  const linkFlags = ["-shared", "-Wl,-z,muldefs", "-pthread", "-ldl"];
  const addon = join(KEPT, "stages", "stages_on_cuda.node");
  await buildProgram(addon, [copy, ...kernels, ...STAND_IN_SOURCES], PLUGIN_FLAGS, {
    linkFlags,
    moreObjects: objects,
    shared: SHARED,
  });
  return addon;
}

/** The whole plugin for the CPU: the addon opens it in place of libdepthwatt_cuda.so. Returns the library's path. */
export async function buildEmulatedPlugin(): Promise<string> {
  await copySources();
  const sources = [...KERNELS, ...HOST_SOURCES].map((path) => join(COPIES, path));
  const library = join(KEPT, "plugin", "libdepthwatt_emulated.so");
  const linkFlags = ["-shared", "-Wl,-Bsymbolic", "-Wl,--no-undefined"];
  await buildProgram(library, [...sources, ...STAND_IN_SOURCES], PLUGIN_FLAGS, {
    linkFlags,
    shared: SHARED,
  });
  return library;
}
