// SPDX-License-Identifier: Apache-2.0
// Packages for the tests: built as `npm run package` does, one with a higher number, one with a plugin that is a stand-in.
import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { COMPILERS } from "../../packaging/addons.mjs";

export const project = resolve(import.meta.dirname, "../..");
export const { version: VERSION } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as {
  version: string;
};
export const NEW_VERSION = `${VERSION}.1`;

/** One command that takes long, next to the test runner. @returns both streams together */
export function run(
  program: string,
  words: readonly string[],
  { environment = {}, input }: { environment?: NodeJS.ProcessEnv; input?: string } = {},
): Promise<{ status: number | null; said: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, {
      cwd: project,
      env: { ...process.env, ...environment },
      stdio: [input === undefined ? "ignore" : openSync(input, "r"), "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, said }));
  });
}

/** `npm run package` without compiling the TypeScript again; environment.UMASK is the mask of files that it makes. */
export async function buildPackages(
  out: string,
  words: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<string> {
  mkdirSync(out, { recursive: true });
  const program = [process.execPath, "packaging/package.mjs", ...words, "--out", out, "--compression", "1"];
  const shell = ["-c", 'umask "$0"; exec "$@"', environment.UMASK ?? "022", ...program];
  const { status, said } = await run("sh", shell, { environment });
  if (status !== 0) throw new Error(`packaging/package.mjs ended with ${status}: ${said}`);
  return said;
}

/** The same package, not compressed, with another number and, where that is higher, a line of first settings more. */
export function makeNewer(from: string, to: string, version = NEW_VERSION): void {
  const work = mkdtempSync(join(tmpdir(), "depthwatt-newer-"));
  const tree = join(work, "tree");
  try {
    execFileSync("dpkg-deb", ["-R", from, tree]);
    execFileSync("sed", ["-i", `s/^Version:.*/Version: ${version}-1/`, join(tree, "DEBIAN/control")]);
    if (version !== VERSION)
      appendFileSync(
        join(tree, "etc/depthwatt/config.yaml"),
        "# A line that the version before did not have.\n",
      );
    execFileSync("dpkg-deb", ["--root-owner-group", "-Znone", "--build", tree, to], { stdio: "ignore" });
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** depthwatt-cuda-jetpack6 with a plugin that a compiler of Debian 11 makes: it loads, and its probe says that it is a stand-in. */
export async function makeStandInPackage(architecture: string, compilers: string, to: string): Promise<void> {
  const inside = mkdtempSync(join(compilers, "tmp/depthwatt-plugin-"));
  const out = mkdtempSync(join(tmpdir(), "depthwatt-plugin-"));
  try {
    for (const path of ["core", "cuda", "test/doubles/native"])
      execFileSync("sh", ["-c", 'mkdir -p "$1/$0" && cp -r "$0/." "$1/$0"', path, inside], { cwd: project });
    const words = [
      COMPILERS[architecture],
      "-std=c++17",
      "-shared",
      "-fPIC",
      "-DABI_OFFSET=0",
      "-o",
      "plugin.so",
    ];
    const command = [...words, "test/doubles/native/plugin_stub.cc"].join(" ");
    const place = inside.slice(compilers.length);
    execFileSync("chroot", [compilers, "/bin/sh", "-c", `cd ${place} && ${command}`]);
    const plugin = join(inside, "plugin.so");
    await buildPackages(out, ["--arch", "none", "--cuda", "jetpack6", "--plugin", plugin]);
    copyFileSync(join(out, `depthwatt-cuda-jetpack6_${VERSION}-1_${architecture}.deb`), to);
  } finally {
    for (const folder of [inside, out]) rmSync(folder, { recursive: true });
  }
}

/** Where the other build is made: another clock's zone, language, mask of new files and temporary folder. */
export function buildElsewhere(out: string, words: readonly string[]): Promise<string> {
  const other = mkdtempSync(join(tmpdir(), "depthwatt-elsewhere-"));
  const environment = { TZ: "Pacific/Auckland", LC_ALL: "C", UMASK: "077", TMPDIR: other };
  return buildPackages(out, words, environment).finally(() => rmSync(other, { recursive: true }));
}

export const sha256 = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

/**
 * Builds the packages that life.sh needs: old.deb, new.deb, cuda.deb and foreign.deb. @param deb the package of that
 * architecture
 */
export async function layOut(
  architecture: "amd64" | "arm64",
  { deb, compilers, folder }: { deb: string; compilers: string; folder: string },
): Promise<void> {
  mkdirSync(folder, { recursive: true });
  copyFileSync(deb, join(folder, "old.deb"));
  makeNewer(deb, join(folder, "new.deb"));
  const other = architecture === "amd64" ? "arm64" : "amd64";
  await makeStandInPackage(architecture, compilers, join(folder, "cuda.deb"));
  await makeStandInPackage(other, compilers, join(folder, "foreign.deb"));
}
