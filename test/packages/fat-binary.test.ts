// SPDX-License-Identifier: Apache-2.0
// The plugin's package of a JetPack family is one fat binary: built by nvcc, unpacked, and listed with cuobjdump. The plugin has
// one stage only, because all kernels would take minutes. NVCC and CUOBJDUMP choose the toolkit.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { JETPACK_FAMILIES } from "../../edge/boards/index.js";

interface Packaging {
  cudaTarget(project: string, name: string): Promise<{ name: string; architectures: readonly string[] }>;
  findCuobjdump(): string | undefined;
  makeCudaPackage(options: object): { file: string };
  readArchitectures(text: string): string[];
}
const script = pathToFileURL("packaging/cuda.mjs").href;
const { cudaTarget, findCuobjdump, makeCudaPackage, readArchitectures } = (await import(script)) as Packaging;

const folder = mkdtempSync(join(tmpdir(), "depthwatt-fat-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The program without its kernels, but for one stage: the backend finds out at run time which stages it has. */
function makeSmallProject(): string {
  const project = join(folder, "project");
  const isSmall = (path: string) =>
    !path.endsWith(".cu") || /cuda\/(gpu|refine\/median)\//.test(path.replace(`${process.cwd()}/`, ""));
  for (const path of ["core", "cuda"])
    cpSync(path, join(project, path), { recursive: true, filter: isSmall });
  mkdirSync(join(project, "scripts"));
  for (const path of ["package.json", "scripts/build-cuda.mjs", "packaging/debian"])
    cpSync(path, join(project, path), { recursive: true });
  return project;
}

test("the list of cuobjdump names each architecture once", () => {
  const text = [1, 2, 3].map((n) => `ELF file    ${n}: x.${n}.sm_${n < 3 ? 87 : 110}.cubin`).join("\n");
  expect(readArchitectures(text)).toEqual(["87", "110"]);
  expect(readArchitectures("cuobjdump info    : File does not contain device code")).toEqual([]);
});

const nvcc = process.env.NVCC ?? "nvcc";
const major = /release (\d+)\./.exec(spawnSync(nvcc, ["--version"], { encoding: "utf8" }).stdout ?? "")?.[1];
const family = Object.entries(JETPACK_FAMILIES).find(([, { cuda }]) => String(cuda) === major)?.[0];
const cuobjdump = findCuobjdump();
const missing =
  family === undefined ? "no nvcc of a JetPack" : cuobjdump === undefined ? "no cuobjdump" : undefined;

describe("the plugin's package", () => {
  const title = missing === undefined ? `has code for every board of ${family}` : `skipped: ${missing}`;
  test.skipIf(missing !== undefined)(
    title,
    async () => {
      const project = makeSmallProject();
      const target = await cudaTarget(process.cwd(), family!);
      const facts = {
        control: { Maintainer: "a test <t@example.org>" },
        version: "1-1",
        programVersion: "1",
      };
      const more = { epochSeconds: 1, compression: 1, changelog: () => "none", out: folder };
      const { file } = makeCudaPackage({ project, target, plugin: undefined, ...facts, ...more });
      const tree = join(folder, family!);
      execFileSync("dpkg-deb", ["-x", file, tree]);
      const plugin = join(tree, "usr/lib/depthwatt/build/Release/libdepthwatt_cuda.so");
      const list = execFileSync(cuobjdump!, ["--list-elf", plugin], { encoding: "utf8" });
      const { architectures } = JETPACK_FAMILIES[family!]!;
      expect(readArchitectures(list).sort()).toEqual([...architectures].sort());
      // A later board of the family compiles the newest architecture's PTX.
      const ptx = execFileSync(cuobjdump!, ["--list-ptx", plugin], { encoding: "utf8" });
      expect(ptx).toContain(`sm_${architectures.at(-1)}`);
      const described = JSON.parse(readFileSync(plugin.replace(/\.so$/, ".json"), "utf8"));
      expect(described.architectures).toEqual(architectures);
      // A package whose code is for other boards is not made.
      const other = { ...target, architectures: ["53", ...architectures] };
      writeFileSync(
        join(project, "scripts/build-cuda.mjs"),
        `import { cpSync } from "node:fs";\ncpSync(${JSON.stringify(plugin)}, process.argv[3]);\n`,
      );
      expect(() => makeCudaPackage({ project, target: other, plugin: undefined, ...facts, ...more })).toThrow(
        /expected code for sm_/,
      );
    },
    300_000,
  );
});
