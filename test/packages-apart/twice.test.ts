// SPDX-License-Identifier: Apache-2.0
// Tests of packages that take too long for each merge: every architecture compiled and packed twice with the same bytes, and arm64's
// package lived with in a clean Debian 11 whose programs all run under emulation.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cachedDebian } from "../../packaging/debian-compilers.mjs";
import { needs } from "../doubles/needs.js";
import { buildElsewhere, buildPackages, layOut, sha256, VERSION } from "../packages/build.js";
import { type Architecture, type Life, lifeTests, live } from "../packages/life.js";
import { cachedCleanRoot } from "../setup/clean-roots.mjs";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-packages-apart-"));
afterAll(() => rmSync(folder, { recursive: true }));

const LIMIT_MS = 3_600_000;
const deb = (build: string, architecture: string) =>
  join(folder, build, `depthwatt_${VERSION}-1_${architecture}.deb`);

/** The first build of each, which two suites use. */
const builds = new Map<Architecture, Promise<string>>();
function firstBuild(architecture: Architecture): Promise<string> {
  const build = builds.get(architecture) ?? buildPackages(join(folder, "first"), ["--arch", architecture]);
  builds.set(architecture, build);
  return build;
}

const compilers = cachedDebian("bullseye");
const usable = compilers !== undefined && process.getuid?.() === 0;
const TITLE =
  "Debian packages, twice (as root; 'npm run test:setup -- --long' fetches Debian 11's compilers)";

needs("binutils", "aarch64", "debootstrap").suite(TITLE, () => {
  describe.skipIf(!usable).each(["amd64", "arm64"] satisfies Architecture[])("%s", (architecture) => {
    test(
      "two builds, the second with another clock's zone, language, mask and folder, have the same bytes",
      async () => {
        await firstBuild(architecture);
        await buildElsewhere(join(folder, "second"), ["--arch", architecture]);
        const hashes = ["first", "second"].map((build) => sha256(deb(build, architecture)));
        console.log(`${architecture}: ${hashes.join(" ")}`);
        expect(hashes[1]).toBe(hashes[0]);
      },
      LIMIT_MS,
    );
  });

  const root = cachedCleanRoot("arm64");
  const lived = "arm64's package under emulation ('node test/setup/clean-roots.mjs arm64' fetches its root)";
  describe.skipIf(!usable || root === undefined)(lived, () => {
    let life: Life;
    beforeAll(async () => {
      const packages = join(folder, "lived");
      await firstBuild("arm64");
      await layOut("arm64", { deb: deb("first", "arm64"), compilers: compilers!, folder: packages });
      life = await live("arm64", root!, packages);
    }, LIMIT_MS);

    lifeTests("arm64", () => life);
  });
});
