// SPDX-License-Identifier: Apache-2.0
// From device paths to a source: asks the cameras what they can, chooses and opens.
import {
  BusClocks,
  CameraControls,
  cameraError,
  delivered,
  formatTrait,
  hostClocks,
  isInterleaved,
  isSameDevice,
  type NativeDescription,
  packedSamples,
  type V4l2Camera,
} from "v4l2-camera/parts";
import { DepthwattError } from "../../core/index.js";
import type { CameraImageLayout } from "./camera-image.js";
import { type ChosenFormat, chooseFormat, type FormatRequest, formatsToMeasure } from "./choose.js";
import { type DefectivePixels, readDefects } from "./defects.js";
import { asDepthwattError } from "./errors.js";
import { ExposureLoop } from "./exposure-loop.js";
import {
  type OpenedCamera,
  type OtherSettings,
  openCamera,
  type V4l2Settings,
  type V4l2Surroundings,
} from "./open-camera.js";
import { OtherCamera } from "./other-camera.js";
import {
  frameSize,
  isPairOfBytes,
  isSecond,
  isStacked,
  LAYOUT_TITLES,
  type Margins,
  NO_MARGINS,
  parseMargins,
  sizeWords,
  titleSize,
} from "./pair-layout.js";
import { rawAlignmentFrom } from "./raw-alignment.js";
import { parseControls } from "./requested-controls.js";
import { V4l2Source } from "./source.js";
import { usbLinkFrom } from "./usb-link.js";

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
  if (!sideBySide && settings.margins !== undefined) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      "Expected one camera (source.v4l2.sideBySide) for source.v4l2.margins, got two.",
    );
  }
  const margins = settings.margins === undefined ? NO_MARGINS : parseMargins(settings.margins);
  const size = sideBySide
    ? frameSize(settings, layout, margins)
    : { width: settings.width, height: settings.height };
  const request: FormatRequest = {
    ...size,
    words: sizeWords(size, settings),
    format: settings.format ?? "auto",
    colours: settings.colours ?? false,
    interleaved: layout === "interleaved",
    ...(settings.rateHz !== undefined && { rateHz: settings.rateHz }),
  };
  const links = paths.map((path) => usbLinkFrom(path, around.folders?.sysfs));
  const compared = formatsToMeasure(descriptions, request, links);
  const costs =
    compared.length === 0 ? undefined : await around.measureDecoding?.(compared, settings.colours ?? false);
  const { trait, reason } = chooseFormat(descriptions, request, links, costs);
  if (reason !== undefined) around.onNote?.(reason);
  const hasRowsBetween = isStacked(layout) || margins.top > 0 || margins.bottom > 0;
  if (trait.format === "NV12" && settings.colours === true && hasRowsBetween) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      "Expected a format other than NV12 for colours of images above each other or with margins, got NV12: its colours follow the whole frame.",
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
  if (margins.left % group !== 0) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `Expected a left margin (source.v4l2.margins) that is a multiple of ${group} for ${trait.format}, got ${margins.left}.`,
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
  let other: OpenedOther | undefined;
  try {
    other = settings.other && (await openOther(settings.other, settings, { ...around, buses }));
  } catch (error) {
    await Promise.all(cameras.map(({ camera }) => camera.stop()));
    throw error;
  }
  return assemble(cameras, { trait, reason }, settings, margins, defects, around, other);
}

interface OpenedOther {
  camera: OtherCamera;
  layout: CameraImageLayout;
}

/** Opens the further camera, in colours if it has them. */
async function openOther(
  { device, width, height, format = "auto", rateHz }: OtherSettings,
  { rawAlignment = "auto", buffers }: V4l2Settings,
  around: V4l2Surroundings,
): Promise<OpenedOther> {
  const size = { width, height };
  const rate = rateHz === undefined ? {} : { rateHz };
  const request: FormatRequest = { ...size, format, colours: true, section: "source.v4l2.other", ...rate };
  const link = usbLinkFrom(device, around.folders?.sysfs);
  const { trait, reason } = chooseFormat([await describe(device, around)], request, [link]);
  if (reason !== undefined) around.onNote?.(reason);
  const own: V4l2Settings = { ...size, ...rate, colours: true, ...(buffers !== undefined && { buffers }) };
  const opened = await openCamera(device, trait, size, own, [], around, []);
  const { identity, format: agreed } = opened.camera.camera!.native;
  const alignment =
    rawAlignment === "auto" ? rawAlignmentFrom(identity.driver, around.folders?.compatible) : rawAlignment;
  const layout = {
    ...size,
    strideBytes: trait.format === "MJPEG" ? 3 * width : agreed.strideBytes,
    // Only a pair has interleaved formats.
    format: delivered(trait.format, alignment, true) as CameraImageLayout["format"],
    offsetBytes: 0,
  };
  return { camera: new OtherCamera(opened.camera, layout, opened.rateHz), layout };
}

function devicePaths(settings: V4l2Settings): string[] {
  const paths = pairPaths(settings);
  const device = settings.other?.device;
  const twice = device === undefined ? undefined : paths.find((path) => isSameDevice(path, device));
  if (twice === undefined) return paths;
  throw new DepthwattError(
    "CONFIG_INVALID",
    `Expected another camera than the pair's for source.v4l2.other.device, got the same device twice (${twice} and ${device}).`,
    { hint: "Run 'depthwatt list-devices' for the cameras that are there." },
  );
}

function pairPaths({ left, right, sideBySide }: V4l2Settings): string[] {
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

/** Returns the grey format with the samples of a Bayer format; other formats as they are. */
function withoutMosaic(format: CapturedFormat): CapturedFormat {
  const bits = /^BAYER_.*?(\d+P?)$/.exec(format)?.[1];
  return bits === undefined ? format : bits === "8" ? "GREY" : (`Y${bits}` as CapturedFormat);
}

type CapturedFormat = ReturnType<typeof delivered>;

function assemble(
  opened: readonly OpenedCamera[],
  { trait, reason }: ChosenFormat,
  settings: V4l2Settings,
  margins: Margins,
  defects: DefectivePixels | undefined,
  around: V4l2Surroundings,
  other: OpenedOther | undefined,
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
    const pixelBytes = isJpeg ? decodedBytes : formatTrait(trait.format).bytesPerPixel;
    const acrossBytes = settings.width * pixelBytes;
    const downBytes = settings.height * strideBytes;
    const secondBytes =
      layout !== undefined && isSecond(layout, side) ? (isStacked(layout) ? downBytes : acrossBytes) : 0;
    return {
      width: settings.width,
      height: settings.height,
      strideBytes,
      format: isInterleaved(pixels) ? (`${pixels}_${side === "left" ? "LEFT" : "RIGHT"}` as const) : pixels,
      offsetBytes: margins.top * strideBytes + margins.left * pixelBytes + secondBytes,
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
      title: `cameras ${names}, ${trait.format} ${titleSize(settings, layout && frameSize(settings, layout, margins))}${rate}`,
      formatChoice: reason,
      width: settings.width,
      height: settings.height,
      leftFormat: layouts.left.format,
      rightFormat: layouts.right.format,
      leftStrideBytes: layouts.left.strideBytes,
      rightStrideBytes: layouts.right.strideBytes,
      rateHz: rateHz > 0 ? rateHz : undefined,
      clock: "monotonic",
      ...(other && { other: other.layout }),
    },
    cameras: { left, right },
    other: other?.camera,
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
