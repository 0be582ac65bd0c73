// SPDX-License-Identifier: Apache-2.0
// Defines the messages between the live page and the program over their WebSocket. It is the only module of the program
// that the page imports. Text messages are JSON of these shapes; binary messages are frames exactly as on the MQTT
// streams (core/frame).
import type { PictureStream } from "../../../core/frame/frame-format.js";
import type { ControlAnswer, PresetChoice } from "../../contracts/control.js";
import type { SettingDescription } from "../../contracts/setting.js";

/** The page checks and measures the zones that are drawn on it as the device does. */
export { nearestIn } from "../derived/nearest.js";
export { type Point, parseZones, polygonSpans, type Zone } from "../derived/polygon.js";
export type { ControlAnswer, PresetChoice, SettingDescription };

export const PROTOCOL_VERSION = 1;
export const SOCKET_PATH = "/live";
/** Frame sets that a page may have on their way to it: one being shown, one behind it. */
export const MAX_CREDITS = 2;
/** The program says something at least this often. */
export const BEAT_MS = 2000;

/** Documents of a device, in addition to its frames; each replaces the one before. */
export type DocumentType = "state" | "info" | "cameraInfo" | "metrics" | "calibration" | "grid";
export interface StateDocument {
  state: string;
  reason: string;
}

/** The newest look of `depthwatt calibrate` at live cameras. */
export interface CalibrationDocument {
  verdict: "noBoard" | "moving" | "blurred" | "known" | "taken";
  /** The result of a look, the advice, and the missing poses as one clause. */
  text: string;
  wanted: string;
  /** Such as "9x6 inner corners". */
  board: string;
  /** Why the pairs taken so far make no calibration. */
  trouble?: string | undefined;
  /** Said at the end. */
  result?: string | undefined;
  images: Record<"left" | "right", CalibrationImage>;
  /** Absent until the board's size is known. */
  progress?:
    | {
        pairs: number;
        wantedPairs: number;
        /** 0 to 1. */
        share: number;
        columns: number;
        rows: number;
        /** Corners of all taken pairs in each cell, row by row. */
        cells: Record<"left" | "right", readonly number[]>;
        tilts: Record<"left" | "right" | "upper" | "lower", number>;
        wantedTilts: number;
      }
    | undefined;
  /** Quality of the pairs taken so far; absent if they are too few. */
  worth?:
    | {
        rmsPixels: number;
        focalPercent: number | undefined;
        depthErrors: readonly { depthMetres: number; totalMetres: number }[];
      }
    | undefined;
}

export interface CalibrationImage {
  /** JPEG, base64. */
  jpeg: string;
  width: number;
  height: number;
  /** x y of each corner that is seen now, pixels of this image. */
  corners: number[];
}

export interface LogLine {
  /** Milliseconds since 1970. */
  timeMs: number;
  level: "info" | "warn" | "error";
  text: string;
}

export interface DeviceEntry {
  name: string;
  /** "unknown" until the device has said one. */
  state: string;
  reason: string;
}

/** States whether settings can be changed from here, and if not, why. */
export type ControlState =
  | {
      enabled: true;
      /** The device's name under a signature; absent: requests are not signed. */
      signedFor?: string;
      /** True if the device has a configuration file that changes can be saved to. */
      canSave: boolean;
      /** A sentence for the user, such as why no secret is needed. */
      note?: string;
    }
  | {
      enabled: false;
      reason: string;
      /** The base topic of devices that are each asked for their settings, with their own secret. */
      askedBelow?: string;
    };

export type ToPage =
  | {
      type: "hello";
      protocol: number;
      version: string;
      /** Address of the page's documentation. */
      help?: string;
      /** run: this very program computes; view: frames come from a broker; calibrate: a board is looked for, nothing is matched. */
      kind: "run" | "view" | "calibrate";
      /** Where the frames come from: a broker's URL without credentials, or this machine. */
      origin: string;
      /** Milliseconds since 1970 by the program's clock: requests are dated by it, not by the page's clock. */
      timeMs: number;
    }
  | { type: "password"; reason: "needed" | "wrong" | "wait" }
  | { type: "devices"; devices: DeviceEntry[] }
  | { type: "source"; connected: boolean; reason: string }
  | { type: DocumentType; device: string; document: unknown }
  | { type: "log"; lines: LogLine[] }
  /** From here on frames are this device's. */
  | { type: "watching"; device: string | undefined }
  /** So many binary messages follow, all of one moment. */
  | { type: "frames"; device: string; count: number; skipped: number }
  | {
      type: "control";
      state: ControlState;
      settings: SettingDescription[];
      values: Record<string, unknown>;
      presets: readonly PresetChoice[];
    }
  | { type: "answer"; id: number; answer: ControlAnswer }
  | { type: "beat" };

export type FromPage =
  | { type: "login"; password: string }
  | { type: "watch"; device: string | undefined; streams: PictureStream[] }
  /** One more frame set may come. */
  | { type: "next" }
  /** `payload` is the payload of such a request over MQTT (docs/reference/requests.md). */
  | {
      type: "ask";
      id: number;
      /** Which device of the broker; a run needs none. */
      device?: string | undefined;
      command: string;
      payload: string;
    };
