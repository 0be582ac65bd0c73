// SPDX-License-Identifier: Apache-2.0
// The package depthwatt-cuda-<sm>: the CUDA plugin alone, built where a toolkit is. A board has one of them.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { makeDeb } from "./deb.mjs";
import { elfMachine, symbolVersions } from "./elf.mjs";
import { ARCHITECTURES } from "./node-runtime.mjs";
import { gzip } from "./tree.mjs";

const PLUGIN = "usr/lib/depthwatt/build/Release/libdepthwatt_cuda.so";

/** Builds the plugin for one architecture of GPUs with this machine's nvcc. */
function buildPlugin(project, sm, out) {
  const environment = { ...process.env, DEPTHWATT_CUDA_ARCHS: sm };
  execFileSync(process.execPath, [join(project, "scripts/build-cuda.mjs"), "--out", out], {
    stdio: "inherit",
    env: environment,
  });
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
 * @param options.sm such as "87"
 * @param options.plugin a plugin that is built already; else nvcc builds it, for this machine's own architecture
 */
export function makeCudaPackage({
  project,
  sm,
  plugin,
  control,
  version,
  epochSeconds,
  compression,
  changelog,
  out,
}) {
  const tree = mkdtempSync(join(tmpdir(), "depthwatt-cuda-"));
  try {
    const target = join(tree, PLUGIN);
    mkdirSync(dirname(target), { recursive: true });
    if (plugin === undefined) buildPlugin(project, sm, target);
    else cpSync(plugin, target);
    const architecture = pluginArchitecture(target);
    // Debian wants no names in a library that nobody links with; what GPUs run stays.
    const foreign = architecture === "arm64" && process.arch !== "arm64" ? "aarch64-linux-gnu-" : "";
    execFileSync(`${foreign}strip`, ["--strip-unneeded", target]);
    const { GLIBC = "2.17" } = symbolVersions(target);
    const name = `depthwatt-cuda-${sm}`;
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
        Description: `stereo depth on the GPU, for depthwatt (sm_${sm})\n The CUDA plugin of depthwatt, for GPUs of compute capability ${sm.replace(/(\d)$/, ".$1")}.\n Without it depthwatt computes the same bits on the CPU. 'depthwatt boards'\n says which board has which. The driver comes with the board or the card.`,
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
