// SPDX-License-Identifier: Apache-2.0
// A Debian package out of a folder with its files: the same files give the same bytes. Modes, owners and times are set here.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

/** Returns every path below a folder, sorted, folders before their contents. */
export function walk(folder, below = "") {
  return readdirSync(join(folder, below), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      return entry.isDirectory() ? [{ path, entry }, ...walk(folder, path)] : [{ path, entry }];
    });
}

/** @param isProgram paths that are executable; every other file is read only by all and written by root */
function settle(tree, epochSeconds, isProgram) {
  for (const { path, entry } of [...walk(tree)].reverse()) {
    const full = join(tree, path);
    if (!entry.isSymbolicLink()) chmodSync(full, entry.isDirectory() || isProgram(path) ? 0o755 : 0o644);
    lutimesSync(full, epochSeconds, epochSeconds);
  }
  chmodSync(tree, 0o755);
  lutimesSync(tree, epochSeconds, epochSeconds);
}

function installedKibibytes(tree) {
  const files = walk(tree).filter(({ path }) => !path.startsWith("DEBIAN"));
  // As dpkg-gencontrol counts: whole KiB for each file, one for each folder.
  return files.reduce((sum, { path, entry }) => {
    const { size } = lstatSync(join(tree, path));
    return sum + (entry.isFile() ? Math.ceil(size / 1024) : 1);
  }, 0);
}

const paragraph = (fields) =>
  Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join("");

/**
 * @param options.tree the files as they will lie below /; control files are put into its DEBIAN/
 * @param options.control fields of control, in order; Installed-Size is added
 * @param options.scripts maintainer scripts: {postinst: text}
 * @param options.conffiles absolute paths
 * @param options.isProgram (path) => whether that file is executable
 * @param options.compression xz's level
 * @returns the package's path
 */
export function makeDeb({
  tree,
  control,
  scripts = {},
  conffiles = [],
  isProgram,
  epochSeconds,
  compression,
  out,
}) {
  const folder = join(tree, "DEBIAN");
  rmSync(folder, { recursive: true, force: true });
  const size = installedKibibytes(tree);
  const sums = walk(tree)
    .filter(({ path, entry }) => entry.isFile() && !conffiles.includes(`/${path}`))
    .map(
      ({ path }) =>
        `${createHash("md5")
          .update(readFileSync(join(tree, path)))
          .digest("hex")}  ${path}\n`,
    );
  mkdirSync(folder);
  const { Description, ...fields } = control;
  writeFileSync(join(folder, "control"), paragraph({ ...fields, "Installed-Size": size, Description }));
  writeFileSync(join(folder, "md5sums"), sums.join(""));
  if (conffiles.length > 0) writeFileSync(join(folder, "conffiles"), `${conffiles.join("\n")}\n`);
  for (const [name, text] of Object.entries(scripts)) writeFileSync(join(folder, name), text);
  settle(tree, epochSeconds, (path) =>
    path.startsWith("DEBIAN/") ? path.slice(7) in scripts : isProgram(path),
  );
  const file = join(out, `${control.Package}_${control.Version}_${control.Architecture}.deb`);
  const words = ["--root-owner-group", "-Zxz", `-z${compression}`, "--build", tree, file];
  execFileSync("dpkg-deb", words, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epochSeconds), LC_ALL: "C", TZ: "UTC" },
  });
  return file;
}
