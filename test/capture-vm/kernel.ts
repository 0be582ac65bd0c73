// SPDX-License-Identifier: Apache-2.0
// Debian's stock kernel for the virtual machine: fetched once by apt, unpacked into .vm/ below the project, no root needed.
import { execFile } from "node:child_process";
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
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export type Architecture = "amd64" | "arm64";

export interface GuestKernel {
  /** The files that QEMU boots. */
  image: string;
  /** Kernel modules by name, such as "vivid". */
  modules: ReadonlyMap<string, string>;
  version: string;
}

export const PROJECT = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const CACHE = join(PROJECT, ".vm");

/** QEMU starts an uncompressed kernel at once; unpacking it inside the emulation would take several seconds. */
const UNPACK_X86 = `
import lzma, re, sys
packed = open(sys.argv[1], "rb").read()
for start in re.finditer(re.escape(b"\\xfd7zXZ\\x00"), packed):
    try:
        kernel = lzma.LZMADecompressor().decompress(packed[start.start():])
    except lzma.LZMAError:
        continue
    if kernel[:4] == b"\\x7fELF":
        open(sys.argv[2], "wb").write(kernel)
        sys.exit(0)
sys.exit("no ELF kernel in " + sys.argv[1])
`;

/** A package index of the project's own: the machine's list of architectures stays as it is. */
function aptOptions(architecture: Architecture): string[] {
  const state = join(CACHE, "apt", architecture);
  for (const folder of ["lists/partial", "cache/archives/partial"])
    mkdirSync(join(state, folder), { recursive: true });
  writeFileSync(join(state, "status"), "");
  const settings = {
    "APT::Architecture": architecture,
    "APT::Architectures": architecture,
    "APT::Sandbox::User": "root",
    "Dir::State::lists": join(state, "lists"),
    "Dir::State::status": join(state, "status"),
    "Dir::Cache": join(state, "cache"),
    "Acquire::Languages": "none",
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
}

const execute = promisify(execFile);

/** One command to its end, without keeping this process from answering its test runner. @returns its stdout */
export async function run(command: string, words: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await execute(command, words, { cwd, timeout: 240_000, maxBuffer: 1 << 26 });
  return stdout;
}

/** Fetches a Debian package of this architecture into the folder. @returns its file name */
export async function downloadPackage(
  architecture: Architecture,
  name: string,
  folder: string,
): Promise<string> {
  const options = aptOptions(architecture);
  const fetched = async () => {
    await run("apt-get", [...options, "-qq", "download", name], folder);
    return readdirSync(folder).find((file) => file.startsWith(`${name}_`))!;
  };
  try {
    return await fetched();
  } catch {
    // No index yet, or an old one whose package has been replaced.
    await run("apt-get", [...options, "-qq", "update"], folder);
    return fetched();
  }
}

/** The version of the newest stock kernel, such as "6.1.0-56-amd64". */
async function newestKernel(architecture: Architecture, folder: string): Promise<string> {
  const options = aptOptions(architecture);
  await run("apt-get", [...options, "-qq", "update"], folder);
  const text = await run("apt-cache", [...options, "depends", `linux-image-${architecture}`], folder);
  const version = /Depends: linux-image-(\S+)/.exec(text)?.[1];
  if (version === undefined) throw new Error(`apt knows no linux-image-${architecture}`);
  return version;
}

function modulesBelow(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".ko"),
  );
  return new Map(files.map((path) => [basename(path, ".ko").replaceAll("-", "_"), join(folder, path)]));
}

/** The kernel, from .vm/ where it was fetched before. */
export async function guestKernel(architecture: Architecture): Promise<GuestKernel> {
  const home = join(CACHE, architecture);
  if (!existsSync(join(home, "version"))) await fetchKernel(architecture, home);
  return {
    image: join(home, "kernel"),
    modules: modulesBelow(join(home, "modules")),
    version: readFileSync(join(home, "version"), "utf8"),
  };
}

async function fetchKernel(architecture: Architecture, home: string): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const work = mkdtempSync(join(CACHE, "fetch-"));
  try {
    const version = await newestKernel(architecture, work);
    const archive = await downloadPackage(architecture, `linux-image-${version}`, work);
    await run("dpkg-deb", ["--extract", archive, "tree"], work);
    mkdirSync(join(work, "home"));
    const image = join(work, "tree/boot", `vmlinuz-${version}`);
    const target = join(work, "home/kernel");
    if (architecture === "amd64") await run("python3", ["-c", UNPACK_X86, image, target], work);
    else renameSync(image, target);
    renameSync(join(work, "tree/lib/modules", version, "kernel"), join(work, "home/modules"));
    writeFileSync(join(work, "home/version"), version);
    rmSync(home, { recursive: true, force: true });
    renameSync(join(work, "home"), home);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** A module and what it needs, in the order of loading: every module file names its own needs. */
export function loadOrder(kernel: GuestKernel, names: readonly string[]): string[] {
  const order: string[] = [];
  const visit = (name: string) => {
    const path = kernel.modules.get(name.replaceAll("-", "_"));
    // Not a file: built into the kernel.
    if (path === undefined || order.includes(path)) return;
    const needs = /\0depends=([^\0]*)\0/.exec(readFileSync(path, "latin1"))?.[1] ?? "";
    for (const need of needs.split(",").filter((one) => one !== "")) visit(need);
    order.push(path);
  };
  for (const name of names) visit(name);
  return order;
}
