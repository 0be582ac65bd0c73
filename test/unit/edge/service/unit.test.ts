// SPDX-License-Identifier: Apache-2.0
// The unit as systemd itself judges it: no unknown key, and an exposure of at most 1.5.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { needs } from "../../../doubles/needs.js";

const shipped = resolve(import.meta.dirname, "../../../../edge/service/depthwatt.service");

needs("systemd").suite("depthwatt.service", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-unit-"));
  const unit = join(folder, "depthwatt.service");
  afterAll(() => rmSync(folder, { recursive: true }));

  function analyze(...words: string[]) {
    const result = spawnSync("systemd-analyze", [...words, unit], { encoding: "utf8" });
    return { status: result.status, output: result.stdout + result.stderr };
  }
  const verify = () => analyze("--man=no", "--recursive-errors=yes", "verify");
  const security = () => analyze("security", "--offline=yes", "--threshold=15", "--no-pager");

  /** The shipped unit with Node where this machine has it, changed as a test wants. */
  function place(change: (text: string) => string = (text) => text): void {
    cpSync(shipped, unit);
    const text = readFileSync(unit, "utf8").replace("/usr/bin/node", process.execPath);
    writeFileSync(unit, change(text));
  }

  test("verifies clean", () => {
    place();
    expect(verify()).toEqual({ status: 0, output: "" });
  });

  test("verify would see an unknown key", () => {
    place((text) => text.replace("NoNewPrivileges=yes", "NoNewPrivilege=yes"));
    expect(verify().status).not.toBe(0);
  });

  test("is exposed at 1.5 or less", () => {
    place();
    const { status, output } = security();
    expect(status, output).toBe(0);
  });

  test("the threshold would see a hole", () => {
    place((text) => text.replace(/^(System|Protect|Restrict|Capability|NoNew).*$/gm, ""));
    expect(security().status).not.toBe(0);
  });

  test("keeps clear of what kills Node at its start", () => {
    const text = readFileSync(shipped, "utf8");
    expect(text).not.toMatch(/^MemoryDenyWriteExecute=/m);
    expect(text).not.toMatch(/^PrivateDevices=/m);
    expect(text).toMatch(/^SystemCallErrorNumber=EPERM$/m);
  });
});
