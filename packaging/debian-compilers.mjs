// SPDX-License-Identifier: Apache-2.0
// The compilers of three Debians, each in its own root folder in the cache, for test/compilers: g++ 9 to 14, clang 14 to 19.
// `node packaging/debian-compilers.mjs` fetches the missing folders (debootstrap, as root): some 0.8 GB, of which 4 GB unpacked stay.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { aptFiles, archives } from "../test/setup/nvcc-11.8.mjs";

/**
 * Suite -> its packages and the C++ compilers in them.
 * @type {Record<string, {packages: string[], compilers: string[]}>}
 */
export const DEBIANS = {
  bullseye: {
    packages: ["g++-9", "g++-10", "g++-10-aarch64-linux-gnu"],
    compilers: ["g++-9", "g++-10", "aarch64-linux-gnu-g++-10"],
  },
  bookworm: {
    packages: ["g++-11", "g++-12", "clang-14", "clang-15", "clang-16"],
    compilers: ["g++-11", "g++-12", "clang++-14", "clang++-15", "clang++-16"],
  },
  trixie: {
    packages: ["g++-13", "g++-14", "clang-17", "clang-18", "clang-19", "libclang-rt-19-dev"],
    compilers: ["g++-13", "g++-14", "clang++-17", "clang++-18", "clang++-19"],
  },
};

export const cacheFolder = () => join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "depthwatt");

/** One of Debian's own mirrors, as this machine's apt names it; security updates lie elsewhere and are not needed. */
export const debianMirror = () =>
  archives(aptFiles())
    .map((one) => one.split(" ")[0])
    .find((one) => !one.includes("security"));

/**
 * The root folder of that Debian where it has been fetched, else undefined.
 * @param {string} suite
 */
export function cachedDebian(suite, folder = cacheFolder()) {
  const root = join(folder, `compilers-${suite}`);
  return existsSync(root) ? root : undefined;
}

/** A root that was fetched before a package was added to its list gets it now. */
function complete(suite, root) {
  const installed = (name) => existsSync(join(root, "usr/share/doc", name));
  const missing = DEBIANS[suite].packages.filter((name) => !installed(name));
  if (missing.length === 0 || process.getuid?.() !== 0) return root;
  const apt = ["apt-get", "install", "--yes", "--no-install-recommends", ...missing];
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", DEBIAN_FRONTEND: "noninteractive" };
  execFileSync("chroot", [root, "apt-get", "update"], { env, stdio: ["ignore", "ignore", "pipe"] });
  execFileSync("chroot", [root, ...apt], { env, stdio: ["ignore", "ignore", "pipe"] });
  return root;
}

/**
 * Fetches where the cache is empty; throws with one sentence where that cannot be.
 * @param {string} suite
 * @returns {string}
 */
export function fetchDebian(suite, folder = cacheFolder()) {
  const ready = cachedDebian(suite, folder);
  if (ready !== undefined) return complete(suite, ready);
  if (process.getuid?.() !== 0) throw new Error(`compilers of Debian ${suite}: debootstrap needs root`);
  const mirror = debianMirror();
  if (mirror === undefined)
    throw new Error(`compilers of Debian ${suite}: this machine's apt names no Debian archive`);
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(join(folder, `compilers-${suite}-`));
  const root = join(work, "root");
  try {
    const include = `--include=${DEBIANS[suite].packages.join(",")}`;
    execFileSync("debootstrap", ["--variant=minbase", include, suite, root, mirror], {
      stdio: ["ignore", "ignore", "pipe"],
      maxBuffer: 1 << 26,
    });
    rmSync(join(root, "var/cache/apt/archives"), { recursive: true, force: true });
    renameSync(root, join(folder, `compilers-${suite}`));
  } catch (error) {
    if (cachedDebian(suite, folder) === undefined) {
      throw new Error(`compilers of Debian ${suite} could not be fetched: ${error.stderr || error.message}`);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return /** @type {string} */ (cachedDebian(suite, folder));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    for (const suite of Object.keys(DEBIANS)) console.log(fetchDebian(suite));
  } catch (error) {
    console.error(
      `error: ${error.message}\nhint: they are needed to check that the addon compiles with each`,
    );
    process.exit(1);
  }
}
