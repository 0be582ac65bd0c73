// SPDX-License-Identifier: Apache-2.0
// The header of a YUV4MPEG2 stream (yuv4mpeg(5) of mjpegtools, and the deeper samples that ffmpeg writes) as a layout.
import { DepthwattError, printable } from "../../core/index.js";
import type { PixelFormat } from "../frame.js";
import { type FrameLayout, halfPlanes, MAX_PIXELS_ACROSS } from "./layout.js";

export interface StreamLayout extends FrameLayout {
  /** Frames per second; undefined where the stream does not know. */
  rateHz: number | undefined;
  /** Path of the helper's memory, which has the frames in place of the stream; absent: the stream has them. */
  memoryPath?: string;
}

/** A kind of stream whose first line describes its frames. */
export interface StreamHeader {
  magic: string;
  /** @throws DepthwattError DEVICE_UNSUITABLE */
  layout(line: string): StreamLayout;
  /** Where such a stream comes from. */
  hint: string;
}

export const Y4M_FRAME = "FRAME";

/** Capture time and number of a frame, as the line before it states them. */
export interface FrameStamp {
  /** Start of exposure, CLOCK_MONOTONIC, ns; undefined: not stated. */
  timestampNs: bigint | undefined;
  /** Counts every image that the camera made; undefined: not stated. */
  sequence: number | undefined;
  /** Number of the frame in the helper's memory, from 1; undefined: its bytes follow. */
  frame?: number;
}

const badStamp = (expected: string, found: string): DepthwattError =>
  new DepthwattError("COMMAND_FAILED", `expected ${expected} in a FRAME line, got ${found}`, {
    hint: "XTIME is the start of exposure in nanoseconds of CLOCK_MONOTONIC, XSEQ the number of the camera's image, XFRAME the frame in shared memory.",
  });

/** Returns the value of a word such as XSEQ=5 in a line. */
const wordIn = (line: string, name: string) => new RegExp(` ${name}=(\\S*)`).exec(line)?.[1];

/**
 * Reads XCLOCK=NAME and XMEMORY=PATH from a stream's first line. @returns the path; undefined: frames follow their lines
 * @throws DepthwattError DEVICE_UNSUITABLE for another clock or a relative path
 */
export function memoryPathIn(line: string): string | undefined {
  const [clock, path] = [wordIn(line, "XCLOCK"), wordIn(line, "XMEMORY")];
  if (clock !== undefined && clock !== "monotonic") {
    throw new DepthwattError(
      "DEVICE_UNSUITABLE",
      `expected XCLOCK=monotonic in the first line, got ${printable(clock.slice(0, 24))}`,
      { hint: "Convert capture times to CLOCK_MONOTONIC before they are written." },
    );
  }
  if (path === undefined || path.startsWith("/")) return path;
  throw new DepthwattError(
    "DEVICE_UNSUITABLE",
    `expected XMEMORY with an absolute path, got ${printable(path.slice(0, 60))}`,
    { hint: "A helper names its own memory as /proc/PID/fd/NUMBER." },
  );
}

/**
 * Reads XTIME=NANOSECONDS, XSEQ=NUMBER and XFRAME=NUMBER from a frame's line. Other programs ignore words that begin with X.
 * @throws DepthwattError COMMAND_FAILED
 */
export function y4mStamp(line: string): FrameStamp {
  const [time, number, frame] = [wordIn(line, "XTIME"), wordIn(line, "XSEQ"), wordIn(line, "XFRAME")];
  if (time !== undefined && !/^\d{1,18}$/.test(time))
    throw badStamp("XTIME as nanoseconds", time.slice(0, 24));
  if (number !== undefined && !(/^\d{1,10}$/.test(number) && Number(number) < 2 ** 32))
    throw badStamp("XSEQ from 0 to 4294967295", number.slice(0, 24));
  if (frame !== undefined && !/^[1-9]\d{0,14}$/.test(frame))
    throw badStamp("XFRAME from 1", frame.slice(0, 24));
  return {
    ...(frame !== undefined && { frame: Number(frame) }),
    timestampNs: time === undefined ? undefined : BigInt(time),
    sequence: number === undefined ? undefined : Number(number),
  };
}

/** Bytes behind the plane of grey, in samples. */
const CHROMA: Record<string, (width: number, height: number) => number> = {
  mono: () => 0,
  "420": halfPlanes,
  "411": (width, height) => 2 * Math.ceil(width / 4) * height,
  "422": (width, height) => 2 * Math.ceil(width / 2) * height,
  "444": (width, height) => 2 * width * height,
  "444alpha": (width, height) => 3 * width * height,
};
const DEEP: Record<string, PixelFormat> = { "8": "GREY", "10": "Y10", "12": "Y12", "16": "Y16" };

const unsuitable = (text: string): DepthwattError =>
  new DepthwattError("DEVICE_UNSUITABLE", `expected YUV4MPEG2 that depthwatt reads, got ${text}`, {
    hint: "Let the command write another form, such as 'ffmpeg ... -vf scale=640:480 -pix_fmt gray -f yuv4mpegpipe -'.",
  });

/** C420jpeg, C420p10, Cmono16, C444alpha: what lies behind the grey, and how deep a sample is. */
function colour(tag: string): { chroma: (typeof CHROMA)[string]; format: PixelFormat } {
  const [, name, bits] =
    /^(420|411|422|444alpha|444|mono)(?:jpeg|mpeg2|paldv)?(?:p?(9|1[0-6]))?$/.exec(tag) ?? [];
  const chroma = name === undefined ? undefined : CHROMA[name];
  const format = DEEP[bits ?? "8"];
  if (chroma === undefined || format === undefined)
    throw unsuitable(`the colour space C${tag}; it reads 8, 10, 12 and 16 bits with any chroma`);
  return { chroma, format };
}

function across(letter: string, text: string | undefined): number {
  const pixels = /^\d{1,6}$/.test(text ?? "") ? Number(text) : 0;
  if (pixels >= 16 && pixels <= MAX_PIXELS_ACROSS) return pixels;
  throw unsuitable(
    `the size ${letter}${text ?? " (none)"}, where 16 to ${MAX_PIXELS_ACROSS} pixels are possible`,
  );
}

/** The words of a stream's first line by their first letter. */
export const tagsOf = (line: string): Map<string, string> =>
  new Map(
    line
      .split(" ")
      .slice(1)
      .filter((word) => word !== "" && !word.startsWith("X"))
      .map((word) => [word[0]!, word.slice(1)]),
  );

/** @param text such as 30000:1001 */
export function rateFrom(text = ""): number | undefined {
  const [numerator = 0, denominator = 0] = text.split(":").map(Number);
  return numerator > 0 && denominator > 0 ? numerator / denominator : undefined;
}

/**
 * @param line the first line of the stream, without its end
 * @throws DepthwattError DEVICE_UNSUITABLE for a size, depth or interlacing that is not read
 */
export function y4mLayout(line: string): StreamLayout {
  const tags = tagsOf(line);
  const width = across("W", tags.get("W"));
  const height = across("H", tags.get("H"));
  const interlacing = tags.get("I") ?? "p";
  if (interlacing !== "p" && interlacing !== "?")
    throw unsuitable(`interlaced frames (I${interlacing}): the two fields show two moments`);
  const { chroma, format } = colour(tags.get("C") ?? "420");
  const sampleBytes = format === "GREY" ? 1 : 2;
  const rateHz = rateFrom(tags.get("F"));
  return {
    width,
    height,
    format,
    rateHz,
    strideBytes: width * sampleBytes,
    imageBytes: width * height * sampleBytes,
    skipBytes: chroma(width, height) * sampleBytes,
  };
}

export const Y4M: StreamHeader = {
  magic: "YUV4MPEG2",
  layout: y4mLayout,
  hint: "YUV4MPEG2 is 'ffmpeg ... -f yuv4mpegpipe -' or GStreamer's y4menc; for frames without headers set source.command.format.",
};
