// SPDX-License-Identifier: Apache-2.0
// Disks without room, where frames that were received and settings that were changed are saved.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import { readGreyImage } from "../../camera/index.js";
import { savePairs } from "../../edge/commands/capture/command.js";
import { loadConfig } from "../../edge/config/index.js";
import { saveSettings } from "../../edge/control/save.js";
import { BadDays } from "../doubles/bad-day.js";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { fillDisk, mountDisk, testThatMounts } from "../doubles/mounts.js";
import { needs } from "../doubles/needs.js";
import { PacedSource } from "../doubles/paced-source.js";
import { runProgram, startProgram } from "../doubles/program.js";
import { Random } from "../doubles/random.js";

const bench = new BadDays();
afterEach(() => bench.close());

function smallDisk(): string {
  const disk = join(bench.folder(), "disk");
  mkdirSync(disk);
  bench.owns(mountDisk(disk, "256k"));
  return disk;
}

needs("mosquitto").suite("frames that are saved", () => {
  testThatMounts(
    "consume --save on a disk that fills: exit 3, the cause, and no half of a picture",
    async () => {
      const disk = smallDisk();
      const mosquitto = await startMosquitto();
      bench.owns(() => mosquitto.stop());
      const set = ["board=none", "power.sensor=none", "outputs.viewer.enabled=false"];
      const size = ["source.synthetic.width=192", "source.synthetic.height=128", "match.numDisparities=32"];
      const words = ["run", "--broker", mosquitto.url, "--rate", "10"];
      const run = startProgram([...words, ...[...set, ...size].flatMap((one) => ["--set", one])]);
      bench.owns(async () => {
        run.child.kill("SIGTERM");
        await run.ended;
      });
      const saved = await runProgram(["consume", mosquitto.url, "--save", disk, "--format", "raw"]);
      expect(saved.code, saved.stderr).toBe(3);
      expect(saved.stderr).toMatch(/^error: .*(ENOSPC|no space)/im);
      expect(saved.stderr).toMatch(/^hint: /m);
      const names = readdirSync(disk);
      expect(names.filter((name) => name.endsWith(".part"))).toEqual([]);
      const pictures = names.filter((name) => name.endsWith(".raw"));
      expect(pictures.length).toBeGreaterThan(0);
      for (const name of pictures) expect(statSync(join(disk, name)).size, name).toBe(2 * 192 * 128);
      for (const name of names.filter((one) => one.endsWith(".json")))
        expect(() => JSON.parse(readFileSync(join(disk, name), "utf8")), name).not.toThrow();
    },
    120_000,
  );
});

testThatMounts(
  "capture --save on a disk that fills: an error, and every pair that is there is whole",
  async () => {
    const disk = smallDisk();
    for (const side of ["left", "right"]) mkdirSync(join(disk, side));
    const random = new Random(5);
    const image = Uint8Array.from({ length: 160 * 120 }, () => random.whole(0, 255));
    const source = new PacedSource({ width: 160, height: 120, left: image, right: image });
    bench.owns(() => source.stop());
    await expect(savePairs(source, { frames: 50, save: disk, skip: 0 })).rejects.toThrow(/ENOSPC/);
    await source.stop();
    await until("all pairs are saved or removed", () => {
      const [left, right] = ["left", "right"].map((side) => readdirSync(join(disk, side)).sort());
      return left!.every((name) => !name.endsWith(".part")) && left!.join() === right!.join();
    });
    const saved = readdirSync(join(disk, "left"));
    expect(saved.length).toBeGreaterThan(0);
    for (const name of saved)
      for (const side of ["left", "right"])
        expect((await readGreyImage(join(disk, side, name))).data, name).toEqual(image);
  },
);

needs("mosquitto").suite("a running program whose settings are saved", () => {
  testThatMounts(
    "on a full disk: the answer names it, the run continues, and saves when there is room",
    async () => {
      const disk = smallDisk();
      const file = join(disk, "depthwatt.yaml");
      const before = `match:\n  numDisparities: 32 # ${"x".repeat(6000)}\n`;
      writeFileSync(file, before);
      const secret = join(bench.folder(), "secret");
      writeFileSync(secret, "correct horse battery staple\n", { mode: 0o600 });
      const day = await bench.begin({
        settings: ["control.enabled=true", `control.secretFile=${secret}`],
        words: ["--config", file],
      });
      const set = (value: number) => {
        const of = ["--broker", day.broker.url, "--device", "bad", "--secret-file", secret, "--save"];
        return runProgram(["set", `match.sgm.p1=${value}`, ...of]);
      };
      const first = await set(15);
      expect(first.code, first.stderr).toBe(0);
      const saved = readFileSync(file, "utf8");
      expect(saved).toContain("p1: 15");
      const held = await day.holds();
      const ballast = fillDisk(disk);
      const refused = await set(16);
      expect(refused.code, refused.stderr).not.toBe(0);
      expect(refused.stderr).toMatch(/could not be saved/);
      expect(readFileSync(file, "utf8")).toBe(saved);
      await day.delivers();
      rmSync(ballast);
      const again = await set(17);
      expect(again.code, again.stderr).toBe(0);
      expect(readFileSync(file, "utf8")).toContain("p1: 17");
      await day.holdsAgain(held);
      expect((await day.end()).code).toBe(0);
    },
    180_000,
  );
});

testThatMounts(
  "settings that are saved on a full disk: the file stays as it was, and the error names it",
  () => {
    const disk = smallDisk();
    const file = join(disk, "depthwatt.yaml");
    const before = `match:\n  numDisparities: 64 # ${"x".repeat(6000)}\n`;
    writeFileSync(file, before);
    fillDisk(disk);
    const load = (candidate: string) => loadConfig({ file: candidate, environment: {} }).config;
    expect(() => saveSettings(file, { "match.numDisparities": 96 }, load)).toThrow(
      expect.objectContaining({
        code: "OUTPUT_UNWRITABLE",
        message: expect.stringMatching(/ENOSPC|no space/),
      }),
    );
    expect(readFileSync(file, "utf8")).toBe(before);
    expect(readdirSync(disk).sort()).toEqual(["ballast", "depthwatt.yaml"]);
  },
);
