// SPDX-License-Identifier: Apache-2.0
// From device paths to a source: asks the cameras what they can, chooses, opens, sets controls and reads them back.
import type { CaptureFormat } from "v4l2-camera";
import {
  BusClocks,
  CameraControls,
  type ClockReader,
  cameraError,
  type DeviceFolders,
  delivered,
  type FormatTrait,
  formatControls,
  formatTrait,
  hostClocks,
  isFormatControl,
  isInterleaved,
  isSameDevice,
  type NativeAddon,
  type NativeDescription,
  packedSamples,
  type RawAlignment,
  SupervisedCamera,
  type SupervisorOptions,
  type V4l2Camera,
} from "v4l2-camera/parts";
import { DepthwattError, hasCode } from "../../core/index.js";
import type { CaptureMemory } from "../frame.js";
import type { CameraImageLayout } from "./camera-image.js";
import { chooseFormat } from "./choose.js";
import { type DefectivePixels, readDefects } from "./defects.js";
import { asDepthwattError } from "./errors.js";
import { ExposureLoop } from "./exposure-loop.js";
import {
  frameSize,
  isPairOfBytes,
  isSecond,
  isStacked,
  LAYOUT_TITLES,
  type PairLayout,
  sizeWords,
  titleSize,
} from "./pair-layout.js";
import { rawAlignmentFrom } from "./raw-alignment.js";
import { lockRightToLeft, parseControls, type RequestedControl } from "./requested-controls.js";
import { V4l2Source } from "./source.js";
import { prepareTegra } from "./tegra-controls.js";
import { usbLinkFrom } from "./usb-link.js";

export interface V4l2Settings {
  /** Device paths: left and right, or sideBySide alone. */
  left?: string;
  right?: string;
  sideBySide?: string;
  /** Where a sideBySide camera's frame has the two images. Default leftRight. */
  layout?: PairLayout;
  /** Size of one image, pixels. */
  width: number;
  height: number;
  /** Default auto: the cheapest format in which both cameras reach rateHz. */
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
  /** Called with what the driver changed, and with the controls that were made equal; default: not reported. */
  onNote?(note: string): void;
}

/** @throws DepthwattError CONFIG_INVALID, DEVICE_UNAVAILABLE, DEVICE_PERMISSION, DEVICE_BUSY, DEVICE_UNSUITABLE */
export async function openV4l2Source(settings: V4l2Settings, around: V4l2Surroundings): Promise<V4l2Source> {
  try {
    return await openSource(settings, around);
  } catch (error) {
    throw asDepthwattError(error);
  }
}

async function openSource(settings: V4l2Settings, around: V4l2Surroundings): Promise<V4l2Source> {
  const paths = devicePaths(settings);
  const requested = parseControls(settings.controls ?? "");
  const defects = settings.defects === undefined ? undefined : readDefects(settings.defects, settings);
  const sideBySide = paths.length === 1;
  const descriptions: NativeDescription[] = [];
  for (const path of paths) descriptions.push(await describe(path, around));
  const layout = settings.layout ?? "leftRight";
  if (!sideBySide && layout !== "leftRight") {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `Expected one camera (source.v4l2.sideBySide) for source.v4l2.layout ${layout}, got two.`,
      { hint: "Swap source.v4l2.left and source.v4l2.right if the two cameras are the wrong way round." },
    );
  }
  const size = sideBySide ? frameSize(settings, layout) : { width: settings.width, height: settings.height };
  const { trait, reason } = chooseFormat(
    descriptions,
    {
      ...size,
      words: sizeWords(size, settings),
      format: settings.format ?? "auto",
      colours: settings.colours ?? false,
      interleaved: layout === "interleaved",
      ...(settings.rateHz !== undefined && { rateHz: settings.rateHz }),
    },
    paths.map((path) => usbLinkFrom(path, around.folders?.sysfs)),
  );
  if (reason !== undefined) around.onNote?.(reason);
  if (trait.format === "NV12" && settings.colours === true && isStacked(layout)) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      "Expected a format other than NV12 for colours of images above each other, got NV12: its colours follow both images.",
      { hint: "Choose another source.v4l2.format, or the grey images (outputs without colours)." },
    );
  }
  const group = packedSamples(trait.format);
  if (sideBySide && !isStacked(layout) && settings.width % group !== 0) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `Expected source.v4l2.width as a multiple of ${group} for two ${trait.format} images next to each other, got ${settings.width}.`,
    );
  }
  const cameras: OpenedCamera[] = [];
  const buses = around.buses ?? new BusClocks({ ...hostClocks(around.video), clocks: around.clocks });
  try {
    for (const path of paths)
      cameras.push(await openCamera(path, trait, size, settings, requested, { ...around, buses }, cameras));
  } catch (error) {
    await Promise.all(cameras.map(({ camera }) => camera.stop()));
    throw error;
  }
  return assemble(cameras, trait, settings, defects, around);
}

function devicePaths({ left, right, sideBySide }: V4l2Settings): string[] {
  if (sideBySide !== undefined) return [sideBySide];
  if (left === undefined || right === undefined) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `Expected two cameras (source.v4l2.left, source.v4l2.right) or one that delivers both images (source.v4l2.sideBySide), got ${left ?? right ?? "none"}.`,
      { hint: "Run 'depthwatt list-devices' for the cameras that are there." },
    );
  }
  if (isSameDevice(left, right)) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `Expected two cameras, got the same device twice (${left} and ${right}).`,
      {
        hint: "Give another device for one of them, or --side-by-side for a camera that delivers both images in one.",
      },
    );
  }
  return [left, right];
}

async function describe(path: string, { video, system }: V4l2Surroundings): Promise<NativeDescription> {
  try {
    return await video.describe(path, system);
  } catch (error) {
    throw cameraError(error, path);
  }
}

interface OpenedCamera {
  camera: SupervisedCamera;
  /** Rate that the driver reports, Hz; 0 if it reports none. */
  rateHz: number;
}

async function openCamera(
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

/** Returns the grey format with the samples of a Bayer format; other formats as they are. */
function withoutMosaic(format: CapturedFormat): CapturedFormat {
  const bits = /^BAYER_.*?(\d+P?)$/.exec(format)?.[1];
  return bits === undefined ? format : bits === "8" ? "GREY" : (`Y${bits}` as CapturedFormat);
}

type CapturedFormat = ReturnType<typeof delivered>;

function assemble(
  opened: readonly OpenedCamera[],
  trait: FormatTrait,
  settings: V4l2Settings,
  defects: DefectivePixels | undefined,
  around: V4l2Surroundings,
): V4l2Source {
  const cameras = opened.map(({ camera }) => camera);
  const [left, right] = [cameras[0]!, cameras[1]];
  const decodedBytes = settings.colours === true ? 3 : 1;
  const layout = right ? undefined : (settings.layout ?? "leftRight");
  const imageLayout = (camera: V4l2Camera, side: "left" | "right"): CameraImageLayout => {
    const { identity, format } = camera.native;
    const alignment = settings.rawAlignment ?? "auto";
    const isJpeg = trait.format === "MJPEG";
    // A decoded JPEG has rows that touch.
    const strideBytes = isJpeg ? format.width * decodedBytes : format.strideBytes;
    const aligned = delivered(
      trait.format,
      alignment === "auto" ? rawAlignmentFrom(identity.driver, around.folders?.compatible) : alignment,
      settings.colours,
    );
    const grey = settings.mono === true ? withoutMosaic(aligned) : aligned;
    const pixels = layout === "interleaved" && isPairOfBytes(grey) ? "Y8I" : grey;
    const acrossBytes = settings.width * (isJpeg ? decodedBytes : formatTrait(trait.format).bytesPerPixel);
    const downBytes = settings.height * strideBytes;
    return {
      width: settings.width,
      height: settings.height,
      strideBytes,
      format: isInterleaved(pixels) ? (`${pixels}_${side === "left" ? "LEFT" : "RIGHT"}` as const) : pixels,
      offsetBytes:
        layout !== undefined && isSecond(layout, side) ? (isStacked(layout) ? downBytes : acrossBytes) : 0,
    };
  };
  const layouts = {
    left: imageLayout(left.camera!, "left"),
    right: imageLayout((right ?? left).camera!, "right"),
  };
  const { rateHz } = opened[0]!;
  const names = right
    ? `${left.camera!.path} and ${right.camera!.path}`
    : `${left.camera!.path} ${LAYOUT_TITLES[layout!]}`;
  const rate = rateHz > 0 ? ` at ${Number(rateHz.toFixed(2))} Hz` : "";
  return new V4l2Source({
    description: {
      title: `cameras ${names}, ${trait.format} ${titleSize(settings, layout && frameSize(settings, layout))}${rate}`,
      width: settings.width,
      height: settings.height,
      leftFormat: layouts.left.format,
      rightFormat: layouts.right.format,
      leftStrideBytes: layouts.left.strideBytes,
      rightStrideBytes: layouts.right.strideBytes,
      rateHz: rateHz > 0 ? rateHz : undefined,
      clock: "monotonic",
    },
    cameras: { left, right },
    reportedHz: { left: rateHz, right: opened[1]?.rateHz ?? rateHz },
    layouts,
    defects,
    maxSkewMs: settings.maxSkewMs,
    rephase: settings.rephase ?? false,
    makeExposure: () => {
      const open = cameras.flatMap((camera) =>
        camera.camera ? [new CameraControls(camera.camera.native)] : [],
      );
      // While one camera is away there is nothing to keep equal: the next return makes a new one.
      return new ExposureLoop(open, open.length < cameras.length ? "off" : (settings.autoExposure ?? "auto"));
    },
    monotonicNs: () => around.clocks().monotonicNs,
  });
}
