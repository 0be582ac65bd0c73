// SPDX-License-Identifier: Apache-2.0
// The run of a configuration with several rigs: one line, one log and one JSON object for all of them.
import { DepthwattError } from "../../../core/index.js";
import type { Config, LoadedConfig } from "../../config/index.js";
import { saveSettings } from "../../control/save.js";
import { Rigs } from "../../run/rigs.js";
import type { ServiceNotifier } from "../../service/notify.js";
import { LiveLine, powerWords } from "../live-line.js";
import type { Log } from "../log.js";
import { printJson, printLine, printText } from "../output.js";
import { energyFields, energyLine } from "./energy-entry.js";
import { greet } from "./greeting.js";
import { reload, reloadRefused } from "./reload.js";
import { RepeatLimit } from "./repeat-limit.js";
import { stopOnSignals } from "./signals.js";

type LoadedRigs = ReadonlyMap<string, LoadedConfig>;

export interface RigsRunOptions {
  frames?: number;
  json?: boolean;
  /** The configuration file. */
  file: string | undefined;
}

export interface RigsRunParts {
  rigs: LoadedRigs;
  /** Reads the configuration again, or that of a file that is to take its place. @throws DepthwattError CONFIG_* */
  load(file?: string): LoadedRigs | undefined;
  log: Log;
  notifier: ServiceNotifier;
}

/** "front 30.0 fps | rear waiting: no camera | 12.10 W, 4.96 fps/W" */
export function rigsLine(rigs: Pick<Rigs, "rigs" | "fps" | "power">): string {
  const parts = rigs.rigs.map(({ name, phase, problem }) => {
    if (phase === "running") return `${name} ${(rigs.fps(name) ?? 0).toFixed(1)} fps`;
    return problem === undefined ? `${name} ${phase}` : `${name} ${phase}: ${problem.message}`;
  });
  return [...parts, powerWords(rigs)].join(" | ");
}

/** Returns the configuration of one rig. @throws DepthwattError CONFIG_INVALID if the file lost it */
function configOf(loaded: LoadedRigs | undefined, name: string): LoadedConfig {
  const found = loaded?.get(name);
  if (found === undefined) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `rigs: expected ${name}, which runs, found none of that name`,
      {
        hint: "Restart depthwatt to run other rigs.",
      },
    );
  }
  return found;
}

export async function runRigs(
  options: RigsRunOptions,
  { rigs: loaded, load, log, notifier }: RigsRunParts,
): Promise<void> {
  const live = new LiveLine();
  const limit = new RepeatLimit();
  const quiet = options.json === true;
  const { file } = options;
  const [first] = loaded.values() as Iterable<LoadedConfig> as [LoadedConfig];
  log.level = first.config.log.level;
  let wasMeasured = true;
  /** Rigs that were opening when the configuration was read again. */
  const late = new Set<string>();
  const rigs = new Rigs(
    {
      configs: new Map<string, Config>([...loaded].map(([name, { config }]) => [name, config])),
      load: (name) => configOf(load(), name).config,
      frames: options.frames,
      waits: notifier.active,
      ...(file !== undefined && {
        save: (name, change) =>
          saveSettings(file, change, (candidate) => configOf(load(candidate), name).config, ["rigs", name]),
      }),
    },
    {
      onNotice: (name, notice) => {
        const line = limit.admit(`${name}: ${notice}`);
        if (line === undefined) return;
        live.finish();
        log.warn({ event: "notice", rig: name }, line);
      },
      onState: (name, state, reason) => {
        const line = notifier.active ? limit.admit(`${name} ${state}: ${reason}`) : undefined;
        if (line !== undefined) log.info({ event: "state", rig: name, state, reason }, line);
      },
      onFrame: () => {
        notifier.ready();
        notifier.frameCompleted();
      },
      onSettings: ({ log: { level } }) => {
        log.level = level;
      },
      onEnergy: (record) => {
        const isMeasured = typeof record.watts === "number";
        if (notifier.active && (isMeasured || wasMeasured))
          log.info(energyFields(record), energyLine(record));
        wasMeasured = isMeasured;
      },
      onIdle: (seconds) => notifier.startsLater(seconds),
      onFigures: () => {
        const line = rigsLine(rigs);
        notifier.status(line);
        if (!quiet && !notifier.active) live.show(line);
      },
      onOpen: (name, runtime) => {
        if (late.delete(name)) void reload(runtime, () => configOf(load(), name), log, name);
        const { rateHz } = runtime.parts.source.description;
        if (rateHz !== undefined) notifier.expectEvery(1000 / rateHz);
        if (quiet) return;
        live.finish();
        printLine(`rig       ${name}`);
        greet(runtime);
      },
      onWait: (name, { code, message, hint }) => {
        // The service is up, though a rig of it waits.
        notifier.ready();
        notifier.status(rigsLine(rigs));
        const line = limit.admit(`${name}: ${message}`);
        if (line === undefined) return;
        live.finish();
        log.warn({ event: "waiting", rig: name, errorCode: code, hint }, line);
      },
    },
  );
  notifier.excuse(() => rigs.isExcused);
  const reloadAll = async () => {
    let next: LoadedRigs | undefined;
    try {
      next = load();
    } catch (error) {
      reloadRefused(error, log);
      return;
    }
    // A rig that waits reads the file when it is opened again.
    for (const { name, runtime, phase } of rigs.rigs) {
      if (runtime !== undefined) await reload(runtime, () => configOf(next, name), log, name);
      else if (phase === "starting") late.add(name);
    }
    for (const name of next?.keys() ?? []) {
      if (loaded.has(name)) continue;
      log.warn({ event: "reload", rig: name }, `${name}: reload: it is new. Restart depthwatt to run it.`);
    }
  };
  const signals = stopOnSignals(rigs, notifier, () => void reloadAll());
  try {
    const summaries = await rigs.run();
    live.finish();
    if (quiet) printJson({ rigs: summaries });
    else {
      for (const [name, summary] of Object.entries(summaries))
        printText(
          "frames" in summary
            ? `${name}: ${summary.frames} frames in ${summary.seconds.toFixed(1)} s`
            : `${name}: ${summary.reason}`,
        );
    }
    const failed = rigs.rigs.find(({ problem }) => problem !== undefined);
    if (signals.received || failed?.problem === undefined) return;
    const { code, message, hint, context } = failed.problem;
    throw new DepthwattError(code, `rig ${failed.name}: ${message}`, {
      hint,
      context,
      cause: failed.problem,
    });
  } finally {
    live.finish();
    signals.forget();
  }
}
