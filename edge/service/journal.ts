// SPDX-License-Identifier: Apache-2.0
// The journal's own protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL): one datagram an entry, with fields that journalctl -o json
// shows and FIELD=value selects. Used where stderr leads into the journal anyway.
import { fstatSync } from "node:fs";
import { systemAddon } from "../../core/index.js";

const JOURNAL_SOCKET = "/run/systemd/journal/socket";

/** syslog(3): what journalctl -p compares. */
const PRIORITIES: Record<number, number> = { 10: 7, 20: 7, 30: 6, 40: 4, 50: 3, 60: 2 };
/** Longer names are refused by the journal. */
const MAX_NAME = 64;

/** `errorCode` becomes DEPTHWATT_ERROR_CODE. */
function fieldName(key: string): string {
  const upper = key.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  return `DEPTHWATT_${upper.replace(/[^A-Z0-9_]/g, "_")}`.slice(0, MAX_NAME);
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The fields of one line of the log, as pino writes it. */
export function journalFields(line: string): Record<string, string> {
  const { level, time: _time, msg, err, pid: _pid, hostname: _host, ...facts } = JSON.parse(line);
  const fields: Record<string, string> = {
    MESSAGE: String(msg ?? err?.message ?? ""),
    PRIORITY: String(PRIORITIES[level] ?? 6),
    SYSLOG_IDENTIFIER: "depthwatt",
  };
  for (const [key, value] of Object.entries(facts)) fields[fieldName(key)] = asText(value);
  if (err !== undefined) fields.DEPTHWATT_STACK = String(err.stack ?? err.message);
  return fields;
}

/** A value with line ends is reported by its length: otherwise they would end it, and begin a field of a stranger's choice. */
export function journalEntry(fields: Record<string, string>): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (value.includes("\n")) {
      const bytes = Buffer.from(value);
      const length = Buffer.alloc(8);
      length.writeBigUInt64LE(BigInt(bytes.length));
      parts.push(Buffer.from(`${name}\n`), length, bytes, Buffer.from("\n"));
    } else parts.push(Buffer.from(`${name}=${value}\n`));
  }
  return Buffer.concat(parts);
}

/** Returns whether this descriptor leads into the journal: systemd names it in JOURNAL_STREAM, as device:inode. */
export function leadsToJournal(descriptor = 2, environment: NodeJS.ProcessEnv = process.env): boolean {
  const stream = environment.JOURNAL_STREAM;
  if (!stream) return false;
  try {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return stream === `${dev}:${ino}`;
  } catch {
    return false;
  }
}

/**
 * Never waits.
 * @param fields hold no password: nothing here hides one
 * @param socketAddress another one in tests
 * @returns "" when the journal has the entry, else why not
 */
export function sendToJournal(fields: Record<string, string>, socketAddress = JOURNAL_SOCKET): string {
  try {
    return systemAddon().sdNotify(socketAddress, journalEntry(fields));
  } catch (error) {
    // The message may be that there is no addon.
    return (error as Error).message;
  }
}
