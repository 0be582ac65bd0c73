// SPDX-License-Identifier: Apache-2.0
// Keeps the page's state in one place, and notifies its parts of a change. Frames go next to it (live.ts): they come
// too often.
import { useEffect, useState } from "preact/hooks";
import type {
  CalibrationDocument,
  ControlState,
  DeviceEntry,
  LogLine,
  PresetChoice,
  SettingDescription,
  ToPage,
} from "../../edge/outputs/viewer/protocol.js";
import type { CameraInfo, Info, Metrics } from "./documents.js";
import type { LinkState } from "./frame-set.js";

export interface DeviceDocuments {
  state?: { state: string; reason: string };
  info?: Info;
  cameraInfo?: CameraInfo;
  metrics?: Metrics;
  /** The grid of the floor as its topic has it; absent without outputs.derived.grid. */
  grid?: object;
  /** Only from depthwatt calibrate, which has the page's own version. */
  calibration?: CalibrationDocument;
}

export interface Control {
  state: ControlState;
  settings: SettingDescription[];
  values: Record<string, unknown>;
  presets: readonly PresetChoice[];
}

export interface PageState {
  link: LinkState;
  hello: Extract<ToPage, { type: "hello" }> | undefined;
  password: "needed" | "wrong" | "wait" | undefined;
  source: { connected: boolean; reason: string };
  devices: DeviceEntry[];
  /** The device whose frames are shown. */
  device: string | undefined;
  documents: Record<string, DeviceDocuments>;
  log: LogLine[];
  control: Control;
  /** Devices of a broker that have sent their settings to this page. */
  opened: Record<string, Control>;
  /** Changes made on this page: what held before each, oldest first; keys that the configuration file does not have. */
  changes: { steps: Record<string, string | number | boolean | null>[]; unsaved: string[] };
  frozen: boolean;
}

let state: PageState = {
  link: "connecting",
  hello: undefined,
  password: undefined,
  source: { connected: false, reason: "" },
  devices: [],
  device: undefined,
  documents: {},
  log: [],
  control: { state: { enabled: false, reason: "" }, settings: [], values: {}, presets: [] },
  opened: {},
  changes: { steps: [], unsaved: [] },
  frozen: false,
};
const listeners = new Set<() => void>();

export const pageState = (): PageState => state;

export function change(patch: Partial<PageState>): void {
  state = { ...state, ...patch };
  for (const listener of listeners) listener();
}

export function onChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the settings that can be changed of the displayed device. */
export const controlNow = ({ control, opened, device }: PageState): Control =>
  device !== undefined && control.state.enabled === false && Object.hasOwn(opened, device)
    ? (opened[device] as Control)
    : control;

/** Changes of one device cannot be taken back at another one. */
export const chooseDevice = (device: string): void => change({ device, changes: { steps: [], unsaved: [] } });

/** Renders again when what `select` picks is another. */
export function useStore<T>(select: (state: PageState) => T): T {
  const [picked, setPicked] = useState(() => select(state));
  useEffect(() => {
    const look = () => setPicked(() => select(state));
    look();
    return onChange(look);
  }, []);
  return picked;
}

/** The documents of the device that is shown. */
const NOTHING: DeviceDocuments = {};
export const useDocuments = (): DeviceDocuments =>
  useStore(({ documents, device }) => (device === undefined ? NOTHING : (documents[device] ?? NOTHING)));
