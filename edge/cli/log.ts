// SPDX-License-Identifier: Apache-2.0
// The log: lines on stderr, for people on a terminal, JSON elsewhere, fields in the journal; passwords never get into it.
import { type DestinationStream, type Logger, pino } from "pino";
import { printable, redactUrl } from "../../core/index.js";
import { journalFields, leadsToJournal, sendToJournal } from "../service/journal.js";

export type Log = Logger;

const HIDDEN = "(hidden)";

const NAMES: Record<number, string> = {
  10: "trace",
  20: "debug",
  30: "info",
  40: "warn",
  50: "error",
  60: "fatal",
};

/** One JSON line of pino as a person reads it: time, level, message, then the facts as key=value. */
export function humanLine(line: string): string {
  const { level, time, msg, err, pid: _pid, hostname: _host, ...facts } = JSON.parse(line);
  const clock = new Date(time).toISOString().slice(11, 23);
  const pairs = Object.entries(facts).map(
    ([key, value]) => ` ${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const cause = err === undefined ? "" : `\n  ${err.stack ?? err.message}`;
  return `${clock} ${NAMES[level] ?? level} ${printable(`${msg ?? ""}${pairs.join("")}`)}${cause}\n`;
}

export interface LogPlace extends DestinationStream {
  isTTY?: boolean;
}

/** Lines of pino as entries of the journal; what it does not take, such as an entry too large, goes to stderr as a line. */
const journalPlace: LogPlace = {
  write(line) {
    if (sendToJournal(journalFields(line)) !== "") process.stderr.write(line);
  },
};

const usualPlace = (): LogPlace => (leadsToJournal() ? journalPlace : process.stderr);

/**
 * @param level the least severe level written: fatal, error, warn, info, debug or trace
 * @param place where lines go; default the journal where systemd has connected stderr with it, else stderr
 */
export function createLog(level: string, place: LogPlace = usualPlace()): Log {
  const redacting: DestinationStream = {
    write: (line) => {
      const safe = redactUrl(line);
      place.write(place.isTTY ? humanLine(safe) : safe);
    },
  };
  const paths = ["password", "*.password", "*.*.password"];
  return pino({ level, redact: { paths, censor: HIDDEN } }, redacting);
}
