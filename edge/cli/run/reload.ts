// SPDX-License-Identifier: Apache-2.0
// SIGHUP: a service reads its configuration again; a run that was started in a terminal has lost it, and ends.
import { closeSync, openSync, readFileSync } from "node:fs";
import { isatty } from "node:tty";
import { isDepthwattError } from "../../../core/index.js";
import { type Config, differences, type LoadedConfig } from "../../config/index.js";
import type { Runtime } from "../../run/runtime.js";
import type { Log } from "../log.js";

function ownStat(): string | undefined {
  try {
    return readFileSync("/proc/self/stat", "utf8");
  } catch {
    return undefined;
  }
}

/** Returns whether this process has a controlling terminal: only then does it get SIGHUP when a terminal is closed. */
export function hasTerminal(stat = ownStat()): boolean {
  // Without /proc: as a service, which has none.
  if (stat === undefined) return false;
  // After the name in parentheses, which may hold anything: state, ppid, pgrp, session, tty_nr (proc(5)).
  const [, , , , terminal] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(terminal) !== 0;
}

/** Returns the file descriptors that are terminals. Call this before the terminal closes. */
export const terminalDescriptors = (): number[] => [0, 1, 2].filter((descriptor) => isatty(descriptor));

/** A closed terminal refuses to be set back, and Node aborts at its very end where it tries: the null device takes its place. */
export function leaveTerminal(descriptors: readonly number[]): void {
  for (const descriptor of descriptors) {
    closeSync(descriptor);
    openSync("/dev/null", "r+"); // gets the lowest number that is free
  }
}

/**
 * Applies the changes of the configuration. A file that cannot be read, a wrong value or a setting that needs a restart
 * changes nothing, and the log gives the reason.
 * @param rig its name, if it is one of several
 */
export async function reload(
  runtime: Runtime,
  load: () => LoadedConfig,
  log: Log,
  rig?: string,
): Promise<void> {
  try {
    const change = differences(runtime.config, load().config);
    const keys = Object.keys(change);
    if (keys.length > 0) await runtime.apply(change, "reload");
    log.info(
      { event: "reload", changed: keys, rig },
      `${place(rig)}${keys.length === 0 ? "no setting has changed" : `changed ${keys.join(", ")}`}`,
    );
  } catch (error) {
    reloadRefused(error, log, rig);
  }
}

const place = (rig: string | undefined): string => (rig === undefined ? "reload: " : `${rig}: reload: `);

/** Logs why a configuration is not used. @throws `error` if it is no DepthwattError */
export function reloadRefused(error: unknown, log: Log, rig?: string): void {
  if (!isDepthwattError(error)) throw error;
  const { code, message, hint } = error;
  log.warn(
    { event: "reload", errorCode: code, rig },
    `${place(rig)}${message}; the running settings stay. ${hint}`,
  );
}

/** The same while nothing runs yet. @returns the configuration for the next attempt */
export function reloadLater(config: Config, load: () => LoadedConfig, log: Log): Config {
  try {
    const next = load().config;
    log.info({ event: "reload", changed: Object.keys(differences(config, next)) }, "reload: read again");
    return next;
  } catch (error) {
    reloadRefused(error, log);
    return config;
  }
}
