// SPDX-License-Identifier: Apache-2.0
// Files that are there whole or not at all: written next to their place and renamed, so that a full disk or an interrupted program
// leaves what was there before and no half of what was to come.
import { lstatSync, type Stats, statSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

let written = 0;

/** Devices and pipes, such as /dev/stdout, have no place next to them; a link is kept and what it leads to replaced in place. */
function isPlain(path: string): boolean {
  try {
    return lstatSync(path).isFile();
  } catch {
    return true;
  }
}

/** @throws Node's error; the file is then as it was */
export async function writeBeside(path: string, bytes: Uint8Array | string): Promise<void> {
  if (!isPlain(path)) return writeFile(path, bytes);
  // File systems count bytes: 255 of them.
  const name = Buffer.from(basename(path)).toString("utf8", 0, 200);
  const temporary = join(dirname(path), `.${name}.${process.pid}-${written++}.part`);
  try {
    await writeFile(temporary, bytes, { flag: "wx" });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Undefined also where nothing can be there: a name that is too long, links in a circle, a file taken for a folder. */
function foundAt(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** Returns whether two paths refer to the same file. For missing files, compares folder and name. */
export function isSameFile(a: string, b: string): boolean {
  const [one, other] = [foundAt(a), foundAt(b)];
  if (one === undefined || other === undefined) {
    const place = (path: string) => {
      const folder = foundAt(dirname(path));
      return `${folder?.dev}:${folder?.ino}/${basename(path)}`;
    };
    return one === other && place(a) === place(b);
  }
  return one.isFile() && one.dev === other.dev && one.ino === other.ino;
}
