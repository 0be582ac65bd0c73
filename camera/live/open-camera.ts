// SPDX-License-Identifier: Apache-2.0
// Opens one camera in the chosen format: sets its controls, reads them back and reports what the driver changed.
import type { CaptureFormat } from "v4l2-camera";
import {
  type BusClocks,
  CameraControls,
  type ClockReader,
  cameraError,
  type DeviceFolders,
  type FormatTrait,
  formatControls,
  isFormatControl,
  type NativeAddon,
  type RawAlignment,
  SupervisedCamera,
  type SupervisorOptions,
  type V4l2Camera,
} from "v4l2-camera/parts";
import { DepthwattError, hasCode } from "../../core/index.js";
import type { CaptureMemory } from "../frame.js";
import type { MeasureDecoding } from "./decoding-costs.js";
import { type PairLayout, sizeWords } from "./pair-layout.js";
import { lockRightToLeft, type RequestedControl } from "./requested-controls.js";
import { prepareTegra } from "./tegra-controls.js";

export interface V4l2Settings {
  /** Device paths: left and right, or sideBySide alone. */
  left?: string;
  right?: string;
  sideBySide?: string;
  /** Where a sideBySide camera's frame has the two images. Default leftRight. */
  layout?: PairLayout;
  /** Pixels of a sideBySide camera's frame around both images: "left,top,right,bottom". Default none. */
  margins?: string;
  /** Size of one image, pixels. */
  width: number;
  height: number;
  /** Default auto: the cheapest format for this machine in which both cameras reach rateHz. */
  format?: CaptureFormat | "auto";
  /** Colours are read: formats with them are preferred, and Motion JPEG is decoded to RGB8. */
  colours?: boolean;
  /** Frames per second asked of the cameras; absent leaves theirs. */
  rateHz?: number;
  maxSkewMs?: number;
  rephase?: boolean;
  /** "auto_exposure=1,right.gain=20". */
  controls?: string;
  autoExposure?: "auto" | "on" | "off";
  rawAlignment?: RawAlignment | "auto";
  /** Bayer formats are read as grey, because the sensors have no colour filter. Default false. */
  mono?: boolean;
  /** File of defective pixels. */
  defects?: string;
  /** 4 to 32, default 8. */
  buffers?: number;
  /**
   * Default mmap: the driver's memory. userptr: the process's own, which a GPU can read. dmabuf: the driver's, exported for
   * a GPU. auto: the first of userptr, dmabuf and mmap that the driver supports.
   */
  memory?: CaptureMemory | "auto";
  /** A further camera next to the pair; default none. */
  other?: OtherSettings;
}

export interface OtherSettings extends Pick<V4l2Settings, "width" | "height" | "format" | "rateHz"> {
  device: string;
}

export interface V4l2Surroundings {
  /** The addon of v4l2-camera. */
  video: NativeAddon;
  clocks: ClockReader;
  folders?: DeviceFolders;
  /** Clocks that cameras of one bus share; absent: those of this machine. */
  buses?: BusClocks;
  /** A driver in memory, for tests. */
  system?: unknown;
  /** Measures formats among which "auto" chooses by cost; absent: the table's order decides. */
  measureDecoding?: MeasureDecoding;
  /** Called with what the driver changed, and with the controls that were made equal; default: not reported. */
  onNote?(note: string): void;
}

export interface OpenedCamera {
  camera: SupervisedCamera;
  /** Rate that the driver reports, Hz; 0 if it reports none. */
  rateHz: number;
}

/** Opens one camera, sets its controls and reads them back. @param others cameras that are open already */
export async function openCamera(
  path: string,
  trait: FormatTrait,
  size: { width: number; height: number },
  settings: V4l2Settings,
  requested: readonly RequestedControl[],
  around: V4l2Surroundings,
  others: readonly OpenedCamera[],
): Promise<OpenedCamera> {
  const side = others.length === 0 ? "left" : "right";
  const note = around.onNote ?? (() => {});
  const own = requested.filter((control) => control.side === undefined || control.side === side);
  let tegraRateHz: number | undefined;
  const options: SupervisorOptions = {
    addon: around.video,
    clocks: around.clocks,
    ...(around.buses && { buses: around.buses }),
    ...(around.folders && { folders: around.folders }),
    open: {
      path,
      fourcc: trait.fourcc,
      ...size,
      ...(settings.rateHz !== undefined && { rateHz: settings.rateHz }),
      formatControls: formatControls(
        path,
        own.map(({ name, value }) => [name, value]),
      ),
      ...(settings.buffers !== undefined && { buffers: settings.buffers }),
      ...(settings.colours === true && { decode: "rgb" as const }),
      ...(around.system !== undefined && { system: around.system }),
    },
    prepare: (camera) => {
      const controls = new CameraControls(camera.native);
      const tegra = prepareTegra(camera.native.identity.driver, controls, settings.rateHz);
      tegraRateHz = tegra.rateHz;
      for (const text of tegra.notes) note(text);
      for (const { name, value } of own.filter((control) => !isFormatControl(control.name))) {
        const { asked, got } = controls.apply(name, value);
        if (got !== undefined && got !== asked)
          note(`${path}: asked for ${name}=${asked}, the camera set ${got}.`);
      }
      const left = others[0]?.camera.camera;
      if (!left) return;
      for (const { name, got } of lockRightToLeft(new CameraControls(left.native), controls, requested)) {
        note(`${path}: ${name} set to ${got}, as on the left camera.`);
      }
    },
  };
  const camera = await openInBestMemory(options, settings.memory, note);
  try {
    requireAgreed(camera.camera!, trait, size, sizeWords(size, settings));
    options.prepare(camera.camera!);
  } catch (error) {
    await camera.stop();
    throw error;
  }
  const rateHz = tegraRateHz ?? camera.camera!.native.format.rateHz;
  if (
    settings.rateHz !== undefined &&
    rateHz > 0 &&
    Math.abs(rateHz - settings.rateHz) > 0.01 * settings.rateHz
  ) {
    note(`${path}: asked for ${settings.rateHz} Hz, the camera delivers ${Number(rateHz.toFixed(3))} Hz.`);
  }
  return { camera, rateHz };
}

const MEMORY_OPTIONS = {
  userptr: { ownMemory: true },
  dmabuf: { exportBuffers: true, keepMapped: true },
  mmap: {},
} satisfies Record<CaptureMemory, Partial<SupervisorOptions["open"]>>;

/** Opens a camera in the memory that was asked for; with "auto" in the first that its driver supports. */
async function openInBestMemory(
  options: SupervisorOptions,
  memory: CaptureMemory | "auto" = "mmap",
  note: (text: string) => void,
): Promise<SupervisedCamera> {
  const { path } = options.open;
  const open = (one: CaptureMemory) =>
    SupervisedCamera.open({ ...options, open: { ...options.open, ...MEMORY_OPTIONS[one] } });
  if (memory !== "auto") return open(memory);
  try {
    return await open("userptr");
  } catch (error) {
    if (!hasCode(cameraError(error, path), "DEVICE_UNSUITABLE")) throw error;
  }
  const refused = `${path}: the driver takes no memory of this process (USERPTR)`;
  try {
    const camera = await open("dmabuf");
    note(`${refused}, so its buffers are exported (DMA buffers).`);
    return camera;
  } catch {
    // Any other problem of the camera fails this attempt too.
    const camera = await open("mmap");
    note(`${refused} and exports no buffers, so images are copied.`);
    return camera;
  }
}

function requireAgreed(
  camera: V4l2Camera,
  trait: FormatTrait,
  size: { width: number; height: number },
  words: string,
): void {
  const { fourcc, width, height } = camera.native.format;
  if (fourcc === trait.fourcc && width === size.width && height === size.height) return;
  throw new DepthwattError(
    "DEVICE_UNSUITABLE",
    `${camera.path}: expected ${trait.fourcc.trim()} ${words}, the driver set ${fourcc.trim()} ${width}x${height}.`,
    {
      context: {
        device: camera.path,
        expected: { fourcc: trait.fourcc, ...size },
        found: camera.native.format,
      },
    },
  );
}
