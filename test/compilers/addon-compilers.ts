// SPDX-License-Identifier: Apache-2.0
// Compiles the sources of both addons with compilers of older and newer Debian releases, each in its own root folder: with the
// project's flags, but without optimisation, which takes nine tenths of the time.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { addonSources } from "v4l2-camera/build.mjs";
import { describe, expect, test } from "vitest";
import { addonFlags, copySources } from "../../packaging/addons.mjs";
import { cachedDebian, DEBIANS } from "../../packaging/debian-compilers.mjs";
import { nativeSources } from "../../scripts/native-sources.mjs";

const project = resolve(import.meta.dirname, "../..");
/** Flags of binding.gyp for this compiler, without optimisation. */
function flags(compiler: string): string[] {
  const own = addonFlags(project, { name: "depthwatt", compiler, x64: !compiler.startsWith("aarch64") });
  expect(own).toContain("-std=c++17");
  expect(own.includes("-fno-tree-pre")).toBe(!compiler.includes("clang"));
  return [...own, "-O0", "-w", "-I.", "-I../node", "-isystem", "../node-addon-api"];
}

/** Where node's headers lie on this machine: what the addon here was built with. */
function nodeHeaders(): string {
  const config = readFileSync(join(project, "build/config.gypi"), "utf8");
  return join(/"nodedir": "([^"]+)"/.exec(config)![1]!, "include/node");
}

/** Every source with one compiler, two at a time. Gives what the compiler said. */
function compile(root: string, folder: string, compiler: string, sources: readonly string[]): string {
  mkdirSync(join(root, folder, compiler));
  writeFileSync(join(root, folder, "sources"), sources.join("\n"));
  const one = `${compiler} ${flags(compiler).join(" ")} -c "$1" -o ../${compiler}/$$.o`;
  const words = ["-c", `cd ${folder}/source && xargs -P 2 -n 1 sh -c '${one}' compile < ../sources`];
  const ran = spawnSync("chroot", [root, "/bin/sh", ...words], {
    encoding: "utf8",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
  });
  return ran.status === 0 ? "" : `${ran.error ?? ""}${ran.stdout}${ran.stderr}`.slice(0, 4000);
}

/** The oldest and the newest of each family, and the compiler of the packages for arm64. */
export const isAtAnEnd = (compiler: string): boolean =>
  ["g++-9", "g++-14", "clang++-14", "clang++-19", "aarch64-linux-gnu-g++-10"].includes(compiler);

/** Declares a test for each compiler that `chosen` accepts. */
export function testCompilers(chosen: (compiler: string) => boolean): void {
  for (const [suite, { compilers }] of Object.entries(DEBIANS)) {
    const root = cachedDebian(suite);
    const usable = root !== undefined && process.getuid?.() === 0;
    describe.skipIf(!usable && process.env.CI !== "true")(
      `Debian ${suite} (root alone can enter it; 'npm run test:setup -- --long' fetches it)`,
      () => {
        test.each(compilers.filter(chosen))(
          "%s takes every source of the addons",
          { timeout: 600_000 },
          (compiler) => {
            if (!usable)
              expect.fail(`with CI=true this suite must run, but Debian ${suite} has not been fetched`);
            const cameras = ["native/addon.cc", ...addonSources()].map((path) => `camera/v4l2/${path}`);
            const sources = [...nativeSources(project), ...cameras];
            expect(sources.length).toBeGreaterThan(20);
            expect(sources.every((path) => existsSync(join(project, path)))).toBe(true);
            const folder = copySources(project, root, nodeHeaders());
            try {
              expect(compile(root, folder, compiler, sources)).toBe("");
            } finally {
              rmSync(join(root, folder), { recursive: true, force: true });
            }
          },
        );
      },
    );
  }
}
