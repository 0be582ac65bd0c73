// SPDX-License-Identifier: Apache-2.0
// Every way in which CUDA can be missing has its own sentence, and none of them needs a GPU to be seen. `auto` then runs on
// the CPU and repeats the sentence; an explicit `cuda` fails with it.
// lost-device.test.ts asks for the same sentences within one process.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ERROR_CATALOGUE } from "../../core/error-catalogue.js";
import { needs } from "../doubles/needs.js";
import { reasonWith } from "../doubles/plugin-reason.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-plugin-"));
afterAll(() => rmSync(folder, { recursive: true }));

function compiled(name: string, source: string, ...options: string[]): string {
  const path = join(folder, name);
  execFileSync("g++", ["-std=c++17", "-o", path, ...options, join("test/doubles/native", source)]);
  return path;
}

/** The first 64 bytes of a library: ELF's magic, class, order of bytes, version; type 3; the machine. */
function elfHeader({
  elfClass = 2,
  data = 1,
  machine,
}: {
  elfClass?: number;
  data?: number;
  machine: number;
}) {
  const bytes = Buffer.alloc(64);
  bytes.write("\x7fELF", "latin1");
  bytes.set([elfClass, data, 1], 4);
  bytes.writeUInt16LE(3, 16);
  bytes.writeUInt16LE(machine, 18);
  return bytes;
}

const stub = (name: string, offset: number) =>
  compiled(name, "plugin_stub.cc", "-shared", "-fPIC", `-DABI_OFFSET=${offset}`);

needs("toolchain").suite("a plugin that cannot be used", () => {
  test("is not there", () => {
    const absent = join(folder, "absent.so");
    expect(reasonWith(absent)).toBe(
      `CUDA unavailable: DEPTHWATT_CUDA_PLUGIN names ${absent.slice(0, 140)}, which is not there.`,
    );
  });

  test("is no library", () => {
    const path = join(folder, "text.so");
    writeFileSync(path, "not ELF");
    expect(reasonWith(path)).toMatch(/^CUDA unavailable: the plugin does not load \(.*text\.so.*\)\.$/);
  });

  test.each([
    ["another architecture", { machine: process.arch === "arm64" ? 62 : 183 }, /for (AArch64|x86-64), this/],
    ["a machine that we do not know", { machine: 243 }, /for ELF machine 243 of 64 bits, this/],
    ["32 bits", { elfClass: 1, machine: 40 }, /for ELF machine 40 of 32 bits, this/],
    ["the other order of bytes", { data: 2, machine: 0x1500 }, /for ELF machine 21 of 64 bits, this/],
  ])("is for %s: refused before it is opened", (_, header, words) => {
    const path = join(folder, "foreign.so");
    writeFileSync(path, elfHeader(header));
    const reason = reasonWith(path);
    expect(reason).toMatch(words);
    expect(reason).toMatch(/^CUDA unavailable: .*foreign\.so is built .* the one for this machine\.$/);
  });

  test("is for another architecture: `cuda` is refused with that sentence, `auto` computes", () => {
    const path = join(folder, "other-board.so");
    writeFileSync(path, elfHeader({ machine: process.arch === "arm64" ? 62 : 183 }));
    const run = (backend: string) =>
      spawnSync(
        process.execPath,
        [
          "dist/edge/cli/main.js",
          "run",
          ...`--source synthetic --broker none --frames 1 --json`.split(" "),
        ].concat("--backend", backend),
        { encoding: "utf8", env: { ...process.env, DEPTHWATT_CUDA_PLUGIN: path } },
      );
    const refused = run("cuda");
    expect(refused.status).toBe(4);
    expect(refused.stderr).toContain("Install or build the one for this machine.");
    expect(refused.stderr).toContain(ERROR_CATALOGUE.BACKEND_UNAVAILABLE.hint);
    const computed = run("auto");
    expect(computed.status).toBe(0);
    const { backend, backendReason } = JSON.parse(computed.stdout.trim().split("\n").at(-1)!);
    expect(backend).toBe("cpu");
    expect(backendReason).toContain("other-board.so is built for");
  });

  test("is cut short: the loader's words, and the process continues", () => {
    const path = join(folder, "short.so");
    writeFileSync(path, elfHeader({ machine: process.arch === "arm64" ? 183 : 62 }).subarray(0, 19));
    expect(reasonWith(path)).toMatch(/^CUDA unavailable: the plugin does not load \(.*short\.so.*\)\.$/);
  });

  test("is the library of something else", () => {
    const path = compiled("other.so", "slow_pread.c", "-x", "c", "-shared", "-fPIC");
    expect(reasonWith(path)).toMatch(/other\.so is not a depthwatt plugin\.$/);
  });

  test("is of another ABI version: nothing else of it is called", () => {
    expect(reasonWith(stub("newer.so", 1))).toMatch(
      /the plugin speaks ABI version \d+, this addon \d+; build both from one tree\.$/,
    );
  });

  test("is right but its probe refuses: the probe's own sentence", () => {
    expect(reasonWith(stub("same.so", 0))).toBe("CUDA unavailable: this is a stand-in.");
  });

  test("run --backend cuda fails with that sentence", () => {
    const run = spawnSync(
      process.execPath,
      [
        "dist/edge/cli/main.js",
        "run",
        "--source",
        "synthetic",
        "--backend",
        "cuda",
        "--broker",
        "none",
        "--frames",
        "1",
      ],
      { encoding: "utf8", env: { ...process.env, DEPTHWATT_CUDA_PLUGIN: stub("forced.so", 0) } },
    );
    expect(run.status).not.toBe(0);
    expect(run.stderr).toContain("this is a stand-in");
  });
});
