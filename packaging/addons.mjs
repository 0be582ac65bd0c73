// SPDX-License-Identifier: Apache-2.0
// Both native addons, compiled in Debian 11's root folder so that they run on the glibc of every board: JetPack 5 has 2.31.
// The flags are those of each binding.gyp; node-gyp itself would need Node, python3 and make in that root.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { addonSources } from "v4l2-camera/build.mjs";
import { nativeSources, writeGeneratedHeaders } from "../scripts/native-sources.mjs";
import { fetchDebian } from "./debian-compilers.mjs";
import { checkSymbolVersions } from "./elf.mjs";
import { fetchNode } from "./node-runtime.mjs";

/**
 * Debian architecture -> compiler of Debian 11.
 * @type {Record<string, string>}
 */
export const COMPILERS = { amd64: "g++-10", arm64: "aarch64-linux-gnu-g++-10" };

const FOLDERS = ["addon.cc", "clients/cpp", "core", "cuda", "camera", "power"];

/**
 * The compiler's flags for one addon: those of its binding.gyp, for x86 or g++ alone where they stand there, and those that
 * node-addon-api and node-gyp add.
 * @param {string} folder with binding.gyp
 * @param {{name: string, compiler: string, x64: boolean}} options
 * @returns {string[]}
 */
export function addonFlags(folder, { name, compiler, x64 }) {
  const text = readFileSync(join(folder, "binding.gyp"), "utf8").replace(/#.*/g, "");
  const lists = [...text.matchAll(/"cflags_cc": \[([^\]]*)\]/g)].map(([, list]) =>
    [...list.matchAll(/"([^"]+)"/g)].map(([, flag]) => flag),
  );
  const [everywhere, tuning = [], onlyX64 = []] = lists;
  if (!everywhere?.includes("-std=c++17")) throw new Error(`${folder}/binding.gyp has no cflags_cc`);
  const own = [...everywhere, ...(compiler.includes("clang") ? [] : tuning), ...(x64 ? onlyX64 : [])];
  const api = ["-DNAPI_VERSION=8", "-DNAPI_CPP_EXCEPTIONS", `-DNODE_GYP_MODULE_NAME=${name}`];
  return [...own, ...api, "-DBUILDING_NODE_EXTENSION", "-fPIC", "-pthread"];
}

/** The linker's words of a binding.gyp. */
function linkFlags(folder) {
  const text = readFileSync(join(folder, "binding.gyp"), "utf8");
  return [/"ldflags": \[([^\]]*)\]/, /"libraries": \[([^\]]*)\]/].map((pattern) =>
    [.../** @type {RegExpExecArray} */ (pattern.exec(text))[1].matchAll(/"([^"]+)"/g)].map(
      ([, flag]) => flag,
    ),
  );
}

/**
 * Copies the compiled files below `root`. Returns the folder's name inside the package.
 * @param {string} project
 * @param {string} root
 * @param {string} headers
 */
export function copySources(project, root, headers) {
  const folder = mkdtempSync(join(root, "tmp/depthwatt-"));
  for (const name of FOLDERS)
    cpSync(join(project, name), join(folder, "source", name), {
      recursive: true,
      filter: (path) => !/\/(node_modules|build|dist)(\/|$)/.test(path.slice(project.length)),
    });
  writeGeneratedHeaders(join(folder, "source"));
  cpSync(headers, join(folder, "node"), { recursive: true });
  const require = createRequire(import.meta.url);
  cpSync(dirname(require.resolve("node-addon-api")), join(folder, "node-addon-api"), { recursive: true });
  return folder.slice(root.length);
}

export function inRoot(root, script) {
  const ran = spawnSync("chroot", [root, "/bin/sh", "-c", script], {
    encoding: "utf8",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
    maxBuffer: 1 << 26,
  });
  return ran.status === 0 ? "" : `${ran.error ?? ""}${ran.stdout}${ran.stderr}`.slice(0, 4000);
}

const ADDONS = [
  { name: "depthwatt", folder: ".", sources: nativeSources },
  {
    name: "v4l2_camera",
    folder: "camera/v4l2",
    sources: (project) => ["native/addon.cc", ...addonSources(join(project, "camera/v4l2"))],
  },
];

/**
 * Compiles both addons for one architecture.
 * @param headers Node's own, the folder with node_api.h
 * @param out folder that gets depthwatt.node and v4l2_camera.node
 * @throws Error with the compiler's words
 */
export function buildAddons({ project, root, architecture, headers, out }) {
  const compiler = COMPILERS[architecture];
  if (!existsSync(join(root, "usr/bin", compiler)))
    throw new Error(`${root} has no ${compiler}: remove that folder and fetch it again`);
  const folder = copySources(project, root, headers);
  try {
    for (const addon of ADDONS) {
      const binding = join(project, addon.folder);
      const flags = addonFlags(binding, { name: addon.name, compiler, x64: architecture === "amd64" });
      const sources = addon.sources(project);
      const objects = `${folder}/${addon.name}`;
      mkdirSync(join(root, objects));
      const names = sources.map((source) => `${source.replaceAll("/", "-")}.o`);
      writeFileSync(
        join(root, objects, "jobs"),
        sources.map((source, i) => `${source} ${names[i]}\n`).join(""),
      );
      const includes = `-I${addon.name === "depthwatt" ? "." : "native"} -I${folder}/node -isystem ${folder}/node-addon-api`;
      const compile = `${compiler} ${flags.join(" ")} ${includes} -w -c "$1" -o ${objects}/"$2"`;
      const [options, libraries] = linkFlags(binding);
      // Linked in the order of the list, so that the same sources give the same bytes.
      const link = `${compiler} -shared -s ${options.join(" ")} -o ${objects}/addon.node ${names.map((one) => `${objects}/${one}`).join(" ")} ${libraries.join(" ")}`;
      const script = `set -e; cd ${folder}/source/${addon.folder}; xargs -P ${availableParallelism()} -n 2 sh -c '${compile}' compile < ${objects}/jobs; ${link}`;
      const failure = inRoot(root, script);
      if (failure !== "") throw new Error(`${addon.name} did not compile with ${compiler}: ${failure}`);
      cpSync(join(root, objects, "addon.node"), join(out, `${addon.name}.node`));
    }
  } finally {
    rmSync(join(root, folder), { recursive: true, force: true });
  }
}

/** JetPack 5 has glibc 2.31; Debian 11's compiler lets the addons ask for less. */
export const ADDON_LIMITS = { GLIBC: "2.17", GLIBCXX: "3.4.22" };

/**
 * Compiles both addons of one architecture into `folder`/ARCHITECTURE, unless they are there, and prints what they ask for.
 * @param {string} project
 * @param {string} architecture
 * @param {string} folder
 * @returns {string} the folder with depthwatt.node and v4l2_camera.node
 * @throws Error if an addon would not load on JetPack 5
 */
export function addonsFor(project, architecture, folder) {
  const out = join(folder, architecture);
  if (existsSync(join(out, "v4l2_camera.node"))) {
    console.error(`${architecture}: addons taken from ${out}`);
  } else {
    mkdirSync(out, { recursive: true });
    const started = performance.now();
    // Headers do not differ between architectures.
    const headers = join(fetchNode("amd64"), "include/node");
    buildAddons({ project, root: fetchDebian("bullseye"), architecture, headers, out });
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    console.error(`${architecture}: addons compiled in ${seconds} s`);
  }
  for (const { name } of ADDONS) {
    const { GLIBC, GLIBCXX } = checkSymbolVersions(join(out, `${name}.node`), ADDON_LIMITS);
    console.error(`${architecture}: ${name}.node asks for GLIBC_${GLIBC}, GLIBCXX_${GLIBCXX}`);
  }
  return out;
}
