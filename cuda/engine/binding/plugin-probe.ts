// SPDX-License-Identifier: Apache-2.0
// Asks for a GPU in a child process first. NVIDIA's library can crash, and it remembers a failed search for the life of
// its process: this process opens the plugin only after a child has found a GPU with it.
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { addonPath } from "../../../core/index.js";

export interface PluginProbe {
  /** Is there a plugin at all? */
  installed: boolean;
  /** Why the GPU cannot be used, one sentence; "" if it can. */
  reason: string;
  /** Signal that ended the child. */
  signal?: string;
  /** The last lines that NVIDIA's library printed. */
  printed: string;
}

/** A GPU that is just starting needs seconds; a driver that hangs never answers. */
const LIMIT_MS = 30_000;
const PRINTED_CHARACTERS = 2000;
const PROGRAM = 'require("node:fs").writeSync(1, require(process.argv[1]).cudaUnavailable())';

/** The plugin's file: next to the addon, unless DEPTHWATT_CUDA_PLUGIN names another one. */
export const pluginPath = (): string =>
  process.env.DEPTHWATT_CUDA_PLUGIN || join(dirname(addonPath()), "libdepthwatt_cuda.so");

export const isPluginInstalled = (): boolean => existsSync(pluginPath());

const ABSENT: PluginProbe = { installed: false, reason: "", printed: "" };
const words = () => ["-e", PROGRAM, addonPath()];

function describe(
  output: string,
  printed: string,
  status: number | null,
  signal: string | null,
): PluginProbe {
  const common = { installed: true, printed: printed.slice(-PRINTED_CHARACTERS).trim() };
  if (status === 0) return { ...common, reason: output };
  const end =
    signal === null
      ? `ended with ${status}`
      : signal === "SIGKILL"
        ? "did not answer"
        : `crashed (${signal})`;
  const reason = `CUDA unavailable: NVIDIA's library ${end} when a child process asked for a GPU.`;
  return { ...common, reason, ...(signal !== null && { signal }) };
}

/** Asks a child process for a GPU and waits for its answer. */
export function probePlugin(): PluginProbe {
  if (!isPluginInstalled()) return ABSENT;
  const { stdout, stderr, status, signal } = spawnSync(process.execPath, words(), {
    encoding: "utf8",
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
  return describe(stdout, stderr, status, signal);
}

/** The same while this process continues. */
export function probePluginBeside(): Promise<PluginProbe> {
  if (!isPluginInstalled()) return Promise.resolve(ABSENT);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, words(), { timeout: LIMIT_MS, killSignal: "SIGKILL" });
    const text = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (chunk: string) => {
        text[name] = (text[name] + chunk).slice(-PRINTED_CHARACTERS);
      });
    child.on("error", (error) => resolve(describe("", error.message, 1, null)));
    child.on("close", (status, signal) => resolve(describe(text.stdout, text.stderr, status, signal)));
  });
}
