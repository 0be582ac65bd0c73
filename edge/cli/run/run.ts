// SPDX-License-Identifier: Apache-2.0
// Shares between run and record their flags, and a run from its first frame to its end or the next restart.
import type { Command } from "commander";
import { DepthwattError } from "../../../core/index.js";
import { either, type FlagValue, type LoadedConfig } from "../../config/index.js";
import { loadNative } from "../../contracts/native.js";
import { saveSettings } from "../../control/save.js";
import { openRuntime } from "../../run/main.js";
import type { Runtime, RuntimeEvents, RuntimeHost } from "../../run/runtime.js";
import { createNotifier, type ServiceNotifier } from "../../service/notify.js";
import { whenThere } from "../../service/wait.js";
import { SOURCE_KINDS } from "../../sources/section.js";
import { figuresLine, LiveLine } from "../live-line.js";
import { createLog, type Log } from "../log.js";
import { wholeNumberFrom } from "../numbers.js";
import {
  type ConfigOptions,
  kindFlag,
  loadFlagConfig,
  loadFlagRigs,
  type PlaceOptions,
  placeFlags,
  withPlaces,
} from "../options.js";
import { printJson, printText } from "../output.js";
import { type SettingOptions, settingFlags, withSettingFlags } from "../setting-flags.js";
import { energyFields, energyLine } from "./energy-entry.js";
import { greet } from "./greeting.js";
import { reload, reloadLater } from "./reload.js";
import { RepeatLimit } from "./repeat-limit.js";
import { runRigs } from "./run-rigs.js";
import { stopOnSignals } from "./signals.js";

const SETTINGS = ["calibration", "algorithm", "backend", "broker", "base", "device"] as const;

export interface RunOptions extends ConfigOptions, PlaceOptions, SettingOptions<(typeof SETTINGS)[number]> {
  source?: string;
  rate?: string;
  frames?: number;
  json?: boolean;
}

/** --source walk.mcap means the kind and the file. */
const recordingFile = ({ source }: RunOptions) => (source?.endsWith(".mcap") ? source : undefined);

function sourceFlag(options: RunOptions): FlagValue {
  if (recordingFile(options) !== undefined) return { flag: "--source", value: "mcap" };
  return kindFlag(options);
}

function runFlags(options: RunOptions): Record<string, FlagValue> {
  return {
    "source.kind": sourceFlag(options),
    "source.mcap.file": { flag: "--source", value: recordingFile(options) },
    ...settingFlags(options),
  };
}

const isControlDefault = ({ origins }: LoadedConfig) =>
  [...origins].every(([key, { kind }]) => kind === "default" || !key.startsWith("control."));

const configFileOf = ({ config }: RunOptions) => config ?? (process.env.DEPTHWATT_CONFIG || undefined);

/** Returns the requests that control accepts for this process. `begin`: starts another run after this one. */
function createHost(
  options: RunOptions,
  load: (file?: string) => LoadedConfig,
  begin: () => void,
  service: boolean,
): RuntimeHost {
  const file = configFileOf(options);
  const restart = () => {
    load();
    begin();
  };
  if (!file) return { restart, trial: !service && isControlDefault(load()) };
  return {
    restart,
    save: (change) => saveSettings(file, change, (candidate) => load(candidate).config),
  };
}

/** @param more flags of the command that are not those of run */
export async function run(options: RunOptions, more: Record<string, FlagValue> = {}): Promise<void> {
  const rateHz = { flag: "--rate", value: options.rate };
  const flags = { ...runFlags(options), ...more };
  const sourceFlags = { ...placeFlags(options), rateHz };
  const load = (file = options.config) =>
    loadFlagConfig({ ...options, ...(file !== undefined && { config: file }) }, flags, sourceFlags);
  const log = createLog("info");
  const notifier = createNotifier({
    send: (address, message) => loadNative().sdNotify(address, message),
    onFailure: (reason) => log.warn(reason),
  });
  const loadRigs = (file = options.config) =>
    loadFlagRigs({ ...options, ...(file !== undefined && { config: file }) }, flags, sourceFlags);
  const rigs = loadRigs();
  if (rigs !== undefined) {
    await runRigs({ ...options, file: configFileOf(options) }, { rigs, load: loadRigs, log, notifier });
    return;
  }
  while (await runOnce(options, load, log, notifier)) log.info("restart: beginning again");
}

/** @returns whether another run shall follow */
async function runOnce(
  options: RunOptions,
  load: (file?: string) => LoadedConfig,
  log: Log,
  notifier: ServiceNotifier,
): Promise<boolean> {
  let { config } = load();
  const live = new LiveLine();
  const limit = new RepeatLimit();
  log.level = config.log.level;
  const quiet = options.json === true;
  let again = false;
  let wasMeasured = true;
  const events: RuntimeEvents = {
    onNotice: (notice) => {
      const line = limit.admit(notice);
      if (line === undefined) return;
      live.finish();
      log.warn({ event: "notice" }, line);
    },
    onState: (state, reason) => {
      // A person sees the notice of it; in the journal it is the way to find when depth went and came.
      const line = notifier.active ? limit.admit(`${state}: ${reason}`) : undefined;
      if (line !== undefined) log.info({ event: "state", state, reason }, line);
    },
    onFrame: () => {
      notifier.ready();
      notifier.frameCompleted();
    },
    onSettings: (settings) => {
      log.level = settings.log.level;
      expectPairs();
    },
    onEnergy: (record) => {
      // In a terminal the live line has the figures. A machine without a sensor would repeat the reason for ever.
      const isMeasured = typeof record.watts === "number";
      if (notifier.active && (isMeasured || wasMeasured)) log.info(energyFields(record), energyLine(record));
      wasMeasured = isMeasured;
    },
    onIdle: (seconds) => notifier.startsLater(seconds),
    onFigures: (figures) => {
      const line = figuresLine(figures);
      notifier.status(line);
      // Under a service manager the status line above is the place; the journal would get one line a second.
      if (!quiet && !notifier.active) live.show(line);
    },
  };
  const begin = () => {
    again = true;
    runtime.stop();
  };
  const host = createHost(options, load, begin, notifier.active);
  const onHangup = () => {
    config = reloadLater(config, load, log);
  };
  if (notifier.active) process.on("SIGHUP", onHangup);
  const attempt = () => {
    loadNative().giveMemoryBack();
    return openRuntime(config, options.frames, events, host);
  };
  const runtime: Runtime = await whenThere(attempt, notifier, {
    onWait: ({ code, message, hint }) =>
      log.warn({ event: "waiting", errorCode: code, hint }, `waiting: ${message}`),
  }).finally(() => process.off("SIGHUP", onHangup));
  if (!quiet) greet(runtime);
  notifier.excuse(() => runtime.parts.source.isAway() || runtime.parts.duty.excusesFrames);
  const expectPairs = () => {
    const { rateHz } = runtime.parts.source.description;
    if (rateHz !== undefined) notifier.expectEvery(1000 / rateHz);
  };
  expectPairs();
  const signals = stopOnSignals(runtime, notifier, () => void reload(runtime, load, log));
  try {
    const figures = await runtime.run();
    live.finish();
    again &&= !signals.received;
    if (figures.frames === 0 && !signals.received && !again)
      throw new DepthwattError("SOURCE_EMPTY", "Expected at least one frame, none was computed.");
    if (!quiet)
      printText(`${figures.frames} frames in ${figures.seconds.toFixed(1)} s | ${figuresLine(figures)}`);
    else if (!again) printJson(figures);
    // Frames were asked for that did not arrive. A user who ends the run by hand has the message already.
    if (!signals.received && !again && runtime.failure !== undefined) throw runtime.failure;
    return again;
  } finally {
    live.finish();
    signals.forget();
  }
}

/** Adds the options that define the source and the computation. */
export function withRunOptions(command: Command): Command {
  command.option(
    "--source <kind>",
    `${either(SOURCE_KINDS)}, or a recording's file (default: chosen by --left)`,
  );
  withPlaces(command, "images or camera");
  return withSettingFlags(command, ...SETTINGS)
    .option("--rate <hz>", "pairs per second, or max")
    .option("--frames <n>", "end after this many frames", wholeNumberFrom(1));
}
