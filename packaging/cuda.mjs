// SPDX-License-Identifier: Apache-2.0
// The packages depthwatt-cuda-<family> and depthwatt-cuda-<sm>: the CUDA plugin alone, built where a toolkit is. One plugin serves all
// boards of a JetPack family. A board has one of these packages.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { makeDeb } from "./deb.mjs";
import { elfMachine, symbolVersions } from "./elf.mjs";
import { ARCHITECTURES } from "./node-runtime.mjs";
import { gzip } from "./tree.mjs";

const PLUGIN = "usr/lib/depthwatt/build/Release/libdepthwatt_cuda.so";

/** Returns what a package is for: a family of JetPack, or one architecture of cards, such as 90. */
export async function cudaTarget(project, name) {
  const { JETPACK_FAMILIES } = await import(pathToFileURL(join(project, "dist/edge/boards/l4t.js")).href);
  const family = JETPACK_FAMILIES[name];
  if (family !== undefined) return { name, cuda: family.cuda, architectures: family.architectures };
  if (/^\d{2,3}$/.test(name)) return { name, cuda: undefined, architectures: [name] };
  const families = Object.keys(JETPACK_FAMILIES).join(", ");
  throw new Error(`--cuda: expected ${families} or an architecture such as 90, got ${JSON.stringify(name)}`);
}

/** @throws Error if this machine's nvcc is not of the family's CUDA: its programs would need a newer driver, or lack boards */
function checkToolkit({ name, cuda }) {
  if (cuda === undefined) return;
  const text = execFileSync(process.env.NVCC ?? "nvcc", ["--version"], { encoding: "utf8" });
  const found = /release (\d+)\./.exec(text)?.[1];
  if (Number(found) !== cuda)
    throw new Error(`--cuda ${name}: expected nvcc of CUDA ${cuda}, got ${found}; set NVCC to another one`);
}

/** Builds the plugin with this machine's nvcc, with code for every architecture of the target. */
function buildPlugin(project, target, out) {
  checkToolkit(target);
  const environment = { ...process.env, DEPTHWATT_CUDA_ARCHS: target.architectures.join(",") };
  execFileSync(process.execPath, [join(project, "scripts/build-cuda.mjs"), "--out", out], {
    stdio: "inherit",
    env: environment,
  });
}

/** The architectures of a library's GPU code, out of what `cuobjdump --list-elf` prints. */
export function readArchitectures(text) {
  return [...new Set([...text.matchAll(/\.sm_(\d+)[a-z]?\./g)].map((match) => match[1]))];
}

/** CUOBJDUMP, else the one next to nvcc, else that of the path: an older one cannot read a newer toolkit's code. */
export function findCuobjdump() {
  const { CUOBJDUMP, NVCC } = process.env;
  const candidates = [CUOBJDUMP, NVCC && join(dirname(NVCC), "cuobjdump"), "cuobjdump"];
  return candidates.find((program) => program && spawnSync(program, ["--version"]).status === 0);
}

/** @throws Error if the fat binary lacks code for an architecture of its package, or has code for another one */
export function checkArchitectures(library, target) {
  const cuobjdump = findCuobjdump();
  if (cuobjdump === undefined) {
    console.error("cuobjdump is not there: the plugin's architectures are not read back");
    return;
  }
  const found = readArchitectures(execFileSync(cuobjdump, ["--list-elf", library], { encoding: "utf8" }));
  const wanted = [...target.architectures];
  if (found.sort().join() !== wanted.sort().join())
    throw new Error(
      `--cuda ${target.name}: expected code for sm_${wanted.join(", sm_")}, got ${found.join(", ") || "none"}`,
    );
}

/** The architecture of Debian whose machine a plugin is for. */
function pluginArchitecture(plugin) {
  const machine = elfMachine(plugin);
  const found = Object.entries(ARCHITECTURES).find(([, one]) => one.machine === machine);
  if (found === undefined)
    throw new Error(`${plugin}: expected a library for x86-64 or AArch64, got ${machine ?? "none"}`);
  return found[0];
}

/**
 * @param options.target of cudaTarget()
 * @param options.plugin a plugin that is built already; else nvcc builds it, for this machine's own architecture
 */
export function makeCudaPackage({
  project,
  target,
  plugin,
  control,
  version,
  programVersion,
  epochSeconds,
  compression,
  changelog,
  out,
}) {
  const tree = mkdtempSync(join(tmpdir(), "depthwatt-cuda-"));
  try {
    const library = join(tree, PLUGIN);
    mkdirSync(dirname(library), { recursive: true });
    if (plugin === undefined) {
      buildPlugin(project, target, library);
      checkArchitectures(library, target);
    } else {
      cpSync(plugin, library);
      // The doctor compares it with the program and the board.
      const facts = { version: programVersion, nvcc: null, architectures: target.architectures };
      writeFileSync(library.replace(/\.so$/, ".json"), `${JSON.stringify(facts)}\n`);
    }
    const architecture = pluginArchitecture(library);
    // Debian strips symbols from a library that no program links with; the GPU code stays.
    const foreign = architecture === "arm64" && process.arch !== "arm64" ? "aarch64-linux-gnu-" : "";
    execFileSync(`${foreign}strip`, ["--strip-unneeded", library]);
    const { GLIBC = "2.17" } = symbolVersions(library);
    const name = `depthwatt-cuda-${target.name}`;
    const capabilities = target.architectures.map((sm) => sm.replace(/(\d)$/, ".$1")).join(", ");
    const doc = join(tree, "usr/share/doc", name);
    mkdirSync(doc, { recursive: true });
    writeFileSync(join(doc, "changelog.Debian.gz"), gzip(changelog(name)));
    writeFileSync(join(doc, "copyright"), readFileSync(join(project, "packaging/debian/copyright.cuda")));
    const file = makeDeb({
      tree,
      control: {
        Package: name,
        Version: version,
        Architecture: architecture,
        ...control,
        Depends: `depthwatt (= ${version}), libc6 (>= ${GLIBC}), libstdc++6 (>= 8), libgcc-s1`,
        Provides: "depthwatt-cuda",
        Conflicts: "depthwatt-cuda",
        Replaces: "depthwatt-cuda",
        Description: `stereo depth on the GPU, for depthwatt (${target.name})\n The CUDA plugin of depthwatt, for GPUs of compute capability\n ${capabilities}.\n Without it depthwatt computes the same bits on the CPU. 'depthwatt boards'\n says which board has which. The driver comes with the board or the card.`,
      },
      isProgram: () => false,
      epochSeconds,
      compression,
      out,
    });
    return { file, glibc: GLIBC };
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}
