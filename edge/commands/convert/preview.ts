// SPDX-License-Identifier: Apache-2.0
// A recording at a glance: depth in colours, as an animated WebP or as a strip of pictures in one PNG.
import {
  colourDisparity,
  encodePng,
  loadImageLibrary,
  type RgbImage,
  shownRange,
} from "../../../camera/index.js";
import { DepthwattError, writeBeside } from "../../../core/index.js";
import { decodeDepth, decodeDisparity } from "../../mcap/images.js";
import { type ImageTopic, imageTopics } from "../../mcap/pairs.js";
import type { Message, Recording } from "../../mcap/recording.js";
import { type Conversion, type ConversionEvents, Counting } from "./conversion.js";
import { countLoss, topicFolder } from "./to-folders.js";

const WIDTH = 320;
const MAX_FRAMES = { webp: 150, strip: 8 };

/** Near is warm and far is cold: colours run over what the picture holds, by 1 / depth or by disparity. */
function coloured(topic: ImageTopic, { data }: Message): RgbImage {
  const { kind, channel } = topic;
  let values: Float32Array;
  let size: { width: number; height: number };
  if (topicFolder(channel.topic) === "depth") {
    const map = decodeDepth(kind, data, channel.topic);
    size = map;
    values = Float32Array.from(map.millimetres, (value) =>
      value === 0 ? Number.POSITIVE_INFINITY : 1000 / value,
    );
  } else {
    const map = decodeDisparity(data, channel.topic);
    size = map;
    values = Float32Array.from(map.q4, (value) => (value === -32768 ? Number.POSITIVE_INFINITY : value / 16));
  }
  return colourDisparity({ data: values, width: size.width, height: size.height }, shownRange(values));
}

function besideEachOther(frames: readonly Uint8Array[], width: number, height: number): RgbImage {
  const rowBytes = 3 * width;
  const data = new Uint8Array(rowBytes * height * frames.length);
  for (const [index, frame] of frames.entries()) {
    for (let y = 0; y < height; y++)
      data.set(frame.subarray(y * rowBytes, (y + 1) * rowBytes), (y * frames.length + index) * rowBytes);
  }
  return { data, width: width * frames.length, height };
}

/** @throws DepthwattError SOURCE_EMPTY: nothing to show */
export async function toPreview(
  recording: Recording,
  out: string,
  kind: "webp" | "strip",
  events: ConversionEvents,
): Promise<Conversion> {
  const topic =
    imageTopics(recording).find(({ channel }) => topicFolder(channel.topic) === "depth") ??
    imageTopics(recording).find(({ channel }) => topicFolder(channel.topic) === "disparity");
  const { startNs, endNs } = recording;
  if (topic === undefined || startNs === undefined || endNs === undefined)
    throw new DepthwattError(
      "SOURCE_EMPTY",
      `${recording.file}: expected depth or disparities to show, found none`,
    );
  const max = MAX_FRAMES[kind];
  const counting = new Counting(events, undefined);
  const stepNs = (endNs - startNs) / BigInt(max) + 1n;
  const sharp = await loadImageLibrary();
  const frames: { raw: Buffer; height: number }[] = [];
  let dueNs = startNs;
  for await (const message of recording.messages({ channels: new Set([topic.channel.id]) })) {
    if (message.logTime < dueNs || frames.length === max) continue;
    dueNs += stepNs;
    try {
      const { data, width, height } = coloured(topic, message);
      const small = sharp(data, { raw: { width, height, channels: 3 } }).resize({
        width: Math.min(WIDTH, width),
      });
      const { data: raw, info } = await small.raw().toBuffer({ resolveWithObject: true });
      frames.push({ raw, height: info.height });
      counting.wrote();
    } catch (error) {
      counting.skipUnreadable(error);
    }
  }
  const [first] = frames;
  if (first === undefined)
    throw new DepthwattError(
      "SOURCE_EMPTY",
      `${recording.file}: expected a depth map that can be read, found none`,
    );
  const width = first.raw.length / 3 / first.height;
  const raw = { width, height: first.height, channels: 3 } as const;
  const alike = frames.filter((frame) => frame.raw.length === first.raw.length);
  const bytes =
    kind === "webp"
      ? await sharp(Buffer.concat(alike.map((frame) => frame.raw)), {
          raw: { ...raw, height: first.height * alike.length, pageHeight: first.height },
        })
          .webp({
            delay: alike.map(() => Math.max(20, Math.round(Number(stepNs) / 1e6))),
            loop: 0,
            quality: 80,
          })
          .toBuffer()
      : await encodePng(
          besideEachOther(
            alike.map((frame) => frame.raw),
            width,
            first.height,
          ),
        );
  await writeBeside(out, bytes);
  countLoss(recording, counting);
  return counting;
}
