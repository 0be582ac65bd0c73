// SPDX-License-Identifier: Apache-2.0
// Parses requests to the root helper for power modes, and formats its answer. One line each way:
// query -> ok NAME
// set NUMBER -> ok NAME, the number of a mode of this board's nvpmodel.conf
// anything else -> refused REASON
import { modeIds } from "../../../power/index.js";

/** Longer requests are refused unread. */
export const MAX_REQUEST_BYTES = 64;

/** nvpmodel's own exit status and answer. */
export type Nvpmodel = (words: readonly string[]) => { status: number | null; stdout: string };

export interface Board {
  /** Text of nvpmodel.conf. */
  conf: string;
  nvpmodel: Nvpmodel;
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
