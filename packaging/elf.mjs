// SPDX-License-Identifier: Apache-2.0
// Reads from an ELF file its machine and the newest symbol versions that it needs of the C and C++ libraries.
import { execFileSync } from "node:child_process";
import { closeSync, openSync, readSync } from "node:fs";

const MACHINES = { 62: "x86-64", 183: "AArch64" };

/**
 * Undefined where the file is no little-endian ELF file of 64 bits.
 * @param {string} path
 */
export function elfMachine(path) {
  const bytes = Buffer.alloc(20);
  const descriptor = openSync(path, "r");
  const count = readSync(descriptor, bytes, 0, 20, 0);
  closeSync(descriptor);
  if (count < 20 || bytes.toString("latin1", 0, 6) !== "\x7fELF\x02\x01") return undefined;
  const machine = bytes.readUInt16LE(18);
  return MACHINES[machine] ?? `machine ${machine}`;
}

const newer = (a, b) => {
  const [left, right] = [a, b].map((text) => text.split(".").map(Number));
  for (let i = 0; i < Math.max(left.length, right.length); i++)
    if ((left[i] ?? 0) !== (right[i] ?? 0)) return (left[i] ?? 0) - (right[i] ?? 0);
  return 0;
};

/**
 * The newest of each: {GLIBC: "2.17", GLIBCXX: "3.4.22"}; what a file does not ask for is not in it.
 * @param {string} path
 * @returns {Record<string, string>}
 */
export function symbolVersions(path) {
  const said = execFileSync("readelf", ["--version-info", "--wide", path], {
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  const needs = said.slice(said.indexOf("Version needs section"));
  /** @type {Record<string, string>} */
  const newest = {};
  for (const [, name, version] of needs.matchAll(/Name: (GLIBC|GLIBCXX|CXXABI)_([0-9.]+)/g))
    if (newest[name] === undefined || newer(version, newest[name]) > 0) newest[name] = version;
  return newest;
}

/**
 * Throws where a file asks for a newer version than `maxVersions`, such as {GLIBC: "2.17"}.
 * @param {string} path
 * @param {Record<string, string>} maxVersions
 */
export function checkSymbolVersions(path, maxVersions) {
  const found = symbolVersions(path);
  for (const [name, version] of Object.entries(found)) {
    if (maxVersions[name] !== undefined && newer(version, maxVersions[name]) > 0)
      throw new Error(
        `${path} asks for ${name}_${version}, newer than ${maxVersions[name]}: it would not load on JetPack 5`,
      );
  }
  return found;
}
