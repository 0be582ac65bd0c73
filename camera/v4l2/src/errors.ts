// SPDX-License-Identifier: Apache-2.0
// Every failure as an error with a code and with what to do: permission names the group, a busy camera the process that has it.
import { readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";

interface Kind {
  /** True if a retry can succeed. */
  retryable: boolean;
  /** One sentence that says what to do. */
  hint: string;
}

/** The codes of a CameraError. */
export const CAMERA_ERRORS = {
  /** A camera is not there, went away or does not answer. */
  DEVICE_UNAVAILABLE: {
    retryable: true,
    hint: "Check the cable; 'v4l2-ctl --list-devices' and listDevices() name the cameras that are there.",
  },
  /** The user may not open the camera. */
  DEVICE_PERMISSION: {
    retryable: false,
    hint: "Add the user to the group 'video' (sudo usermod -aG video USER) and log in again.",
  },
  /** Another process uses the camera. */
  DEVICE_BUSY: {
    retryable: true,
    hint: "End the other process; 'fuser -v /dev/videoN' names it.",
  },
  /** The USB bus has too little bandwidth left for this stream. */
  DEVICE_BANDWIDTH: {
    retryable: true,
    hint: "Request Motion JPEG, a lower rate or a smaller size; or use a port of another USB controller; or load uvcvideo with quirks=128.",
  },
  /** A device does not support the request: no camera, no such format, size or control. */
  DEVICE_UNSUITABLE: {
    retryable: false,
    hint: "Request a format, size or control that listDevices() or describe() lists.",
  },
  /** A value is of the wrong type or outside its range. */
  INVALID_ARGUMENT: { retryable: false, hint: "Use a value inside the range that the message names." },
  /** The camera was closed, or is read by somebody already. */
  INVALID_STATE: { retryable: false, hint: "Open the camera again, or read it in one place only." },
  /** The native addon is not built or does not load on this machine. */
  ADDON_MISSING: {
    retryable: false,
    hint: "Build it with 'npm rebuild v4l2-camera'; it needs g++, make and python3.",
  },
} as const satisfies Record<string, Kind>;

export type CameraErrorCode = keyof typeof CAMERA_ERRORS;

export interface CameraErrorDetails {
  /** One sentence that says what to do; by default the sentence of the code. */
  hint?: string | undefined;
  cause?: unknown;
  /** Machine-readable facts: device, expected, found. */
  context?: Record<string, unknown> | undefined;
}

/** Every error that this package raises on purpose. Decide by `code`; `message` and `hint` are for people. */
export class CameraError extends Error {
  readonly code: CameraErrorCode;
  readonly hint: string;
  readonly context: Record<string, unknown>;

  constructor(code: CameraErrorCode, message: string, details: CameraErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "CameraError";
    this.code = code;
    this.hint = details.hint ?? CAMERA_ERRORS[code].hint;
    this.context = details.context ?? {};
  }

  get retryable(): boolean {
    return CAMERA_ERRORS[this.code].retryable;
  }
}

/** Converts an error of the addon to a CameraError about this device. Returns other values unchanged. */
export function cameraError(error: unknown, device: string): unknown {
  if (error instanceof CameraError || !(error instanceof Error)) return error;
  const code = (error as { code?: string }).code;
  if (code === undefined || !Object.hasOwn(CAMERA_ERRORS, code)) return error;
  const context: Record<string, unknown> = { device };
  let { message } = error;
  let hint: string | undefined;
  if (code === "DEVICE_BUSY") {
    const user = findUser(device);
    if (user) {
      message += ` It is in use by ${user.name} (process ${user.pid}).`;
      hint = `End it (kill ${user.pid}), or choose another camera.`;
      context.process = user;
    }
  }
  return new CameraError(code as CameraErrorCode, message, { hint, cause: error, context });
}

/** Another process that has this device open; undefined where none is visible to this user. */
export function findUser(device: string, proc = "/proc"): { pid: number; name: string } | undefined {
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
