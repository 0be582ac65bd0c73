// SPDX-License-Identifier: Apache-2.0
// NVIDIA's camera daemon (nvargus-daemon), which commands with nvarguscamerasrc talk to over a socket in /tmp. The service sees
// the socket as it was at its start (BindPaths= in its unit), so a new socket needs a new process.
import { readFileSync, statSync } from "node:fs";
import { connect } from "node:net";
import { DepthwattError, hasCode } from "../../../core/index.js";

export const ARGUS_SOCKET = "/tmp/argus_socket";
/** Trouble of a socket that this process cannot reach any more ends it after this time: one restart a minute at most. */
export const NEW_PROCESS_AFTER_MS = 60_000;

export const usesArgus = (commandLine: string): boolean => /argus/i.test(commandLine);

/** Returns whether this process has a /tmp that systemd made for it alone. @param mountInfo /proc/self/mountinfo */
export const hasPrivateTmp = (mountInfo: string): boolean =>
  /^\d+ \d+ \S+ \S*systemd-private\S* \/tmp /m.test(mountInfo);

const isPrivate = (): boolean => {
  try {
    return hasPrivateTmp(readFileSync("/proc/self/mountinfo", "utf8"));
  } catch {
    return false;
  }
};

const START = "sudo systemctl restart nvargus-daemon";

function unreachable(found: string, privateTmp: boolean): DepthwattError {
  const then = privateTmp ? " The service restarts once a minute until the socket is there." : "";
  return new DepthwattError(
    "DEVICE_UNAVAILABLE",
    `expected NVIDIA's camera daemon at ${ARGUS_SOCKET}, ${found}`,
    {
      hint: `Start the daemon: ${START}; its log: journalctl -u nvargus-daemon.${then}`,
      context: { socket: ARGUS_SOCKET, ...(privateTmp && { newProcessAfterMs: NEW_PROCESS_AFTER_MS }) },
    },
  );
}

export interface ArgusOptions {
  socket?: string;
  /** Default: as /proc/self/mountinfo says. */
  privateTmp?: boolean;
}

/** @throws DepthwattError DEVICE_UNAVAILABLE if there is no socket */
export function checkArgus({ socket = ARGUS_SOCKET, privateTmp = isPrivate() }: ArgusOptions = {}): void {
  try {
    if (statSync(socket).isSocket()) return;
    throw unreachable("found another kind of file", privateTmp);
  } catch (error) {
    if (hasCode(error, "ENOENT")) throw unreachable("found no such file", privateTmp);
    throw error;
  }
}

/** Returns whether a program listens at the socket. */
function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket, () => resolve(true));
    connection.once("error", () => resolve(false));
    connection.once("close", () => resolve(false));
    connection.once("connect", () => connection.destroy());
  });
}

/** @returns the error of a socket at which nothing answers; undefined if the daemon answers */
export async function argusProblem({
  socket = ARGUS_SOCKET,
  privateTmp = isPrivate(),
}: ArgusOptions = {}): Promise<DepthwattError | undefined> {
  if (await answers(socket)) return undefined;
  return unreachable("nothing answers there: the daemon has ended or restarted", privateTmp);
}

/**
 * Returns a check for commands that have ended: an error once the socket has been dead for a minute in a private /tmp,
 * where the daemon's new socket cannot appear. Elsewhere undefined: the command finds the new socket.
 */
export function argusWatch({
  socket = ARGUS_SOCKET,
  privateTmp = isPrivate(),
  nowMs = () => performance.now(),
}: ArgusOptions & { nowMs?: () => number } = {}): () => Promise<DepthwattError | undefined> {
  let deadSinceMs: number | undefined;
  return async () => {
    if (!privateTmp) return undefined;
    const problem = await argusProblem({ socket, privateTmp });
    deadSinceMs = problem && (deadSinceMs ?? nowMs());
    return deadSinceMs !== undefined && nowMs() - deadSinceMs >= NEW_PROCESS_AFTER_MS ? problem : undefined;
  };
}
