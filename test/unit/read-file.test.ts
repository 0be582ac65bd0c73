// SPDX-License-Identifier: Apache-2.0
// Tests files that users name: other than regular files are refused at once, so that no read waits for the writer of a
// pipe.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { openReplaySource } from "../../camera/index.js";
import { openRegularFile, readRegularFile, readRegularFileAsync, withFileTimeout } from "../../core/index.js";
import { readControlSecret } from "../../edge/control/secret.js";
import { openRecording } from "../../edge/mcap/recording.js";
import { readCredentials } from "../../edge/mqtt/credentials.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-files-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const pipe = () => {
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  return path;
};

async function expectRefused(path: string, message: RegExp) {
  expect(() => readRegularFile(path, 10)).toThrow(message);
  await expect(readRegularFileAsync(path, 10)).rejects.toThrow(message);
}

test("reads a regular file, empty or not, and refuses one that is larger than allowed", async () => {
  const path = join(folder, "file");
  for (const text of ["", "0123456789"]) {
    writeFileSync(path, text);
    expect(readRegularFile(path, 10).toString()).toBe(text);
    expect((await readRegularFileAsync(path, 10)).toString()).toBe(text);
  }
  writeFileSync(path, "0123456789a");
  await expectRefused(path, /^11 bytes, where at most 10 were expected$/);
});

test("refuses pipes, sockets, devices, folders and missing files", async () => {
  const socket = join(folder, "socket");
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    server.close();
  });
  await expectRefused(pipe(), /^a pipe, where a file was expected$/);
  await expectRefused(socket, /^a socket, where a file was expected$/);
  await expectRefused("/dev/zero", /^a device, where a file was expected$/);
  await expectRefused(folder, /EISDIR/);
  await expectRefused(join(folder, "missing"), /ENOENT/);
  await expect(openRegularFile(join(folder, "pipe"))).rejects.toThrow("a pipe");
});

test("does not wait without end for a file system that does not answer", async () => {
  await expect(withFileTimeout(new Promise(() => {}), 20)).rejects.toThrow(
    "no answer of the file system within 0.02 s",
  );
  expect(await withFileTimeout(Promise.resolve(1), 20)).toBe(1);
});

test("every kind of file that a setting names is refused when it is a pipe", async () => {
  const path = pipe();
  const message = expect.stringContaining("a pipe, where a file was expected");
  await expect(openRecording(path)).rejects.toMatchObject({ message });
  await expect(openReplaySource({ left: path, right: path, rateHz: "max" })).rejects.toMatchObject({
    message,
  });
  for (const files of [{ passwordFile: path }, { caFile: path }, { certFile: path, keyFile: "/dev/null" }])
    expect(() => readCredentials(files)).toThrow(expect.objectContaining({ message }));
  expect(() => readControlSecret(path)).toThrow(expect.objectContaining({ message }));
});
