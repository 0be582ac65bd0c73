// SPDX-License-Identifier: Apache-2.0
// nvpmodel by name: numbers differ between modules, and whoever changes the mode puts it back, also when interrupted.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { DepthwattError } from "../../base/index.js";
import { modeNames } from "../../power/index.js";

export interface PowerModesOptions {
  /** Default: nvpmodel from PATH; another program in tests. */
  program?: string;
  /** Default: /etc/nvpmodel.conf. */
  confFile?: string;
}

export class PowerModes {
  readonly names: readonly string[];
  readonly #program: string;
  readonly #ids: ReadonlyMap<string, string>;
  #original: string | undefined;
  readonly #onSignal = (signal: NodeJS.Signals): void => {
    this.#onExit();
    process.kill(process.pid, signal);
  };
  /** The last thing that can be tried: there is nobody left to tell that it failed. */
  readonly #onExit = (): void => {
    try {
      this.restore();
    } catch {}
  };

  private constructor(program: string, conf: string) {
    this.#program = program;
    this.names = modeNames(conf);
    const lines = conf.matchAll(/^\s*<\s*POWER_MODEL\s+ID=(\d+)\s+NAME=(\S+)\s*>/gm);
    this.#ids = new Map([...lines].map(([, id, name]) => [name!, id!]));
  }

  /** The machine's modes; undefined where there is no nvpmodel. */
  static open(options: PowerModesOptions = {}): PowerModes | undefined {
    try {
      const conf = readFileSync(options.confFile ?? "/etc/nvpmodel.conf", "utf8");
      const modes = new PowerModes(options.program ?? "nvpmodel", conf);
      return modes.names.length > 0 ? modes : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * The mode that is on now.
   * @throws DepthwattError DEVICE_UNAVAILABLE when nvpmodel does not answer
   */
  current(): string {
    const name = /NV Power Mode:\s*(\S+)/.exec(this.#run(["-q"]))?.[1];
    if (name !== undefined) return name;
    throw new DepthwattError("DEVICE_UNAVAILABLE", "nvpmodel -q did not name the power mode.");
  }

  /**
   * Changes the mode and remembers the one that was on first; it comes back with restore(), at the end of the process
   * and when it is interrupted.
   * @throws DepthwattError CONFIG_INVALID (unknown name), DEVICE_UNAVAILABLE (refused; mostly: not root)
   */
  set(name: string): void {
    const id = this.#ids.get(name) ?? this.#ids.get(`MODE_${name}`);
    if (id === undefined) {
      const hint = `There are: ${this.names.join(", ")}.`;
      throw new DepthwattError("CONFIG_INVALID", `This machine has no power mode "${name}".`, { hint });
    }
    const before = this.current();
    if (this.#original === undefined) {
      this.#original = before;
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, this.#onSignal);
      process.once("exit", this.#onExit);
    }
    if (before === name) return;
    this.#run(["-m", id]);
    const now = this.current();
    if (now === name || now === `MODE_${name}`) return;
    throw new DepthwattError(
      "DEVICE_UNAVAILABLE",
      `nvpmodel was asked for ${name}, but the mode is ${now}.`,
      {
        hint: "Some modes need a restart, because they switch parts of the GPU on or off.",
      },
    );
  }

  /** Puts back the mode that was on before the first change; safe to call again. */
  restore(): void {
    const original = this.#original;
    if (original === undefined) return;
    this.#original = undefined;
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(signal, this.#onSignal);
    process.off("exit", this.#onExit);
    const id = this.#ids.get(original);
    if (id !== undefined) this.#run(["-m", id]);
  }

  #run(words: string[]): string {
    // nvpmodel may ask on its standard input whether to restart now: it gets "no". One that asks nothing has closed its
    // input by then (EPIPE), so the exit status decides and nothing else.
    const { status, stdout, error } = spawnSync(this.#program, words, {
      encoding: "utf8",
      input: "no\n",
      timeout: 30_000,
    });
    if (status === 0) return stdout;
    throw new DepthwattError("DEVICE_UNAVAILABLE", `${this.#program} ${words.join(" ")} failed.`, {
      hint: "Changing the power mode needs root: run it with sudo, or leave --modes out.",
      cause: error,
    });
  }
}
