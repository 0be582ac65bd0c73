// SPDX-License-Identifier: Apache-2.0
// One run of a QEMU machine without a screen: its console goes to a log with times, marked lines of it are the guest's report.
import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Architecture, CACHE } from "./kernel.js";

/** Prefix of the lines of the guest's report; the console also carries the kernel's messages. */
export const MARK = "@@report ";

export interface QemuOptions {
  /** Names the log in .vm/. */
  name: string;
  architecture: Architecture;
  kernel: string;
  initrd: string;
  memoryMegabytes: number;
  /** Kernel parameters next to the console. */
  append: string;
  /** More words for QEMU: disks, folders of the host. */
  words: readonly string[];
  limitSeconds: number;
  /** Called with each report as it comes. */
  onReport(report: Record<string, unknown>): void;
}

export interface MachineEnd {
  /** The program's exit code; undefined where the machine died before it ended. */
  exitCode: number | undefined;
  seconds: number;
  /** The console's last lines, for a person. */
  tail: string;
}

const EMULATORS = {
  amd64: { command: "qemu-system-x86_64", words: ["-cpu", "max"], console: "ttyS0" },
  arm64: { command: "qemu-system-aarch64", words: ["-M", "virt", "-cpu", "cortex-a57"], console: "ttyAMA0" },
};

/** Boots and resolves when the machine is off; it is killed after limitSeconds. */
export function runQemu(options: QemuOptions): Promise<MachineEnd> {
  mkdirSync(CACHE, { recursive: true });
  const emulator = EMULATORS[options.architecture];
  const started = performance.now();
  const child = spawn(
    emulator.command,
    [
      ...emulator.words,
      // KVM of a machine that is itself a virtual one may fail in the middle of a boot; this works everywhere.
      "-accel",
      "tcg,thread=multi",
      "-smp",
      "2",
      "-m",
      String(options.memoryMegabytes),
      "-display",
      "none",
      "-monitor",
      "none",
      "-nic",
      "none",
      "-serial",
      "stdio",
      "-kernel",
      options.kernel,
      "-initrd",
      options.initrd,
      "-append",
      `console=${emulator.console} quiet loglevel=1 ${options.append}`,
      ...options.words,
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  return new Promise((resolve, reject) => {
    const log = createWriteStream(join(CACHE, `${options.name}.log`));
    const lines: string[] = [];
    let rest = "";
    let exitCode: number | undefined;
    const timer = setTimeout(() => child.kill("SIGKILL"), options.limitSeconds * 1000);
    const take = (line: string) => {
      log.write(`${((performance.now() - started) / 1000).toFixed(1)} ${line}\n`);
      const at = line.indexOf(MARK);
      if (at < 0) {
        lines.push(line);
        if (lines.length > 60) lines.shift();
        return;
      }
      const report = JSON.parse(line.slice(at + MARK.length)) as Record<string, unknown>;
      if (typeof report.exitCode === "number") exitCode = report.exitCode;
      else options.onReport(report);
    };
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      const parts = (rest + chunk).split("\n");
      rest = parts.pop()!;
      for (const part of parts) take(part.replace(/\r$/, ""));
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => take(`qemu: ${chunk.trim()}`));
    child.on("error", reject);
    child.on("close", () => {
      clearTimeout(timer);
      if (rest !== "") take(rest);
      log.end();
      resolve({ exitCode, seconds: (performance.now() - started) / 1000, tail: lines.join("\n") });
    });
  });
}
