// SPDX-License-Identifier: Apache-2.0
// The disk of the virtual machine whose init is systemd, for test/systemd-vm: a small Debian with udev, a broker and v4l-utils as
// one ext4 file in the cache. `node test/setup/systemd-root.mjs` makes it where it is missing (debootstrap, as root): 40 s, 0.4 GB.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheFolder, debianMirror } from "../../packaging/debian-compilers.mjs";

const SUITE = "bookworm";
const PACKAGES = [
  "systemd-sysv",
  "udev",
  "dbus",
  "libnss-systemd",
  "mosquitto",
  "mosquitto-clients",
  "v4l-utils",
];

/** Another list of packages, or another way to make the disk, is another file. */
const mark = createHash("sha256")
  .update(readFileSync(fileURLToPath(import.meta.url)))
  .digest("hex")
  .slice(0, 12);

/** The disk where it has been made, else undefined. */
export function cachedSystemdRoot(folder = cacheFolder()) {
  const file = join(folder, `systemd-${SUITE}-${mark}.ext4`);
  return existsSync(file) ? file : undefined;
}

/**
 * Makes it where the cache is empty; throws with one sentence where that cannot be.
 * @returns {string}
 */
export function fetchSystemdRoot(folder = cacheFolder()) {
  const ready = cachedSystemdRoot(folder);
  if (ready !== undefined) return ready;
  const what = "the disk of the systemd machine";
  if (process.getuid?.() !== 0) throw new Error(`${what}: debootstrap needs root`);
  const mirror = debianMirror();
  if (mirror === undefined) throw new Error(`${what}: this machine's apt names no Debian archive`);
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(join(folder, "systemd-root-"));
  /** @type {import("node:child_process").ExecFileSyncOptions} */
  const quiet = { stdio: ["ignore", "ignore", "pipe"], maxBuffer: 1 << 26 };
  try {
    const root = join(work, "root");
    const include = `--include=${PACKAGES.join(",")}`;
    execFileSync("debootstrap", ["--variant=minbase", include, SUITE, root, mirror], quiet);
    for (const path of ["var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale"])
      rmSync(join(root, path), { recursive: true, force: true });
    writeFileSync(join(root, "etc/hostname"), "board\n");
    writeFileSync(join(root, "etc/hosts"), "127.0.0.1 localhost board\n::1 localhost\n");
    // systemd writes the machine's own id at the first boot; without one each boot would be a first one, which enables
    // units again.
    writeFileSync(join(root, "etc/machine-id"), "");
    const disk = join(work, "disk");
    // Sparse: unwritten blocks take no space. The lists of blocks are written here and not by the guest's kernel in the
    // background.
    const settings = ["-q", "-F", "-L", "root", "-O", "^has_journal", "-E", "lazy_itable_init=0"];
    execFileSync("mkfs.ext4", [...settings, "-d", root, disk, "1G"], quiet);
    renameSync(disk, join(folder, `systemd-${SUITE}-${mark}.ext4`));
  } catch (error) {
    throw new Error(`${what} could not be made: ${error.stderr || error.message}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return /** @type {string} */ (cachedSystemdRoot(folder));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(fetchSystemdRoot());
  } catch (error) {
    console.error(`error: ${error.message}\nhint: test/systemd-vm boots it`);
    process.exit(1);
  }
}
