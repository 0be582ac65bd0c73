// SPDX-License-Identifier: Apache-2.0
// Serves the left image and the coloured depth as Motion JPEG. Nothing is copied or encoded unless a viewer is ready for it; libvips
// encodes on its own threads, one picture of a kind at a time.
import { colourDisparity, encodeJpeg, type GreyImage, type RgbImage } from "../../../camera/index.js";
import type { ComputedFrame } from "../../contracts/computed-frame.js";
import type { FrameLease, Output, OutputContext, OutputCounters } from "../../contracts/output.js";
import { CountsByCause } from "../../contracts/statistics.js";
import type { VideoSettings } from "./settings.js";
import { Viewers } from "./viewers.js";

const INVALID_DISPARITY_Q4 = -32_768;

/** Copies what a picture shows out of the frame. */
type Copy = (frame: ComputedFrame) => GreyImage | RgbImage;

interface Picture {
  name: "left" | "depth";
  copy: Copy;
  viewers: Viewers;
  isEncoding: boolean;
}

export async function openVideoOutput(context: OutputContext<VideoSettings>): Promise<Output> {
  const { server } = await context.http();
  const pictures: Picture[] = [
    { name: "left", copy: copyLeft(), viewers: new Viewers(), isEncoding: false },
    { name: "depth", copy: copyColours(context.searched), viewers: new Viewers(), isEncoding: false },
  ];
  for (const { name, viewers } of pictures) {
    server.get(`/video/${name}.mjpeg`, (_request, response) => viewers.join(response, "moving"));
    server.get(`/video/${name}.jpg`, (_request, response) => viewers.join(response, "still"));
  }
  return new VideoOutput(pictures, server.url!);
}

class VideoOutput implements Output {
  readonly #pictures: readonly Picture[];
  readonly #url: string;
  readonly #drops = new CountsByCause();
  #sent = 0;
  #bytes = 0;

  constructor(pictures: readonly Picture[], url: string) {
    this.#pictures = pictures;
    this.#url = url;
  }

  /** Pictures that somebody watches. */
  get streams(): readonly string[] {
    return this.#pictures.filter(({ viewers }) => viewers.count > 0).map(({ name }) => name);
  }

  frame(lease: FrameLease): void {
    for (const picture of this.#pictures) {
      const { name, viewers, isEncoding, copy } = picture;
      if (viewers.count === 0) continue;
      if (isEncoding) this.#drops.add(`${name}.encoderBusy`);
      else if (!viewers.isReady) this.#drops.add(`${name}.viewerBusy`, viewers.count);
      else void this.#show(picture, copy(lease.frame), lease);
    }
    lease.release();
  }

  async #show(picture: Picture, image: GreyImage | RgbImage, lease: FrameLease): Promise<void> {
    const { name, viewers } = picture;
    picture.isEncoding = true;
    try {
      const jpeg = await encodeJpeg(image);
      const { sent, busy } = viewers.show(jpeg);
      if (busy > 0) this.#drops.add(`${name}.viewerBusy`, busy);
      this.#sent += sent;
      this.#bytes += sent * jpeg.length;
      if (sent > 0) lease.sent();
    } catch {
      this.#drops.add(`${name}.encoderFailed`);
    } finally {
      picture.isEncoding = false;
    }
  }

  counters(): OutputCounters {
    const viewers = Object.fromEntries(this.#pictures.map(({ name, viewers }) => [name, viewers.count]));
    return {
      sent: this.#sent,
      bytes: this.#bytes,
      drops: this.#drops.snapshot(),
      details: { url: `${this.#url}/video`, viewers },
    };
  }

  greeting(): [label: string, text: string][] {
    return [["video", this.#pictures.map(({ name }) => `${this.#url}/video/${name}.mjpeg`).join(" ")]];
  }

  async close(): Promise<void> {
    for (const { viewers } of this.#pictures) viewers.close();
  }
}

/** One picture is encoded at a time, so that its memory is used again. */
function copyLeft(): Copy {
  let data = new Uint8Array(0);
  return ({ slot, encodings, width, height }) => {
    const pixels = encodings.leftRgb ? slot.leftRgb : slot.left;
    if (data.length !== pixels.length) data = new Uint8Array(pixels.length);
    data.set(pixels);
    return { data, width, height };
  };
}

/** @param searched disparities shown as the first and the last colour, pixels */
function copyColours(searched: () => { min: number; max: number }): Copy {
  let data = new Uint8Array(0);
  let table = colourTable(searched());
  return ({ slot: { disparityQ4 }, width, height }) => {
    const { min, max } = searched();
    if (table.min !== min || table.max !== max) table = colourTable({ min, max });
    if (data.length !== 3 * disparityQ4.length) data = new Uint8Array(3 * disparityQ4.length);
    const { colours } = table;
    const first = 16 * min;
    const last = colours.length / 3 - 1;
    for (let i = 0, to = 0; i < disparityQ4.length; i++, to += 3) {
      const value = disparityQ4[i]!;
      if (value === INVALID_DISPARITY_Q4) {
        data[to] = data[to + 1] = data[to + 2] = 0;
        continue;
      }
      const at = 3 * Math.max(0, Math.min(last, value - first));
      data[to] = colours[at]!;
      data[to + 1] = colours[at + 1]!;
      data[to + 2] = colours[at + 2]!;
    }
    return { data, width, height };
  };
}

/** The colour of each sixteenth of a pixel from `min` to `max`. */
function colourTable({ min, max }: { min: number; max: number }) {
  const data = Float32Array.from({ length: 16 * (max - min) + 1 }, (_, i) => min + i / 16);
  const colours = colourDisparity({ data, width: data.length, height: 1 }, { min, max }).data;
  return { min, max, colours };
}
