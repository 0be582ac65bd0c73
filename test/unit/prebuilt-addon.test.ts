// SPDX-License-Identifier: Apache-2.0
// The addon's file: a published package loads its prebuilt one, a checkout what it compiled. An installation compiles only if the
// prebuilt addon does not load.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { addonPath as cameraAddonPath } from "../../camera/v4l2/src/addon.js";
import { addonPath } from "../../core/index.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-prebuilt-"));
afterAll(() => rmSync(folder, { recursive: true }));

function put(path: string, text = ""): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

describe.each([
  ["depthwatt", addonPath],
  ["v4l2_camera", cameraAddonPath],
] as const)("%s", (name, find) => {
  test("the compiled addon is loaded before the prebuilt one; its path is reported if there is none", () => {
    const root = join(folder, name);
    const compiled = join(root, `build/Release/${name}.node`);
    expect(find(root)).toBe(compiled);
    const prebuilt = put(join(root, `prebuilds/linux-${process.arch}/${name}.node`));
    expect(find(root)).toBe(prebuilt);
    put(compiled);
    expect(find(root)).toBe(compiled);
  });
});

describe("the install script", () => {
  const root = join(folder, "package");
  const prebuilt = join(root, `prebuilds/linux-${process.arch}/v4l2_camera.node`);
  const bin = join(folder, "bin");
  mkdirSync(bin);
  symlinkSync(process.execPath, join(bin, "node"));

  beforeEach(() => {
    rmSync(root, { recursive: true, force: true });
    for (const path of ["build.mjs", "package.json", "native/addon.cc"])
      cpSync(join("camera/v4l2", path), join(root, path));
  });

  /** There is no compiler in the PATH. */
  const install = (environment: NodeJS.ProcessEnv = {}) => {
    const env = { PATH: bin, ...environment };
    const { stderr, status } = spawnSync(process.execPath, ["build.mjs"], {
      cwd: root,
      env,
      encoding: "utf8",
    });
    return { stderr, status };
  };
  const refusal =
    /error: the native addon of v4l2-camera is built from source, and make is not there\nhint: /;

  test("takes a prebuilt addon that loads, unless npm was asked to build from source", () => {
    mkdirSync(dirname(prebuilt), { recursive: true });
    cpSync(resolve("camera/v4l2/build/Release/v4l2_camera.node"), prebuilt);
    expect(install()).toEqual({ stderr: "prebuilt v4l2_camera.node loads\n", status: 0 });
    const { stderr, status } = install({ npm_config_build_from_source: "true" });
    expect(stderr).toMatch(refusal);
    expect(status).toBe(1);
  });

  test("compiles where the prebuilt addon does not load, and gives the reason", () => {
    put(prebuilt, "not a library");
    const { stderr, status } = install();
    expect(stderr).toMatch(/^The prebuilt addon does not load here: .*v4l2_camera\.node: .+/);
    expect(stderr).toMatch(refusal);
    expect(status).toBe(1);
  });
});
