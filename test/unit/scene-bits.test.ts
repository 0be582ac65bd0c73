// SPDX-License-Identifier: Apache-2.0
// The same frame is the same bytes everywhere: a committed hash, and builds of the renderer by other means.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SceneRenderer, sceneSetup, sceneView } from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { needs } from "../doubles/needs.js";

const SOURCES = "camera/scene";
const sources = readdirSync(SOURCES)
  .filter((name) => name.endsWith(".cc") && name !== "binding.cc")
  .map((name) => join(SOURCES, name));

async function bytesOfAddon(width: number, height: number, frames: number[]): Promise<Buffer> {
  const renderer = new SceneRenderer(loadNative(), { width, height });
  const parts: Uint8Array[] = [];
  for (const n of frames) {
    const { left, right } = await renderer.frame(n);
    const truth = renderer.truth(n, "left", sceneView(width, height));
    parts.push(left.data as Uint8Array, right.data as Uint8Array);
    parts.push(new Uint8Array(truth.disparity.data.buffer), truth.visible.data as Uint8Array);
  }
  renderer.close();
  return Buffer.concat(parts);
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("frames 0 and 77 of the default scene are the ones that were looked at", async () => {
  expect(sha256(await bytesOfAddon(640, 480, [0, 77]))).toBe(
    "87c9c80f864072ec322b80791b381ce0343424ff5fda253ccddab0c54e36c087",
  );
});

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-scene-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("rays that ask only the objects they can meet find what rays find that ask all", () => {
  const program = join(folder, "culling");
  const files = ["culling", "noise", "world", "texture"].map((name) => join(SOURCES, `${name}.cc`));
  const flags = ["-std=c++17", "-O2", "-ffp-contract=off", "-pthread", "-o", program];
  const build = spawnSync("g++", [...flags, "test/native/scene_culling_main.cc", ...files], {
    encoding: "utf8",
  });
  expect(build.stderr).toBe("");
  const run = (...words: string[]) => spawnSync(program, words, { encoding: "utf8" });
  expect(run()).toMatchObject({ status: 0, stdout: "0 of 64000 rays, 0 of 64000 shadows\n" });
  expect(run("blind").status).toBe(1);
});

function bytesOfBuild(compiler: string, flags: string[], runner: string[]): Buffer {
  const program = join(folder, "scene");
  const build = spawnSync(
    compiler,
    ["-std=c++17", "-ffp-contract=off", ...flags, "-I.", ...sources, "-o", program, "-pthread"],
    { encoding: "utf8" },
  );
  expect(build.stderr).toBe("");
  const setup = sceneSetup({ width: 96, height: 64 });
  const numbers = [
    setup.width,
    setup.height,
    setup.seed,
    setup.noiseGrey,
    setup.cellPixels,
    setup.focalPixels,
  ];
  numbers.push(setup.baselineMetres);
  for (const side of [setup.left, setup.right]) {
    numbers.push(side.fx, side.fy, side.cx, side.cy, ...side.distortion, ...side.rotation);
    numbers.push(side.offsetMetres, side.gain, side.offsetGrey, side.vignetting);
  }
  const [command, ...words] = [...runner, program, "0", "77", "1000003"];
  const run = spawnSync(command!, words, { input: numbers.join("\n"), maxBuffer: 1 << 26 });
  expect(run.stderr.toString()).toBe("");
  return run.stdout;
}

needs("toolchain").suite("other flags", () => {
  test("-O3 -march=native: vectors and, but for -ffp-contract=off, fused multiply-adds", async () => {
    const expected = await bytesOfAddon(96, 64, [0, 77, 1_000_003]);
    expect(sha256(bytesOfBuild("g++", ["-O3", "-march=native"], []))).toBe(sha256(expected));
  }, 240_000);
});

needs("aarch64").suite("another CPU", () => {
  test("64-bit ARM, emulated", async () => {
    const expected = await bytesOfAddon(96, 64, [0, 77, 1_000_003]);
    const built = bytesOfBuild("aarch64-linux-gnu-g++", ["-O2", "-static"], ["qemu-aarch64-static"]);
    expect(sha256(built)).toBe(sha256(expected));
  }, 240_000);
});
