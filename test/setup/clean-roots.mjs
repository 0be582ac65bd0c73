// SPDX-License-Identifier: Apache-2.0
// Creates root folders of a Debian 11 with only the packages that every Debian has, in which test/packages installs,
// upgrades and removes.
//   node test/setup/clean-roots.mjs [amd64] [arm64]      fetches what is missing (debootstrap, as root): 0.3 GB each
// arm64's own programs finish that installation under emulation, which takes some minutes.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder, debianMirror } from "../../packaging/debian-compilers.mjs";

const SUITE = "bullseye";
const inside = fileURLToPath(new URL("../../packaging/in-a-clean-root.sh", import.meta.url));

/**
 * The root where it has been fetched, else undefined.
 * @param {string} architecture
 */
export function cachedCleanRoot(architecture, folder = cacheFolder()) {
  const root = join(folder, `clean-${SUITE}-${architecture}`);
  return existsSync(root) ? root : undefined;
}

const SECOND_STAGE = `set -e
# It makes no devices in a container: a user namespace may not.
container=lxc /debootstrap/debootstrap --second-stage >&2
rm -rf /debootstrap /var/cache/apt/archives/*.deb
tar -C / --create --file /debs/root.tar --exclude ./dev --exclude ./proc --exclude ./debs .
`;

/**
 * The root's own programs configure the files that debootstrap has unpacked, in a copy, which is packed and replaces
 * it.
 */
function finishForeign(work, root) {
  writeFileSync(join(work, "commands"), SECOND_STAGE);
  execFileSync(inside, [root, work], {
    stdio: [openSync(join(work, "commands"), "r"), "ignore", "pipe"],
    maxBuffer: 1 << 26,
  });
  rmSync(root, { recursive: true });
  for (const name of ["dev", "proc"]) mkdirSync(join(root, name), { recursive: true });
  execFileSync("tar", ["-C", root, "--extract", "--file", join(work, "root.tar"), "--numeric-owner"]);
}

/**
 * Fetches where the cache is empty; throws with one sentence where that cannot be.
 * @param {string} architecture
 * @returns {string}
 */
export function fetchCleanRoot(architecture, folder = cacheFolder()) {
  const ready = cachedCleanRoot(architecture, folder);
  if (ready !== undefined) return ready;
  const what = `the clean root of Debian ${SUITE} for ${architecture}`;
  if (process.getuid?.() !== 0) throw new Error(`${what}: debootstrap needs root`);
  const mirror = debianMirror();
  if (mirror === undefined) throw new Error(`${what}: this machine's apt names no Debian archive`);
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(join(folder, "clean-root-"));
  const root = join(work, "root");
  const own = execFileSync("dpkg", ["--print-architecture"], { encoding: "utf8" }).trim();
  const foreign = architecture === own ? [] : ["--foreign"];
  /** @type {import("node:child_process").ExecFileSyncOptions} */
  const quiet = { stdio: ["ignore", "ignore", "pipe"], maxBuffer: 1 << 26 };
  try {
    const words = ["--variant=minbase", `--arch=${architecture}`, ...foreign, SUITE, root, mirror];
    execFileSync("debootstrap", words, quiet);
    // A user namespace, in which the root is entered, makes no devices.
    rmSync(join(root, "dev"), { recursive: true });
    mkdirSync(join(root, "dev"));
    if (foreign.length > 0) finishForeign(work, root);
    rmSync(join(root, "var/cache/apt/archives"), { recursive: true, force: true });
    renameSync(root, join(folder, `clean-${SUITE}-${architecture}`));
  } catch (error) {
    if (cachedCleanRoot(architecture, folder) === undefined)
      throw new Error(`${what} could not be fetched: ${error.stderr || error.message}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return /** @type {string} */ (cachedCleanRoot(architecture, folder));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const asked = process.argv.slice(2);
  try {
    for (const architecture of asked.length > 0 ? asked : ["amd64"])
      console.log(fetchCleanRoot(architecture));
  } catch (error) {
    console.error(`error: ${error.message}\nhint: test/packages installs the Debian packages in it`);
    process.exit(1);
  }
}
