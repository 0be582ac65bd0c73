// SPDX-License-Identifier: Apache-2.0
// Sets nvpmodel modes by name, because numbers differ between modules, and restores the mode, also when interrupted.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DepthwattError } from "../../core/index.js";
import { modeIds } from "../../power/index.js";
import { POWER_MODE_SOCKET } from "../service/power-mode/socket.js";

export interface PowerModesOptions {
  /** Default: nvpmodel from PATH, or the root helper where this process is not root and the helper is on; another in tests. */
  program?: string;
  /** Default: /etc/nvpmodel.conf. */
  confFile?: string;
  /** False if the caller ends the process in order and calls restore(); the exit handler restores all the same. */
  onSignals?: boolean;
}

const QUERY = ["-q"];

/** nvpmodel changes modes for root alone; `depthwatt power-modes --allow` switches on who does it for others. */
function nvpmodel(): [string, ...string[]] {
  if (process.geteuid?.() === 0 || !existsSync(POWER_MODE_SOCKET)) return ["nvpmodel"];
  return [process.execPath, fileURLToPath(new URL("../service/power-mode/client.js", import.meta.url))];
}

function modeIn(answer: string): string {
  const name = /NV Power Mode:\s*(\S+)/.exec(answer)?.[1];
  if (name !== undefined) return name;
  throw new DepthwattError("DEVICE_UNAVAILABLE", "nvpmodel -q did not name the power mode.");
}

/** Some confs say MODE_15W where nvpmodel answers 15W. */
const plain = (name: string): string => name.replace(/^MODE_/, "");
const isMode = (found: string, wanted: string): boolean => plain(found) === plain(wanted);

export class PowerModes {
  readonly names: readonly string[];
  readonly #program: readonly [string, ...string[]];
  readonly #signals: readonly NodeJS.Signals[];
  readonly #ids: ReadonlyMap<string, number>;
  #original: string | undefined;
  #last: Promise<void> = Promise.resolve();
  readonly #onSignal = (signal: NodeJS.Signals): void => {
    this.#onExit();
    process.kill(process.pid, signal);
  };
  /** The last attempt: an error can no longer be reported. */
  readonly #onExit = (): void => {
    try {
      this.restore();
    } catch {}
  };

  private constructor(program: readonly [string, ...string[]], conf: string, onSignals: boolean) {
    this.#program = program;
    this.#signals = onSignals ? ["SIGINT", "SIGTERM", "SIGHUP"] : [];
    this.#ids = modeIds(conf);
    this.names = [...this.#ids.keys()];
  }

  /** The machine's modes; undefined where there is no nvpmodel. */
  static open(options: PowerModesOptions = {}): PowerModes | undefined {
    try {
      const conf = readFileSync(options.confFile ?? "/etc/nvpmodel.conf", "utf8");
      const program: [string, ...string[]] = options.program === undefined ? nvpmodel() : [options.program];
      const modes = new PowerModes(program, conf, options.onSignals ?? true);
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
    return modeIn(this.#run(QUERY));
  }

  /** @throws DepthwattError CONFIG_INVALID where the machine has no mode of this name */
  check(name: string): void {
    this.#modeId(name);
  }

  #modeId(name: string): string {
    const id = this.#ids.get(name) ?? [...this.#ids].find(([known]) => isMode(known, name))?.[1];
    if (id !== undefined) return String(id);
    const hint = `There are: ${this.names.join(", ")}.`;
    throw new DepthwattError("CONFIG_INVALID", `This machine has no power mode "${name}".`, { hint });
  }

  #remember(before: string): void {
    if (this.#original !== undefined) return;
    this.#original = before;
    for (const signal of this.#signals) process.once(signal, this.#onSignal);
    process.once("exit", this.#onExit);
  }

  /**
   * Changes the mode and remembers the first one; restore(), the end of the process and an interrupt bring it back.
   * @throws DepthwattError CONFIG_INVALID (unknown name), DEVICE_UNAVAILABLE (refused; mostly: not root)
   */
  set(name: string): void {
    const id = this.#modeId(name);
    const before = this.current();
    this.#remember(before);
    if (isMode(before, name)) return;
    this.#run(["-m", id]);
    this.#expect(name, this.current());
  }

  /**
   * The same without holding up the program's other work; one change after the other.
   * @param name undefined: the mode that was on before the first change
   */
  change(name: string | undefined): Promise<void> {
    const changed = this.#last.then(async () => {
      const wanted = name ?? this.#original;
      if (wanted === undefined) return;
      const id = this.#modeId(wanted);
      const before = modeIn(await this.#runBeside(QUERY));
      this.#remember(before);
      if (isMode(before, wanted)) return;
      await this.#runBeside(["-m", id]);
      this.#expect(wanted, modeIn(await this.#runBeside(QUERY)));
    });
    this.#last = changed.catch(() => {});
    return changed;
  }

  /** The changes so far have been made, or have failed. */
  settled(): Promise<void> {
    return this.#last;
  }

  #expect(name: string, now: string): void {
    if (isMode(now, name)) return;
    throw new DepthwattError(
      "DEVICE_UNAVAILABLE",
      `nvpmodel was asked for ${name}, but the mode is ${now}.`,
      {
        hint: "Some modes need a restart, because they switch parts of the GPU on or off.",
      },
    );
  }

  /**
   * Restores the mode from before the first change; safe to call again.
   * @throws DepthwattError CONFIG_INVALID if nvpmodel had named a mode that its configuration lacks, DEVICE_UNAVAILABLE
   * if it fails or the mode is another afterwards: the board must not stay silently in an unwanted mode
   */
  restore(): void {
    const original = this.#original;
    if (original === undefined) return;
    this.#original = undefined;
    for (const signal of this.#signals) process.off(signal, this.#onSignal);
    process.off("exit", this.#onExit);
    this.#run(["-m", this.#modeId(original)]);
    this.#expect(original, this.current());
  }

  #run(words: string[]): string {
    const [command, ...before] = this.#program;
    // nvpmodel may ask on its standard input whether to restart now: it gets "no". One that asks nothing has closed its
    // input by then (EPIPE), so the exit status decides and nothing else.
    const { status, stdout, stderr, error } = spawnSync(command, [...before, ...words], {
      encoding: "utf8",
      input: "no\n",
      timeout: 30_000,
    });
    if (status === 0) return stdout;
    throw this.#failed(words, stderr, error);
  }

  #runBeside(words: string[]): Promise<string> {
    const [command, ...before] = this.#program;
    return new Promise((resolve, reject) => {
      const child = spawn(command, [...before, ...words], {
        stdio: ["pipe", "pipe", "pipe"],
        timeout: 30_000,
      });
      let answer = "";
      let complaint = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        answer += text;
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        complaint = (complaint + text).slice(-1000);
      });
      child.on("error", (error) => reject(this.#failed(words, complaint, error)));
      child.on("close", (status) =>
        status === 0 ? resolve(answer) : reject(this.#failed(words, complaint, undefined)),
      );
      child.stdin.on("error", () => {});
      child.stdin.end("no\n");
    });
  }

  #failed(words: string[], stderr: string | null, cause: Error | undefined): DepthwattError {
    const why = stderr?.trim().split("\n").at(-1) ?? "";
    return new DepthwattError(
      "DEVICE_UNAVAILABLE",
      `nvpmodel ${words.join(" ")} failed${why === "" ? "" : `: ${why}`}.`,
      {
        hint:
          "Changing the power mode needs root: run it with sudo, switch on the helper of the service with 'sudo depthwatt power-modes " +
          "--allow', or leave --modes (power.modes) out.",
        cause,
      },
    );
  }
}
