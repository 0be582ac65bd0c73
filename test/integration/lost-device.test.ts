// SPDX-License-Identifier: Apache-2.0
// A plugin that cannot be used is named with its reason, and a device that is lost is opened again, once. In this
// process: the plugin is looked for at each opening, and each copy of a library is another one.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createEngine, type EngineInfo, type EngineOptions, openEngine } from "../../cuda/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { needs } from "../doubles/needs.js";
import { smallEngine } from "../doubles/small-engine.mjs";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-lost-"));
const before = process.env.DEPTHWATT_CUDA_PLUGIN;
afterEach(() => {
  if (before === undefined) delete process.env.DEPTHWATT_CUDA_PLUGIN;
  else process.env.DEPTHWATT_CUDA_PLUGIN = before;
});
afterAll(() => rmSync(folder, { recursive: true }));

function reasonWith(plugin: string): string {
  process.env.DEPTHWATT_CUDA_PLUGIN = plugin;
  return loadNative().cudaUnavailable() as string;
}

describe("a plugin that cannot be used", () => {
  const [own, other] = process.arch === "arm64" ? [183, 62] : [62, 183];
  const names: Record<number, string> = { 62: "x86-64", 183: "AArch64" };

  /** Writes the beginning of an ELF library, and returns the reason why it is none for this machine. */
  function reasonFor(
    name: string,
    change: { class?: number; data?: number; machine?: number[]; length?: number },
  ) {
    const bytes = Buffer.alloc(64);
    bytes.write("\x7fELF", "latin1");
    bytes.set([change.class ?? 2, change.data ?? 1, 1], 4);
    bytes.set([3, 0, ...(change.machine ?? [own, 0])], 16);
    const path = join(folder, name);
    writeFileSync(path, bytes.subarray(0, change.length ?? 64));
    return { path, reason: reasonWith(path) };
  }

  test("is not there", () => {
    const absent = join(folder, "absent.so");
    expect(reasonWith(absent)).toBe(
      `CUDA unavailable: DEPTHWATT_CUDA_PLUGIN names ${absent}, which is not there.`,
    );
  });

  test.each([
    ["another architecture", { machine: [other, 0] }, names[other]],
    ["a machine without a name", { machine: [243, 0] }, "ELF machine 243 of 64 bits"],
    ["a machine above 255", { machine: [1, 1] }, "ELF machine 257 of 64 bits"],
    ["32 bits", { class: 1, machine: [40, 0] }, "ELF machine 40 of 32 bits"],
    ["32 bits of the own machine", { class: 1 }, `ELF machine ${own} of 32 bits`],
    ["32 bits of the other machine", { class: 1, machine: [other, 0] }, `ELF machine ${other} of 32 bits`],
    ["the other order of bytes", { data: 2, machine: [1, 21] }, "ELF machine 277 of 64 bits"],
    ["the own machine in the other order of bytes", { data: 2, machine: [0, own] }, names[own]],
    ["20 bytes", { machine: [243, 0], length: 20 }, "ELF machine 243 of 64 bits"],
  ])("is for another machine: %s", (_, change, machine) => {
    const { path, reason } = reasonFor("foreign.so", change);
    expect(reason).toBe(
      `CUDA unavailable: the plugin ${path} is built for ${machine}, this program for ${names[own]}. ` +
        "Install or build the one for this machine.",
    );
  });

  test.each([
    ["19 bytes", { machine: [other, 0], length: 19 }],
    ["an empty library of this machine", {}],
  ])("does not load, with the loader's reason: %s", (name, change) => {
    expect(reasonFor(`${name}.so`, change).reason).toMatch(
      /^CUDA unavailable: the plugin does not load \(.+\)\.$/,
    );
  });
});

needs("toolchain").suite("a plugin of this machine", () => {
  const compile = (name: string, source: string, ...flags: string[]) => {
    const path = join(folder, name);
    const compiler = source.endsWith(".cc") ? ["g++", "-std=c++17"] : ["gcc"];
    const options = [...compiler.slice(1), "-shared", "-fPIC", ...flags, "-o", path];
    execFileSync(compiler[0]!, [...options, join("test/doubles/native", source)]);
    return path;
  };
  beforeAll(() => void compile("failing.so", "failing_plugin.cc"), 60_000);

  test("is the library of something else, of another version, or refuses", () => {
    const other = compile("other.so", "slow_pread.c");
    expect(reasonWith(other)).toBe(`CUDA unavailable: ${other} is not a depthwatt plugin.`);
    const newer = reasonWith(compile("newer.so", "plugin_stub.cc", "-DABI_OFFSET=1"));
    const [, found, expected] = newer.match(
      /speaks ABI version (\d+), this addon (\d+); build both from one tree/,
    )!;
    expect(Number(found)).toBe(Number(expected) + 1);
    const same = compile("same.so", "plugin_stub.cc", "-DABI_OFFSET=0");
    expect(reasonWith(same)).toBe("CUDA unavailable: this is a stand-in.");
  });

  interface State extends Pick<EngineInfo, "backend" | "backendReason" | "memory"> {
    code: string;
    message: string;
  }
  let copies = 0;

  /** @param devices frames that each device computes before it fails */
  async function compute(backend: "auto" | "cuda", frames: number, ...devices: number[]): Promise<State[]> {
    return computeWith({ backend }, frames, ...devices);
  }
  async function computeWith(changes: Partial<EngineOptions>, frames: number, ...devices: number[]) {
    const plugin = join(folder, `failing-${copies++}.so`);
    copyFileSync(join(folder, "failing.so"), plugin);
    process.env.DEPTHWATT_CUDA_PLUGIN = plugin;
    process.env.FAILING_PLUGIN = devices.join(" ");
    const options = smallEngine(32, 16, { ...changes, threads: 1, slots: 2 }) as EngineOptions;
    const engine = createEngine(options);
    const image = new Uint8Array(32 * 16);
    const states: State[] = [];
    for (let frame = 0; frame < frames; frame++) {
      const error = await engine.compute(image, image).then(
        () => ({ code: "ok", message: "" }),
        ({ code, message }: { code: string; message: string }) => ({ code, message }),
      );
      const { backend, backendReason, memory } = engine.info;
      states.push({ ...error, backend, backendReason, memory });
    }
    engine.close();
    delete process.env.FAILING_PLUGIN;
    return states;
  }
  const codes = (states: State[]) => states.map(({ code }) => code);
  const BUS = "The device fell off the bus.";

  test("loses its device: it is opened again; lost a second time, `auto` continues on the CPU", async () => {
    const states = await compute("auto", 6, 2, 1, 9);
    expect(codes(states)).toEqual(["ok", "ok", "FRAME_LOST", "ok", "FRAME_LOST", "ok"]);
    expect(states.map(({ backend }) => backend)).toEqual(["cuda", "cuda", "cuda", "cuda", "cpu", "cpu"]);
    const again = `CUDA was opened again after an error: ${BUS}`;
    expect(states.map(({ backendReason }) => backendReason)).toEqual([
      ...["a CUDA device was found", "a CUDA device was found", again, again],
      ...[`CUDA failed: ${BUS}`, `CUDA failed: ${BUS}`],
    ]);
    expect([states[2]!.message, states[4]!.message]).toEqual([again, `CUDA failed: ${BUS}`]);
  });

  test("with `cuda`, the second loss is final, and each later frame has its error", async () => {
    const states = await compute("cuda", 5, 1, 0, 9);
    expect(codes(states)).toEqual(["ok", "FRAME_LOST", "GPU_LOST", "GPU_LOST", "GPU_LOST"]);
    expect(states[0]!.backendReason).toBe("backend is set to cuda");
    expect(states.slice(2).map(({ message }) => message)).toEqual([BUS, BUS, BUS]);
  });

  test("fails before a frame, where the rows of its images are moved", async () => {
    const MAP = "The device takes no map.";
    const moved = (...devices: number[]) =>
      computeWith({ backend: "auto", verticalOffset: 1 }, 3, ...devices);
    const [lost, ...later] = await moved(-1, 9);
    const again = `CUDA was opened again after an error: ${MAP}`;
    expect(lost).toMatchObject({ code: "FRAME_LOST", message: again, backend: "cuda" });
    expect(codes(later)).toEqual(["ok", "ok"]);
    const twice = await moved(-1, -1, 9);
    expect(codes(twice)).toEqual(["FRAME_LOST", "FRAME_LOST", "ok"]);
    expect(twice[2]).toMatchObject({ backend: "cpu", backendReason: `CUDA failed: ${MAP}` });
  });

  test("has no second device: both errors are named", async () => {
    const both = `${BUS} Opening it again: No device is left.`;
    const [, lost] = await compute("cuda", 2, 0);
    expect(lost).toMatchObject({ code: "GPU_LOST", message: both });
    const [first, second] = await compute("auto", 2, 0);
    expect(first).toMatchObject({
      code: "FRAME_LOST",
      backend: "cpu",
      backendReason: `CUDA failed: ${both}`,
    });
    expect(second!.code).toBe("ok");
  });

  test("has no device at all: `auto` computes on the CPU, `cuda` is refused", async () => {
    expect(await compute("auto", 1)).toMatchObject([
      { code: "ok", backend: "cpu", backendReason: "No device is left." },
    ]);
    await expect(compute("cuda", 1)).rejects.toMatchObject({ code: "BACKEND_UNAVAILABLE" });
  });

  test("a device that computed 1000 frames after its return is opened once more", async () => {
    const losses = async (frames: number) =>
      codes(await compute("cuda", frames + 2, 0, frames, 9)).filter((code) => code !== "ok");
    expect(await losses(1000)).toEqual(["FRAME_LOST", "FRAME_LOST"]);
    expect(await losses(999)).toEqual(["FRAME_LOST", "GPU_LOST"]);
  });

  test("times of the paths: the first frame does not count, and each later one has an eighth", async () => {
    const paths = (await compute("auto", 4, 9)).map(({ memory }) => [
      memory.imagesMicroseconds,
      memory.resultsMicroseconds,
    ]);
    // Frame n takes 10 n and 20 n microseconds: 20, then 20 + 10 / 8, then 21.25 + 18.75 / 8.
    const images = [undefined, 20, 21.25, 23.59375];
    expect(paths).toEqual(images.map((time) => [time, time && 2 * time]));
  });

  // Without the child process that asks first, the crash would end this one.
  test.each([
    ["at once", async (options: EngineOptions) => createEngine(options)],
    ["on another thread", openEngine],
  ])("crashes while it is loaded, after another one was used: an engine opened %s", async (_, open) => {
    expect((await compute("cuda", 1, 9))[0]!.backend).toBe("cuda");
    const plugin = compile("crash.so", "crashing_plugin.c");
    const opened = (backend: EngineOptions["backend"]) => {
      process.env.DEPTHWATT_CUDA_PLUGIN = plugin;
      return open(smallEngine(32, 16, { backend, threads: 1, slots: 2 }) as EngineOptions);
    };
    const reason = expect.stringMatching(/^CUDA unavailable: NVIDIA's library crashed \(SIGSEGV\)/);
    const engine = await opened("auto");
    expect(engine.info).toMatchObject({ backend: "cpu", backendReason: reason });
    engine.close();
    await expect(opened("cuda")).rejects.toMatchObject({ code: "BACKEND_UNAVAILABLE", message: reason });
  });
});
