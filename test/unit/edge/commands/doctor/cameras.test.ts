// SPDX-License-Identifier: Apache-2.0
// The cameras of a user who may read a device but not write to it. Root may do both, so the answer of the system is scripted.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { lookAtCameras } from "../../../../../edge/commands/doctor/look-at-devices.js";
import { loadConfig } from "../../../../../edge/config/index.js";

vi.mock("node:fs", async (importActual) => {
  const actual = await importActual<typeof import("node:fs")>();
  const accessSync: typeof actual.accessSync = (path, mode = actual.constants.F_OK) => {
    const isRefused = String(path).endsWith("video1") && (mode & actual.constants.W_OK) !== 0;
    if (isRefused) throw Object.assign(new Error("refused"), { code: "EACCES" });
    actual.accessSync(path, mode);
  };
  return { ...actual, accessSync };
});

const root = mkdtempSync(join(tmpdir(), "depthwatt-cameras-"));
afterAll(() => rmSync(root, { recursive: true }));

test("a camera that can only be read is refused", () => {
  mkdirSync(join(root, "dev"));
  for (const name of ["video0", "video1"]) {
    writeFileSync(join(root, "dev", name), "");
    mkdirSync(join(root, "sys/class/video4linux", name), { recursive: true });
    writeFileSync(join(root, "sys/class/video4linux", name, "name"), `camera ${name}\n`);
  }
  const { config } = loadConfig({ environment: {}, set: ["board=none"] });
  expect(lookAtCameras(config, root)).toMatchObject({
    state: "absent",
    text: "2 video devices; this user may not open 1 of them",
    details: ["/dev/video0  camera video0", "/dev/video1  camera video1  (EACCES)"],
  });
});
