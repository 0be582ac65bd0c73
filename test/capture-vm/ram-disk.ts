// SPDX-License-Identifier: Apache-2.0
// The guest's first files as a cpio archive ("newc"), written here so that no file needs root or a tool.

export interface RamFile {
  path: string;
  /** Absent: a folder. */
  content?: Uint8Array;
}

const FOLDER = 0o040755;
const PROGRAM = 0o100755;

const padded = (length: number) => (4 - (length % 4)) % 4;

function entry(number: number, { path, content }: RamFile): Buffer {
  const name = Buffer.from(`${path}\0`);
  const data = Buffer.from(content ?? []);
  const fields = [number, content ? PROGRAM : FOLDER, 0, 0, 1, 0, data.length, 0, 0, 0, 0, name.length, 0];
  const head = Buffer.from(`070701${fields.map((field) => field.toString(16).padStart(8, "0")).join("")}`);
  return Buffer.concat([
    head,
    name,
    Buffer.alloc(padded(head.length + name.length)),
    data,
    Buffer.alloc(padded(data.length)),
  ]);
}

/** Folders must come before their content. */
export function ramDisk(files: readonly RamFile[]): Buffer {
  const entries = files.map((file, index) => entry(index + 1, file));
  return Buffer.concat([...entries, entry(0, { path: "TRAILER!!!", content: new Uint8Array() })]);
}
