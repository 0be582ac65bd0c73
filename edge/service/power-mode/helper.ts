// SPDX-License-Identifier: Apache-2.0
// The root side of depthwatt-power-mode.socket: started by systemd with a connection as stdin and stdout, answers one request, ends.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readSync, statSync, writeSync } from "node:fs";
import { systemAddon } from "../../../core/index.js";
import { limitClocks, processName, restoreClocks } from "../../../power/index.js";
import { answerTo, answerToClocks, type ClockBoard, MAX_REQUEST_BYTES } from "./request.js";

const CONF = "/etc/nvpmodel.conf";
/** Not by PATH: changing PATH would choose what runs as root. */
const PROGRAMS = ["/usr/sbin/nvpmodel", "/usr/bin/nvpmodel"];
const USER = "depthwatt";

const CONNECTION = 0;

/** The line up to its end, or what came of it; who sends none is waited for until systemd's RuntimeMaxSec ends it. */
function readRequest(): string {
  const buffer = Buffer.alloc(MAX_REQUEST_BYTES);
  let length = 0;
  while (length < buffer.length && !buffer.subarray(0, length).includes(0x0a)) {
    const got = readSync(CONNECTION, buffer, length, buffer.length - length, null);
    if (got === 0) break;
    length += got;
  }
  return buffer.toString("latin1", 0, length);
}

function userNumbers(name: string): number[] {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((one) => one.startsWith(`${name}:`));
  return line === undefined ? [] : [Number(line.split(":")[2])];
}

/** A list of modes that others may write to would be theirs. */
function readConf(): string {
  const { uid, mode } = statSync(CONF);
  if (uid !== 0 || (mode & 0o022) !== 0) throw new Error(`${CONF} may be written by others than root`);
  return readFileSync(CONF, "utf8");
}

const clocks: ClockBoard = {
  process: (pid) => {
    const name = processName(pid);
    return name === undefined ? undefined : { name, uid: statSync(`/proc/${pid}`).uid };
  },
  limit: limitClocks,
  restore: restoreClocks,
};

function answer(): string {
  // First of all: a connection that is closed with something unread takes the answer with it.
  const request = readRequest();
  const asker = { uid: systemAddon().peerCredentials(CONNECTION).uid, allowed: userNumbers(USER) };
  if (request.startsWith("clocks ")) return answerToClocks(request, asker, clocks);
  const program = PROGRAMS.find((path) => existsSync(path));
  if (program === undefined) return "refused this machine has no nvpmodel\n";
  return answerTo(request, asker, {
    conf: readConf(),
    nvpmodel: (words) =>
      spawnSync(program, words, {
        encoding: "utf8",
        // It may ask whether to restart the board now.
        input: "no\n",
        timeout: 30_000,
        env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C" },
      }),
  });
}

let text: string;
try {
  text = answer();
} catch (error) {
  text = `refused ${(error as Error).message.replace(/\s+/g, " ")}\n`;
}
// For the journal: each grant is worth a line.
process.stderr.write(text);
writeSync(CONNECTION, text);
