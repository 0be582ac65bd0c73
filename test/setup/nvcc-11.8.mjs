// SPDX-License-Identifier: Apache-2.0
// nvcc 11.8, the last one that compiles for a Nano and an Orin both: out of Debian's own packages, unpacked into a cache and
// never installed. `node test/setup/nvcc-11.8.mjs` prints its path; some 0.9 GB are fetched once and 0.2 GB stay.
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
/** Patterns of the files to unpack from each package; no patterns = all of it. */
const PACKAGES = {
  "nvidia-cuda-toolkit": [],
  "libcu++-dev": [],
  "nvidia-cuda-dev": ["./usr/include/*", "*/libcudart*", "*/libcudadevrt.a"],
  "libcudart11.0": [],
};
const BIN = "usr/lib/nvidia-cuda-toolkit/bin";

/** 11.8 takes g++ 11 and warns of 12, whose headers it compiles at C++14. */
export const FLAGS_11_8 = ["-ccbin", "g++-12", "-allow-unsupported-compiler"];

const cache = () => join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "depthwatt", "nvcc-11.8");

/** The path of nvcc where it has been fetched, else undefined. */
export function cachedNvcc118(folder = cache()) {
  const nvcc = join(folder, BIN, "nvcc");
  return existsSync(nvcc) ? nvcc : undefined;
}

/**
 * This machine's Debian archives as one-line sources with the components that CUDA is in. `files`: what apt itself reads.
 * @param {readonly {name: string, text: string}[]} files
 * @returns {string[]}
 */
export function archives(files) {
  const found = new Set();
  for (const { name, text } of files) {
    if (name.endsWith(".sources")) {
      for (const stanza of text.split(/\n\s*\n/)) {
        const field = (key) =>
          stanza
            .match(new RegExp(`^${key}:[ \\t]*(.*)$`, "m"))?.[1]
            .trim()
            .split(/\s+/) ?? [];
        if (!field("Types").includes("deb") || field("Enabled")[0] === "no") continue;
        for (const uri of field("URIs")) for (const suite of field("Suites")) found.add(`${uri} ${suite}`);
      }
    } else {
      for (const [, uri, suite] of text.matchAll(
        /^deb[ \t]+(?:\[[^\]]*\][ \t]+)?(\S+)[ \t]+(\S+)[ \t]+.*\bmain\b/gm,
      )) {
        found.add(`${uri} ${suite}`);
      }
    }
  }
  return [...found].filter((one) => /debian/.test(one));
}

export function aptFiles() {
  const parts = "/etc/apt/sources.list.d";
  const paths = existsSync(parts) ? readdirSync(parts).map((name) => join(parts, name)) : [];
  return ["/etc/apt/sources.list", ...paths]
    .filter((path) => existsSync(path) && /\.(list|sources)$/.test(path))
    .map((path) => ({ name: path, text: readFileSync(path, "utf8") }));
}

/**
 * Fetches and unpacks where the cache is empty; throws with one sentence where that cannot be.
 * @returns {string}
 */
export function fetchNvcc118(folder = cache()) {
  const ready = cachedNvcc118(folder);
  if (ready !== undefined) return ready;
  const sources = archives(aptFiles());
  if (sources.length === 0 || !existsSync(KEYRING)) {
    throw new Error(
      "nvcc 11.8 comes from Debian 12's archive, and this machine's apt names no Debian archive",
    );
  }
  mkdirSync(dirname(folder), { recursive: true });
  const work = mkdtempSync(`${folder}-`);
  const run = (program, args, cwd = work) =>
    execFileSync(program, args, { cwd, stdio: ["ignore", "ignore", "pipe"], maxBuffer: 1 << 26 });
  try {
    for (const one of ["lists/partial", "archives/partial", "parts", "debs", "root"]) {
      mkdirSync(join(work, one), { recursive: true });
    }
    const lines = sources.map((one) => `deb [signed-by=${KEYRING}] ${one} main contrib non-free`);
    writeFileSync(join(work, "parts/debian.list"), `${lines.join("\n")}\n`);
    // A private state: nothing of the machine's own lists or packages changes.
    const options = {
      "Dir::State::Lists": join(work, "lists"),
      "Dir::Cache": work,
      "Dir::Etc::SourceList": "/dev/null",
      "Dir::Etc::SourceParts": join(work, "parts"),
      "APT::Sandbox::User": process.getuid?.() === 0 ? "root" : "",
      "Acquire::Retries": "3",
    };
    const apt = Object.entries(options).flatMap(([key, value]) =>
      value === "" ? [] : ["-o", `${key}=${value}`],
    );
    run("apt-get", [...apt, "-qq", "update"]);
    run("apt-get", [...apt, "-qq", "download", ...Object.keys(PACKAGES)], join(work, "debs"));
    for (const file of readdirSync(join(work, "debs"))) {
      const patterns = PACKAGES[decodeURIComponent(file.split("_")[0])];
      const wanted = patterns.length > 0 ? `--wildcards ${patterns.map((one) => `'${one}'`).join(" ")}` : "";
      run("bash", [
        "-o",
        "pipefail",
        "-c",
        `dpkg-deb --fsys-tarfile "debs/${file}" | tar -x -C root ${wanted}`,
      ]);
    }
    // Debian's profile speaks of /usr; this one of where the tree will lie.
    const profile = join(work, "root", BIN, "nvcc.profile");
    rmSync(profile, { force: true });
    writeFileSync(
      profile,
      `NVVMIR_LIBRARY_DIR = ${folder}/usr/lib/nvidia-cuda-toolkit/libdevice\n` +
        `PATH += ${folder}/usr/bin:${folder}/${BIN}:\n` +
        `INCLUDES += "-I${folder}/usr/include" $(_SPACE_)\n` +
        `LIBRARIES =+ $(_SPACE_) "-L${folder}/usr/lib/x86_64-linux-gnu"\n`,
    );
    const version = execFileSync(join(work, "root", BIN, "nvcc"), ["--version"], { encoding: "utf8" });
    if (!version.includes("release 11.8,")) {
      throw new Error(
        `expected CUDA 11.8 in this Debian's nvidia-cuda-toolkit, got ${version.match(/release \S+/)?.[0]}`,
      );
    }
    renameSync(join(work, "root"), folder);
  } catch (error) {
    // Another process may have finished first.
    if (cachedNvcc118(folder) === undefined) {
      const detail = String(error.stderr ?? "")
        .trim()
        .split("\n")
        .slice(0, 3)
        .join("; ");
      throw new Error(`nvcc 11.8 could not be fetched: ${detail === "" ? error.message : detail}`);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return /** @type {string} */ (cachedNvcc118(folder));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(fetchNvcc118());
  } catch (error) {
    console.error(
      `error: ${error.message}\nhint: it is needed on Debian 12 x86-64 alone, to check the kernels for old boards`,
    );
    process.exit(1);
  }
}
