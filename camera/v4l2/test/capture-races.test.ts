// SPDX-License-Identifier: Apache-2.0
// The native capture under ThreadSanitizer and AddressSanitizer: two threads, one camera, every kind of trouble.
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";

const here = import.meta.dirname;
const CAPTURE = join(here, "../native");
const FAKE = join(here, "fake-video");
/** Leaves out tests that need Node-API. */
const withNode = new Set([
  "addon.cc",
  "arguments.cc",
  "binding.cc",
  "call.cc",
  "camera_handle.cc",
  "convert.cc",
  "status_error.cc",
  "fake_binding.cc",
]);
const execute = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "v4l2-camera-races-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("capture under sanitizers", () => {
  test.each([
    ["thread", "-fsanitize=thread"],
    ["address and undefined behaviour", "-fsanitize=address,undefined -fno-sanitize-recover=all"],
  ])(
    "%s",
    async (name, flags) => {
      const sources = [CAPTURE, FAKE].flatMap((from) =>
        readdirSync(from)
          .filter((file) => file.endsWith(".cc") && !withNode.has(file))
          .map((file) => join(from, file)),
      );
      const program = join(folder, name.split(" ")[0]!);
      const words = [
        "-std=c++17",
        "-O0",
        "-g",
        ...flags.split(" "),
        ...sources,
        join(here, "capture_races_main.cc"),
      ];
      // Not synchronously: under load this takes longer than the test runner waits for an answer.
      const build = await execute("g++", [...words, "-o", program, "-pthread", "-ldl"]);
      expect(build.stderr).toBe("");
      const { stdout, stderr } = await execute(program, [], { timeout: 30_000 });
      expect(stderr).toBe("");
      expect(stdout).toMatch(/^images \d{3,}, opens 0, mappings 0\n$/);
    },
    180_000,
  );
});
