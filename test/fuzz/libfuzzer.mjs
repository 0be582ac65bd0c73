// SPDX-License-Identifier: Apache-2.0
// The native fuzz targets: what each is made of, and its build with libFuzzer by clang 19 in the cached root of Debian trixie, as root.
// `node test/fuzz/libfuzzer.mjs FOLDER` leaves the programs in a folder, for `test/fuzz/fuzz.mjs --programs FOLDER` on a machine
// without that root: it needs glibc 2.38 and nothing else.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedDebian } from "../../packaging/debian-compilers.mjs";

const project = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const NEEDS_NODE = [
  "addon.cc",
  "arguments.cc",
  "binding.cc",
  "call.cc",
  "camera_handle.cc",
  "convert.cc",
  "status_error.cc",
];
/** The parts of capture that work without Node, and the driver in memory. */
const CAPTURE = [
  ...readdirSync(join(project, "camera/v4l2/native"))
    .filter((name) => name.endsWith(".cc") && !NEEDS_NODE.includes(name))
    .map((name) => `camera/v4l2/native/${name}`),
  "camera/v4l2/test/fake-video/fake_buffers.cc",
  "camera/v4l2/test/fake-video/fake_driver.cc",
  "camera/v4l2/test/fake-video/fake_settings.cc",
];
/**
 * Target -> its sources.
 * @typedef {"frame" | "rvl" | "v4l2"} NativeTarget
 * @type {Record<NativeTarget, string[]>}
 */
export const NATIVE_TARGETS = {
  frame: ["test/fuzz/native/frame_target.cc"],
  rvl: ["test/fuzz/native/rvl_target.cc", "cuda/output/rvl/rvl.cc", "cuda/output/rvl/rvl.ref.cc"],
  v4l2: ["camera/v4l2/test/v4l2_target_main.cc", ...CAPTURE],
};
export const FLAGS = ["-std=c++17", "-O1", "-g", "-fno-sanitize-recover=all"];
/** Sources and the headers that they include. */
const PARTS = [
  "cuda/output/rvl",
  "clients/cpp",
  "core",
  "camera/v4l2/native",
  "camera/v4l2/test/fake-video",
  "camera/v4l2/test/v4l2_target_main.cc",
  "test/fuzz/native",
];
const FUZZER = "usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.fuzzer-x86_64.a";

/** The root of Debian trixie where this user can build in it, else undefined. */
export function libFuzzerRoot() {
  const root = cachedDebian("trixie");
  return process.getuid?.() === 0 && root !== undefined && existsSync(join(root, FUZZER)) ? root : undefined;
}

/**
 * Runs words in that root, in `folder`, whose path is one of this machine's.
 * @param {string} root
 * @param {string} folder
 * @param {readonly string[]} words
 * @returns {[string, string[]]}
 */
export function inRoot(root, folder, words) {
  const script = `cd ${folder.slice(root.length)} && ${words.join(" ")}`;
  return ["chroot", [root, "/bin/sh", "-c", script]];
}

/**
 * Builds a target in `folder`, which is in the root. The program is FOLDER/fuzz.
 * @param {string} root
 * @param {NativeTarget} target
 * @param {string} folder
 */
export function buildLibFuzzer(root, target, folder) {
  for (const part of PARTS) cpSync(join(project, part), join(folder, part), { recursive: true });
  const sources = [...NATIVE_TARGETS[target], "test/fuzz/native/no_leak_search.cc"];
  const flags = [...FLAGS, "-fsanitize=fuzzer,address,undefined", "-static-libstdc++", "-static-libgcc"];
  const words = ["clang++-19", ...flags, ...sources, "-o", "fuzz", "-pthread", "-ldl"];
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
  execFileSync(...inRoot(root, folder, words), { env, stdio: ["ignore", "ignore", "pipe"] });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [to] = process.argv.slice(2);
  const root = libFuzzerRoot();
  if (to === undefined || root === undefined) {
    console.error("error: expected a folder; it needs root and clang 19 (npm run test:setup -- --long)");
    process.exit(2);
  }
  mkdirSync(to, { recursive: true });
  for (const target of /** @type {NativeTarget[]} */ (Object.keys(NATIVE_TARGETS))) {
    const folder = mkdtempSync(join(root, "tmp/fuzz-"));
    try {
      buildLibFuzzer(root, target, folder);
      cpSync(join(folder, "fuzz"), join(to, target));
      console.log(resolve(to, target));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
