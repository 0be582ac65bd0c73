// SPDX-License-Identifier: Apache-2.0
// NVML of any driver: one that does not start, has no GPU, lacks functions, or has more GPUs than are read.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { addonPath } from "../../../core/addon.js";
import { needs } from "../../doubles/needs.js";

needs("toolchain").suite("NVML of a driver", () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-nvml-drivers-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Runs a program with the addon as `power`, in which `when(variables, use)` sets the library's variables. */
  function run(name: string, flags: string[], program: string): Record<string, unknown> {
    mkdirSync(join(folder, name));
    const source = join(import.meta.dirname, "../../doubles/native/scripted_nvml.c");
    const library = join(folder, name, "libnvidia-ml.so.1");
    execFileSync("gcc", ["-shared", "-fPIC", ...flags, "-o", library, source]);
    const whole = `
      const { power } = require(process.argv[1]);
      const when = (variables, use) => {
        Object.assign(process.env, variables);
        try { return use(); } finally { for (const name of Object.keys(variables)) delete process.env[name]; }
      };
      const found = {};
      ${program}
      console.log(JSON.stringify(found));`;
    const env = { ...process.env, LD_LIBRARY_PATH: join(folder, name) };
    return JSON.parse(
      execFileSync(process.execPath, ["--eval", whole, addonPath()], {
        env,
        encoding: "utf8",
        timeout: 20_000,
      }),
    ) as Record<string, unknown>;
  }

  test("that does not start, shows no GPU, and then seventeen", () => {
    const found = run(
      "new",
      [],
      `
      found.closed = [power.nvmlErrorText(5), power.nvmlRead(0).powerMilliwatts];
      const { nvmlOpen, nvmlRead } = power;
      found.reasons = [{ NVML_INIT: 9 }, { NVML_COUNT: 99 }, { NVML_HANDLE: 3 }, { NVML_GPUS: 0 }].map((variables) =>
        when({ NVML_GPUS: 2, ...variables }, nvmlOpen).reason);
      found.opened = when({ NVML_GPUS: 17 }, nvmlOpen);
      found.again = when({ NVML_GPUS: 1, NVML_INIT: 9 }, nvmlOpen).devices.length;
      found.readings = [0, 1, 2, 3, 15].map((device) => Object.values(nvmlRead(device)));
      found.none = [16, -1, 0.5, NaN, "0", undefined].map((device) => nvmlRead(device).temperatureCelsius.error);
      found.lost = when({ NVML_LOST: 15 }, () => [0, 2].map((device) => Object.values(nvmlRead(device))));
      found.texts = [7, 99, 1e10, "x"].map(power.nvmlErrorText);
      const quantities = ["power", "powerUsage", "energy", "other"];
      const list = [...quantities.map((quantity) => ({ nvml: 0, quantity })), { nvml: 15, quantity: "power" }];
      const sample = () => {
        const sampler = power.createSampler({ sources: list, periodNs: 1e12, capacityRows: 2 });
        const out = new Float64Array(4 * list.length);
        while (sampler.drain(out) === 0);
        sampler.stop();
        return Array.from(list, (_, i) => (out[4 * i + 3] === 0 ? out[4 * i + 2] : { status: out[4 * i + 3] }));
      };
      found.sampled = sample();
      found.sampledLost = when({ NVML_LOST: 15 }, sample);
      const beyond = { sources: [{ nvml: 16, quantity: "power" }], periodNs: 1e12, capacityRows: 2 };
      found.beyond = power.createSampler(beyond).reason;`,
    );
    const error = (status: number) => ({ error: `status ${status}` });
    expect(found.closed).toEqual(["NVML is not open", { error: "NVML is not open" }]);
    expect(found.reasons).toEqual([
      "NVML does not start: status 9",
      "NVML does not start: an error without a name",
      "NVML shows no handle for a GPU: status 3",
      "NVML is there but shows no GPU",
    ]);
    const names = ["Scripted GPU", "x".repeat(95), "", ...Array(13).fill("Scripted GPU")];
    const uuid = (index: number) => `GPU-${"abcdefghijklmnop"[index]}`;
    expect(found.opened).toEqual({
      available: true,
      driver: "999.9",
      devices: names.map((name, index) => ({ index, name, uuid: uuid(index) })),
    });
    expect(found.again).toBe(16);
    // Power, energy, both clocks, temperature and reasons of a lower clock.
    const row = (device: number, power: number) => [
      ...[power, 2 ** 40 + device, 1000 + device, 2000 + device, 40 + device],
      2 ** 33 + device,
    ];
    expect(found.readings).toEqual([row(0, 1000), row(1, 5e9), row(2, 702), row(3, 703), row(15, 1000)]);
    expect(found.none).toEqual(Array(6).fill("status 2"));
    const kept = (device: number) => row(device, 0).slice(2);
    expect(found.lost).toEqual([0, 2].map((device) => [error(15), error(15), ...kept(device)]));
    const largest = `status ${String(2 ** 31 - 1).slice(0, 8)}`;
    expect(found.texts).toEqual(["status 7", "an error without a name", largest, largest]);
    expect(found.sampled).toEqual([1000, 700, 2 ** 40, 1000, 1000]);
    expect(found.sampledLost).toEqual(Array(5).fill({ status: 1015 }));
    expect(found.beyond).toBe("NVML shows no GPU with index 16");
  });

  test("that has only the first functions, or not even those", () => {
    const program = "found.opened = when({ NVML_GPUS: 1 }, power.nvmlOpen);";
    const old = run("old", ["-DOLD"], `${program} found.reading = Object.values(power.nvmlRead(0));`);
    expect(old).toEqual({
      opened: { available: true, driver: "", devices: [{ index: 0, name: "Scripted GPU", uuid: "GPU-a" }] },
      // NVML's number for a function that is not found.
      reading: [700, ...Array(5).fill({ error: "status 13" })],
    });
    expect(run("broken", ["-DOLD", "-DBROKEN"], program)).toEqual({
      opened: { available: false, reason: "libnvidia-ml.so.1 lacks the functions of NVML 5 and later" },
    });
  });
});
