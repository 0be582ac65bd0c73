// SPDX-License-Identifier: Apache-2.0
// Opens a camera with requested settings and reports the settings that the driver chose.
import { loadAddon } from "./addon.js";
import { V4l2Camera } from "./camera.js";
import { CameraControls, formatControls, isFormatControl } from "./controls.js";
import type { DeviceFolders } from "./devices.js";
import { CameraError, cameraError } from "./errors.js";
import type { FrameLayout } from "./frame.js";
import type { NativeAddon, NativeAgreedFormat, NativeOpenOptions } from "./native.js";
import { Camera } from "./open-camera.js";
import { BusClocks, hostClocks } from "./pair/bus-clock.js";
import {
  CAPTURE_FORMATS,
  type CaptureFormat,
  captureFormatFrom,
  formatTrait,
  packedSamples,
} from "./pixel-formats.js";
import { SupervisedCamera } from "./supervised-camera.js";

/** Requested settings. All are optional; a setting that is left out stays as the camera has it. */
export interface CameraRequest {
  /** A name of CAPTURE_FORMATS, or V4L2's four letters of any other format. */
  format?: CaptureFormat | (string & {});
  /** Pixels. */
  width?: number;
  height?: number;
  /** Frames a second. */
  rateHz?: number;
  /** Refuse a camera that sets another format, size or rate (1 % off) than requested. Default false. */
  exact?: boolean;
  /** Decodes Motion JPEG to GREY or RGB8 with libturbojpeg; `none` (default) delivers the JPEG bytes. */
  decode?: "none" | "grey" | "rgb";
  /** Frame buffers asked of the driver, 4 to 32, default 8. As many frames less a few can be held at a time. */
  buffers?: number;
  /** Memory that the camera writes into: the driver's, mapped (default), or the process's (USERPTR). */
  memory?: "mmap" | "userptr";
  /** Also export every buffer as a DMA buffer: camera.dmaBuffers. */
  dmaBuffers?: boolean;
  /**
   * Controls set before the first frame, and again when the camera comes back after an unplug. Controls that change the format
   * (NVIDIA's sensor_mode, preferred_stride, height_align, size_align) are set before it.
   */
  controls?: Readonly<Record<string, number | boolean | string>>;
  /** Look for a camera that was unplugged or failed, and continue with it. Default true. */
  reconnect?: boolean;
  /** Closes the camera; a loop that reads it throws the signal's reason. */
  signal?: AbortSignal;
}

/** @internal For tests: a driver in memory, other folders. */
export interface Surroundings {
  addon?: NativeAddon;
  system?: unknown;
  folders?: DeviceFolders;
}

function toFourcc(format: string): string {
  if ((CAPTURE_FORMATS as readonly string[]).includes(format))
    return formatTrait(format as CaptureFormat).fourcc;
  if (/^[\x20-\x7e]{1,4}(-BE)?$/.test(format)) return format.length < 4 ? format.padEnd(4) : format;
  throw new CameraError(
    "INVALID_ARGUMENT",
    `Expected a format such as "YUYV" or "MJPEG", got "${format.slice(0, 20)}".`,
    {
      hint: `These have names: ${CAPTURE_FORMATS.join(", ")}; any other by V4L2's four letters.`,
    },
  );
}

function nativeOptions(path: string, request: CameraRequest, system: unknown): NativeOpenOptions {
  const { format, width, height, rateHz, buffers, decode = "none", memory = "mmap" } = request;
  if (format !== undefined && typeof format !== "string")
    throw new CameraError("INVALID_ARGUMENT", `Expected a text for format, got ${typeof format}.`);
  if (memory !== "mmap" && memory !== "userptr")
    throw new CameraError("INVALID_ARGUMENT", `Expected mmap or userptr for memory, got ${String(memory)}.`);
  return {
    path,
    ...(format !== undefined && { fourcc: toFourcc(format) }),
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    ...(rateHz !== undefined && { rateHz }),
    formatControls: formatControls(path, Object.entries(request.controls ?? {})),
    ...(buffers !== undefined && { buffers }),
    decode,
    separatePlanes: true,
    ...(memory === "userptr" && { ownMemory: true }),
    ...(request.dmaBuffers === true && { exportBuffers: true }),
    ...(system !== undefined && { system }),
  };
}

function frameLayout(
  { fourcc, width, height, strideBytes }: NativeAgreedFormat,
  decode: string,
): FrameLayout {
  const named = captureFormatFrom(fourcc);
  if (named !== "MJPEG") return { width, height, strideBytes, format: named, fourcc };
  // A decoded JPEG has rows that touch.
  if (decode === "grey") return { width, height, strideBytes: width, format: "GREY", fourcc };
  if (decode === "rgb") return { width, height, strideBytes: 3 * width, format: "RGB8", fourcc };
  return { width, height, strideBytes: 0, format: "MJPEG", fourcc };
}

function checkKept(path: string, kept: NativeAgreedFormat, request: CameraRequest): void {
  const named = captureFormatFrom(kept.fourcc);
  const group = named === undefined ? 1 : packedSamples(named);
  const rowBytes =
    named === undefined ? 0 : Math.ceil(kept.width / group) * group * formatTrait(named).bytesPerPixel;
  if (kept.strideBytes < rowBytes) {
    throw new CameraError(
      "DEVICE_UNSUITABLE",
      `${path}: expected rows of at least ${rowBytes} bytes for ${named} ${kept.width}x${kept.height}, the driver set ${kept.strideBytes}.`,
      { context: { device: path, found: kept } },
    );
  }
  if (request.exact !== true) return;
  const text = (fourcc: string, width: number, height: number, rateHz: number) =>
    `${fourcc.trim()} ${width}x${height}${rateHz > 0 ? ` at ${Number(rateHz.toFixed(2))} Hz` : ""}`;
  const fourcc = request.format === undefined ? kept.fourcc : toFourcc(request.format);
  const { width = kept.width, height = kept.height, rateHz = kept.rateHz } = request;
  const sameRate = Math.abs(kept.rateHz - rateHz) <= 0.01 * rateHz;
  if (fourcc === kept.fourcc && width === kept.width && height === kept.height && sameRate) return;
  throw new CameraError(
    "DEVICE_UNSUITABLE",
    `${path}: expected ${text(fourcc, width, height, rateHz)}, the camera keeps ${text(kept.fourcc, kept.width, kept.height, kept.rateHz)}.`,
    { context: { device: path, expected: { fourcc, width, height, rateHz }, found: kept } },
  );
}

/**
 * Opens a camera.
 * @param path such as "/dev/video0"
 * @throws CameraError DEVICE_UNAVAILABLE, DEVICE_PERMISSION, DEVICE_BUSY, DEVICE_UNSUITABLE, INVALID_ARGUMENT or ADDON_MISSING;
 *   the signal's reason
 */
export async function open(
  path: string,
  request: CameraRequest = {},
  around: Surroundings = {},
): Promise<Camera> {
  const { signal } = request;
  signal?.throwIfAborted();
  if (typeof path !== "string")
    throw new CameraError("INVALID_ARGUMENT", `Expected a path such as "/dev/video0", got ${typeof path}.`);
  const addon = around.addon ?? loadAddon();
  const options = nativeOptions(path, request, around.system);
  const watched = new Set<string>();
  const prepare = (camera: V4l2Camera) => {
    const controls = new CameraControls(camera.native);
    for (const [name, value] of Object.entries(request.controls ?? {}))
      if (!isFormatControl(name)) controls.apply(name, typeof value === "boolean" ? Number(value) : value);
    for (const name of watched) controls.watch(name);
  };
  const camera = await openFirst(addon, options);
  try {
    checkKept(path, camera.native.format, request);
    prepare(camera);
    signal?.throwIfAborted();
  } catch (error) {
    await camera.close();
    throw cameraError(error, path);
  }
  const supervised = new SupervisedCamera(camera, {
    addon,
    clocks: () => addon.clocks(),
    buses: sharedBuses(addon),
    open: options,
    prepare,
    reconnect: request.reconnect !== false,
    ...(around.folders && { folders: around.folders }),
  });
  const layout = frameLayout(camera.native.format, options.decode ?? "none");
  return new Camera({ supervised, layout, watched, signal });
}

/** Cameras that a program opens one by one share the clocks of their bus too. */
const buses = new WeakMap<NativeAddon, BusClocks>();

function sharedBuses(addon: NativeAddon): BusClocks {
  const made = buses.get(addon) ?? new BusClocks(hostClocks(addon));
  buses.set(addon, made);
  return made;
}

async function openFirst(addon: NativeAddon, options: NativeOpenOptions): Promise<V4l2Camera> {
  try {
    return await V4l2Camera.open(addon, options);
  } catch (error) {
    throw cameraError(error, options.path);
  }
}
