// SPDX-License-Identifier: Apache-2.0
// Camera failures as coded errors with a cure: permission names the group, a busy camera the process that has it.
import { readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { DepthwattError, ERROR_CATALOGUE, type ErrorCode } from "../../core/index.js";

/** What the addon threw, as a DepthwattError about this device. Anything else passes through. */
export function cameraError(error: unknown, device: string): unknown {
  if (error instanceof DepthwattError || !(error instanceof Error)) return error;
  const code = (error as { code?: string }).code;
  if (code === undefined || !(code in ERROR_CATALOGUE)) return error;
  const details: { hint?: string; cause: unknown; context: Record<string, unknown> } = {
    cause: error,
    context: { device },
  };
  let message = error.message;
  if (code === "DEVICE_BUSY") {
    const user = userOf(device);
    if (user) {
      message += ` It is in use by ${user.name} (process ${user.pid}).`;
      details.hint = `End it (kill ${user.pid}), or choose another camera.`;
      details.context.process = user;
    }
  }
  return new DepthwattError(code as ErrorCode, message, details);
}

/** Another process that has this device open; undefined where none is visible to this user. */
export function userOf(device: string, proc = "/proc"): { pid: number; name: string } | undefined {
  const target = attempt(() => realpathSync(device));
  if (target === undefined) return undefined;
  for (const entry of attempt(() => readdirSync(proc)) ?? []) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    for (const descriptor of attempt(() => readdirSync(`${proc}/${entry}/fd`)) ?? []) {
      if (attempt(() => readlinkSync(`${proc}/${entry}/fd/${descriptor}`)) !== target) continue;
      const name = attempt(() => readFileSync(`${proc}/${entry}/comm`, "utf8").trim());
      return { pid, name: name ?? "a process" };
    }
  }
  return undefined;
}

/** Processes end and descriptors close while one looks: every step of the search may fail. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
