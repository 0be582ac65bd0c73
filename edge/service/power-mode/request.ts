// SPDX-License-Identifier: Apache-2.0
// Parses requests to the root helper for power modes, and formats its answer. One line each way:
// query -> ok NAME
// set NUMBER -> ok NAME, the number of a mode of this board's nvpmodel.conf
// clocks PID GPU EMC -> ok GPU EMC, upper limits in hertz for the time that the process PID lives; "-": none
// anything else -> refused REASON
import { CLOCK_NAMES, type ClockTargets, modeIds } from "../../../power/index.js";

/** Longer requests are refused unread. */
export const MAX_REQUEST_BYTES = 64;

/** nvpmodel's own exit status and answer. */
export type Nvpmodel = (words: readonly string[]) => { status: number | null; stdout: string };

export interface Board {
  /** Text of nvpmodel.conf. */
  conf: string;
  nvpmodel: Nvpmodel;
}

export interface ClockBoard {
  /** Returns who a process is; undefined: there is none with this number. */
  process(pid: number): { name: string; uid: number } | undefined;
  limit(owner: string, targets: ClockTargets): ClockTargets;
  restore(owner?: string): void;
}

/** The client, as the kernel reports it (SO_PEERCRED): a name or number in the request could be forged. */
export interface Asker {
  uid: number;
  /** Users that may ask, in addition to root. */
  allowed: readonly number[];
}

const refused = (why: string) => `refused ${why}\n`;

function ok(nvpmodel: Nvpmodel): string {
  const { status, stdout } = nvpmodel(["-q"]);
  const name = status === 0 ? /NV Power Mode:\s*(\S+)/.exec(stdout)?.[1] : undefined;
  return name === undefined ? refused("nvpmodel -q did not name the power mode") : `ok ${name}\n`;
}

/** Nothing of the request reaches nvpmodel but a number that is in the board's own list. */
export function answerTo(request: string, { uid, allowed }: Asker, { conf, nvpmodel }: Board): string {
  if (uid !== 0 && !allowed.includes(uid)) return refused(`user ${uid} may not ask`);
  if (request === "query\n") return ok(nvpmodel);
  const asked = /^set (0|[1-9]\d{0,2})\n$/.exec(request)?.[1];
  if (asked === undefined) return refused("expected query, or set and the number of a mode");
  if (!new Set(modeIds(conf).values()).has(Number(asked))) return refused(`this board has no mode ${asked}`);
  const { status } = nvpmodel(["-m", asked]);
  return status === 0 ? ok(nvpmodel) : refused(`nvpmodel -m ${asked} ended with ${status}`);
}

const clockWord = (hertz: number | undefined): string => (hertz === undefined ? "-" : String(hertz));

/** The request for clock limits of a process. */
export const clockRequest = (pid: number, targets: ClockTargets): string =>
  `clocks ${pid} ${CLOCK_NAMES.map((name) => clockWord(targets[name])).join(" ")}\n`;

/** Parses two words, each a number of hertz or "-". */
export function parseClocks(words: readonly string[]): ClockTargets {
  const targets: ClockTargets = {};
  for (const [index, name] of CLOCK_NAMES.entries())
    if (words[index] !== "-") targets[name] = Number(words[index]);
  return targets;
}

/**
 * Answers a request for clock limits. A process may lower clocks in its own name only, and a dead one none.
 * @throws DepthwattError of the board
 */
export function answerToClocks(request: string, { uid, allowed }: Asker, board: ClockBoard): string {
  if (uid !== 0 && !allowed.includes(uid)) return refused(`user ${uid} may not ask`);
  const [, pid, ...words] =
    /^clocks ([1-9]\d{0,9}) (-|[1-9]\d{0,11}) (-|[1-9]\d{0,11})\n$/.exec(request) ?? [];
  if (pid === undefined) return refused("expected clocks, a process and two limits");
  const owner = board.process(Number(pid));
  if (owner !== undefined && uid !== 0 && owner.uid !== uid)
    return refused(`process ${pid} is another user's`);
  const targets = parseClocks(words);
  const isRestored = Object.keys(targets).length === 0;
  if (isRestored) board.restore(owner?.name);
  else if (owner === undefined) return refused(`there is no process ${pid}`);
  const reached = isRestored ? {} : board.limit(owner!.name, targets);
  return `ok ${CLOCK_NAMES.map((name) => clockWord(reached[name])).join(" ")}\n`;
}
