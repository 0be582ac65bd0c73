// SPDX-License-Identifier: Apache-2.0
// `npm run test:setup`: installs the Debian packages that the tests use, from the list in test-packages.json.
// With `-- --long` it also fetches what the long suites need next to them: nvcc 11.8, three Debians' compilers, a disk with systemd, a clean Debian.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { DEBIANS, fetchDebian } from "../../packaging/debian-compilers.mjs";
import { ARCHITECTURES, fetchNode } from "../../packaging/node-runtime.mjs";
import { fetchCleanRoot } from "./clean-roots.mjs";
import { fetchNvcc118 } from "./nvcc-11.8.mjs";
import { fetchSystemdRoot } from "./systemd-root.mjs";

const needs = JSON.parse(readFileSync(new URL("./packages.json", import.meta.url), "utf8"));
const wanted = [...new Set(Object.values(needs).flatMap((need) => need.apt))];

function installed(name) {
  const query = spawnSync("dpkg", ["--status", name], { encoding: "utf8" });
  return query.status === 0 && query.stdout.includes("\nStatus: install ok installed\n");
}

if (spawnSync("dpkg", ["--version"]).status !== 0) {
  console.error(
    `error: test:setup knows Debian and Ubuntu only\nhint: install the like of: ${wanted.join(" ")}`,
  );
  process.exit(1);
}
/** Compilers, disks and roots of the long suites, 6 GB in a cache: their absence is a failure only where every suite must run. */
function fetchLong() {
  if (!process.argv.includes("--long")) return;
  const fetches = [
    () => `nvcc 11.8 is ${fetchNvcc118()}`,
    ...Object.keys(DEBIANS).map(
      (suite) => () => `the compilers of Debian ${suite} are in ${fetchDebian(suite)}`,
    ),
    () => `the disk of the systemd machine is ${fetchSystemdRoot()}`,
    () => `the clean root for packages is ${fetchCleanRoot("amd64")}`,
    ...Object.keys(ARCHITECTURES).map((one) => () => `the packages' Node for ${one} is ${fetchNode(one)}`),
  ];
  for (const fetch of fetches) {
    try {
      console.log(`test:setup: ${fetch()}`);
    } catch (error) {
      console.error(`${process.env.CI === "true" ? "error" : "note"}: ${error.message}`);
      if (process.env.CI === "true") process.exit(1);
    }
  }
}

const missing = wanted.filter((name) => !installed(name));
if (missing.length === 0) {
  console.log(`test:setup: all ${wanted.length} packages are installed`);
  fetchLong();
  process.exit(0);
}
const install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", ...missing];
if (process.getuid() !== 0) {
  console.error(`error: ${missing.length} packages are missing, and installing them needs root`);
  console.error(`hint: sudo ${install.join(" ")}`);
  process.exit(1);
}
const options = { stdio: "inherit", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
try {
  execFileSync("apt-get", ["update", "-q"], options);
  execFileSync(install[0], install.slice(1), options);
} catch {
  console.error(`error: apt-get could not install: ${missing.join(" ")}\nhint: its own message stands above`);
  process.exit(1);
}
const stillMissing = missing.filter((name) => !installed(name));
if (stillMissing.length > 0) {
  console.error(`error: apt-get said it was done, but these are missing: ${stillMissing.join(" ")}`);
  process.exit(1);
}
fetchLong();
