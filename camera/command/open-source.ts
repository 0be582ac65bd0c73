// SPDX-License-Identifier: Apache-2.0
// From command lines to a source: starts the commands and waits for a whole frame of each.
import { basename } from "node:path";
import { DepthwattError } from "../../core/index.js";
import { frameSize, titleSize } from "../live/pair-layout.js";
import { CommandCamera } from "./command-camera.js";
import { rawLayout, type StreamFormat, widthOfOne } from "./layout.js";
import { CommandSource } from "./source.js";
import { commandWords } from "./words.js";

export interface CommandSettings {
  /** Command lines: left and right, or sideBySide alone. */
  left?: string;
  right?: string;
  sideBySide?: string;
  /** Hands each command line to /bin/sh; else it is split into words here. */
  shell?: boolean;
  format: StreamFormat;
  /** Size of one camera's image, pixels; of raw frames only. */
  width?: number;
  height?: number;
  /** Rate of raw frames, if it is known. */
  rateHz?: number;
  live: boolean;
  /** Colours are read: NV12 keeps its chroma. */
  colours?: boolean;
  timeoutMs: number;
  maxSkewMs?: number;
  /** Removes from a line on stderr what must not be shown; default nothing. */
  clean?(line: string): string;
  /** Asked each time a live command has ended: an error that another start cannot fix, which ends the source. */
  giveUp?(): Promise<Error | undefined>;
}

/** A helper that delivers rectified pairs with their disparity (pairs-header.ts). */
export type ForeignSettings = Pick<CommandSettings, "shell" | "live" | "timeoutMs" | "clean"> & {
  command: string;
};

/** @throws DepthwattError CONFIG_INVALID, COMMAND_FAILED, DEVICE_UNSUITABLE; commands that were started are ended again */
export async function openCommandSource(settings: CommandSettings): Promise<CommandSource> {
  const { sideBySide, format, width, height, live, maxSkewMs, shell = false } = settings;
  const lines = sideBySide === undefined ? [settings.left, settings.right] : [sideBySide];
  const which = sideBySide === undefined ? ["left", "right"] : ["side by side"];
  const across = width === undefined || sideBySide === undefined ? width : 2 * width;
  const names: string[] = [];
  const cameras = lines.map((line, index) => {
    const words = commandWords(line ?? "", shell);
    const program = shell ? "sh" : basename(words[0]);
    names.push(program);
    return new CommandCamera({
      name: `${which[index]} command "${program}"`,
      words,
      layout: format === "y4m" ? undefined : rawLayout(format, across ?? 0, height ?? 0, settings.colours),
      sideBySide: sideBySide !== undefined,
      live,
      timeoutMs: settings.timeoutMs,
      rateHz: settings.rateHz,
      clean: settings.clean ?? ((text) => text),
      giveUp: settings.giveUp,
      nowNs: () => process.hrtime.bigint(),
    });
  });
  try {
    await Promise.all(cameras.map((camera) => camera.open()));
    return assemble(cameras, names, { live, format, maxSkewMs, sideBySide: sideBySide !== undefined });
  } catch (error) {
    await Promise.all(cameras.map((camera) => camera.stop()));
    throw error;
  }
}

function assemble(
  [left, right]: CommandCamera[],
  names: readonly string[],
  more: { live: boolean; format: StreamFormat; maxSkewMs: number | undefined; sideBySide: boolean },
): CommandSource {
  const layout = left!.intake.layout;
  const other = (right ?? left!).intake.layout;
  const { rateHz, height, strideBytes, format } = layout;
  if (layout.width !== other.width || height !== other.height) {
    throw new DepthwattError(
      "IMAGE_SIZE_MISMATCH",
      `expected both commands to deliver one size, got ${layout.width}x${height} and ${other.width}x${other.height}`,
    );
  }
  const width = widthOfOne(layout, more.sideBySide);
  const rate = rateHz === undefined ? "" : ` at ${Number(rateHz.toFixed(2))} Hz`;
  const kind = more.live ? "live" : "recorded";
  const one = { width, height };
  const size = titleSize(one, right ? undefined : frameSize(one, "leftRight"));
  return new CommandSource({
    description: {
      title: `commands ${names.join(" and ")}, ${kind}, ${more.format} ${size}${rate}`,
      width,
      height,
      leftFormat: format,
      rightFormat: other.format,
      leftStrideBytes: strideBytes,
      rightStrideBytes: other.strideBytes,
      rateHz: more.live ? rateHz : undefined,
      clock: more.live ? "monotonic" : "file",
    },
    left: left!,
    right,
    live: more.live,
    maxSkewMs: more.maxSkewMs,
  });
}

/** @throws DepthwattError CONFIG_INVALID, COMMAND_FAILED, DEVICE_UNSUITABLE; a helper that was started is ended again */
export async function openForeignSource(settings: ForeignSettings): Promise<CommandSource> {
  const { command, shell = false, live, timeoutMs, clean = (text) => text } = settings;
  const words = commandWords(command, shell);
  const program = shell ? "sh" : basename(words[0]);
  const camera = new CommandCamera({
    name: `helper "${program}"`,
    words,
    layout: undefined,
    withDisparity: true,
    sideBySide: false,
    live,
    timeoutMs,
    rateHz: undefined,
    clean,
    nowNs: () => process.hrtime.bigint(),
  });
  try {
    await camera.open();
  } catch (error) {
    await camera.stop();
    throw error;
  }
  const { width, height, rateHz } = camera.intake.layout;
  const rate = rateHz === undefined ? "" : ` at ${Number(rateHz.toFixed(2))} Hz`;
  return new CommandSource({
    description: {
      title: `helper ${program}, ${live ? "live" : "recorded"}, disparity ${width}x${height}${rate}`,
      width,
      height,
      leftFormat: "GREY",
      rightFormat: "GREY_DISPARITY",
      leftStrideBytes: width,
      rightStrideBytes: width,
      rateHz: live ? rateHz : undefined,
      clock: live ? "monotonic" : "file",
    },
    left: camera,
    right: undefined,
    live,
    maxSkewMs: undefined,
  });
}
