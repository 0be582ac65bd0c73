// SPDX-License-Identifier: Apache-2.0
// The tarballs for npm: what they hold, what publint and attw find, and an installation in a clean Debian 11 that has no compiler and
// no network.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { elfMachine } from "../../packaging/elf.mjs";
import { fetchNode } from "../../packaging/node-runtime.mjs";
import { run, sha256, VERSION } from "./build.js";
import { ARCHITECTURES } from "./life.js";

const NAMES = ["depthwatt", "v4l2-camera", "depthwatt-consumer"];
const tarball = (name: string) => `${name}-${VERSION}.tgz`;
/** Debian's architecture -> npm's. */
const PLACES = { amd64: "linux-x64", arm64: "linux-arm64" };
/** The linters of published packages: package, and its command for a tarball. Every entry is a module; build.mjs is a program. */
const LINTERS: readonly (readonly [string, (file: string) => string[]])[] = [
  ["publint@0.3.25", (file) => ["publint", "run", file, "--strict"]],
  [
    "@arethetypeswrong/cli@0.18.5",
    (file) => ["attw", file, "--profile", "esm-only", "--exclude-entrypoints", "build.mjs"],
  ],
];

const COMMANDS = `set -e
mkdir -p /usr/local/bin /usr/local/lib/node_modules /tmp/empty
cp /debs/node /usr/local/bin/node
ln -s /debs/npm /usr/local/lib/node_modules/npm
ln -s /debs/npm/bin/npm-cli.js /usr/local/bin/npm
! command -v g++ cc make python3
cd /tmp/empty
start=$(date +%s%N)
npm install --offline --cache /debs/cache --no-audit --no-fund --foreground-scripts /debs/depthwatt.tgz
echo "@@seconds $((($(date +%s%N) - start) / 1000000000))"
npm install --offline --cache /debs/cache --no-audit --no-fund --dangerously-allow-all-scripts --foreground-scripts /debs/v4l2-camera.tgz
ls -d node_modules/depthwatt/build node_modules/v4l2-camera/build || true
node_modules/.bin/depthwatt run --source synthetic --broker none --frames 2 --json
node -e 'import("v4l2-camera").then(({ open }) => open("/dev/null")).catch(({ code }) => console.log(code))'
rm -r node_modules/depthwatt/prebuilds
node node_modules/depthwatt/scripts/build-native.mjs || echo "@@ended with $?"
`;

/**
 * Registers the tests; call it in a suite as root.
 * @param folder the tests' own, with `addons` of both architectures once packages were built
 * @param root a clean Debian 11
 */
export function tarballTests(folder: string, root: string, limitMs: number): void {
  describe("the tarballs for npm", () => {
    const out = join(folder, "npm");
    const unpacked = (name: string) => join(out, name, "package");

    beforeAll(async () => {
      const words = ["packaging/npm.mjs", "--addons", join(folder, "addons"), "--out", out];
      const { status, said } = await run(process.execPath, words);
      if (status !== 0) throw new Error(`packaging/npm.mjs ended with ${status}: ${said}`);
      for (const name of NAMES) {
        mkdirSync(join(out, name));
        execFileSync("tar", ["-xzf", join(out, tarball(name)), "-C", join(out, name)]);
      }
    }, limitMs);

    test.each(Object.entries(PLACES))("%s: both addons are prebuilt", (architecture, place) => {
      for (const path of [
        join(unpacked("depthwatt"), "prebuilds", place, "depthwatt.node"),
        join(unpacked("depthwatt"), "node_modules/v4l2-camera/prebuilds", place, "v4l2_camera.node"),
        join(unpacked("v4l2-camera"), "prebuilds", place, "v4l2_camera.node"),
      ])
        expect(elfMachine(path)).toBe(ARCHITECTURES[architecture as keyof typeof ARCHITECTURES]);
    });

    test.each(NAMES)("%s holds no file twice", (name) => {
      const files = readdirSync(unpacked(name), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name !== "LICENSE")
        .map((entry) => join(entry.parentPath, entry.name));
      const first = new Map<string, string>();
      const twice = files.filter((file) => {
        const hash = sha256(file);
        if (first.has(hash)) return true;
        first.set(hash, file);
        return false;
      });
      expect(twice).toEqual([]);
    });

    test.each(NAMES)("%s: publint and attw find nothing", { timeout: limitMs }, async (name) => {
      for (const [version, command] of LINTERS) {
        const words = ["exec", "--yes", `--package=${version}`, "--", ...command(join(out, tarball(name)))];
        const { status, said } = await run("npm", words);
        expect(status, said).toBe(0);
      }
    });

    test("install without a compiler and run; without the prebuilt addon the error names make", {
      timeout: limitMs,
    }, async () => {
      const clean = join(folder, "npm-clean");
      const filled = join(folder, "npm-filled");
      for (const path of [clean, filled]) mkdirSync(path);
      for (const name of NAMES) cpSync(join(out, tarball(name)), join(clean, `${name}.tgz`));
      // Dependencies come from a cache that an installation on this machine fills.
      const install = ["install", "--prefix", filled, "--cache", join(clean, "cache"), "--ignore-scripts"];
      const { status, said: filling } = await run("npm", [
        ...install,
        ...NAMES.map((name) => join(clean, `${name}.tgz`)),
      ]);
      expect(status, filling).toBe(0);
      rmSync(filled, { recursive: true });
      cpSync(join(fetchNode("amd64"), "bin/node"), join(clean, "node"));
      const npm = join(realpathSync(execFileSync("which", ["npm"], { encoding: "utf8" }).trim()), "../..");
      cpSync(npm, join(clean, "npm"), { recursive: true, dereference: true });
      const commands = join(folder, "npm-commands");
      writeFileSync(commands, COMMANDS);
      const { said } = await run("packaging/in-a-clean-root.sh", [root, clean], { input: commands });
      const seconds = Number(/^@@seconds (\d+)$/m.exec(said)?.[1]);
      console.log(`npm install in a clean Debian 11, without network and compiler: ${seconds} s`);
      // It takes under 15 s; a busy machine needs longer.
      expect(seconds, said).toBeLessThan(30);
      expect(said).toContain("prebuilt v4l2_camera.node loads");
      expect(said).toContain("cannot access 'node_modules/depthwatt/build'");
      expect(said).toMatch(/"frames":2,.*"backend":"cpu"/);
      expect(said).toContain("\nDEVICE_UNSUITABLE\n");
      expect(said).toContain("the native addon of depthwatt is built from source, and make is not there");
      expect(said).toContain("@@ended with 1");
    });
  });
}
