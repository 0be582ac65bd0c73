// SPDX-License-Identifier: Apache-2.0
// docs/start/service.md, followed line by line in a virtual machine whose init is systemd, from Debian packages to their purge.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { cachedDebian } from "../../packaging/debian-compilers.mjs";
import { caseNamesIn, machineTests } from "../capture-vm/machine-suite.js";
import { needs } from "../doubles/needs.js";
import { buildPackages, makeNewer, makeStandInPackage, project, VERSION } from "../packages/build.js";
import { runSystemdMachine } from "../systemd-vm/machine.js";

const LIMIT_SECONDS = 1500;
const folder = mkdtempSync(join(tmpdir(), "depthwatt-service-page-"));
afterAll(() => rmSync(folder, { recursive: true }));

const cases = new URL("../systemd-vm/guest/page-cases.mjs", import.meta.url);
const SETTINGS = /const SETTINGS = `([^`]+)`/.exec(readFileSync(cases, "utf8"))![1]!;

const compilers = cachedDebian("bullseye");
const usable = compilers !== undefined && process.getuid?.() === 0;
const TITLE = "the service's page (as root; 'npm run test:setup -- --long' fetches Debian 11's compilers)";

/** @returns names below the machine's /opt and their files */
async function layOut(): Promise<Record<string, string>> {
  await buildPackages(join(folder, "built"), ["--arch", "amd64"]);
  const name = `depthwatt_${VERSION}-1_amd64.deb`;
  const cudaName = `depthwatt-cuda-jetpack6_${VERSION}-1_amd64.deb`;
  const files = join(folder, "files");
  mkdirSync(files);
  // Not compressed: the emulated machine would take half a minute for it.
  makeNewer(join(folder, "built", name), join(files, name), VERSION);
  makeNewer(join(folder, "built", name), join(files, "newer.deb"));
  await makeStandInPackage("amd64", compilers!, join(files, cudaName));
  copyFileSync(join(project, "docs/start/service.md"), join(files, "service.md"));
  writeFileSync(join(files, "settings.yaml"), SETTINGS);
  const names = [name, "newer.deb", cudaName, "service.md", "settings.yaml"];
  return Object.fromEntries(names.map((one) => [one, join(files, one)]));
}

needs("vm", "systemdVm", "binutils").suite(TITLE, () => {
  describe.skipIf(!usable)("followed", () => {
    machineTests({
      names: caseNamesIn(cases),
      limitSeconds: LIMIT_SECONDS + 600,
      run: async (onReport) =>
        runSystemdMachine({
          name: "service-page",
          files: await layOut(),
          words: ["alone=page"],
          limitSeconds: LIMIT_SECONDS,
          onReport,
        }),
    });
  });
});
