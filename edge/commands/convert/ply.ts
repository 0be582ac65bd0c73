// SPDX-License-Identifier: Apache-2.0
// Depth maps as point clouds: one PLY file per map, in the left rectified camera's frame (x right, y down, z ahead), metres.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../../../camera/index.js";
import { plyFile } from "../../../core/frame/ply.js";
import { DepthwattError, writeBeside } from "../../../core/index.js";
import {
  decodeDepth,
  parseCameraMatrix,
  parseCaptureTime,
  parseImage,
  type RecordedDepth,
} from "../../mcap/images.js";
import { type ImageTopic, imageTopics } from "../../mcap/pairs.js";
import type { Message, Recording } from "../../mcap/recording.js";
import { type Conversion, type ConversionEvents, Counting } from "./conversion.js";
import { countLoss, topicFolder } from "./to-folders.js";

interface Pinhole {
  focalPixels: number;
  cx: number;
  cy: number;
}

/** Binary PLY: x, y, z as float, and a grey value where there is an image. Pixels without depth are left out. */
export function encodePly(
  { width, height, millimetres }: RecordedDepth,
  { focalPixels, cx, cy }: Pinhole,
  grey?: Uint8Array,
): Uint8Array {
  const points = millimetres.reduce((count, value) => count + (value === 0 ? 0 : 1), 0);
  const properties = ["float x", "float y", "float z", ...(grey ? ["uchar intensity"] : [])];
  const pointBytes = grey ? 13 : 12;
  const { file, at: first } = plyFile(properties, points, pointBytes);
  const view = new DataView(file.buffer);
  let at = first;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const value = millimetres[y * width + x]!;
      if (value === 0) continue;
      const z = value / 1000;
      view.setFloat32(at, ((x - cx) * z) / focalPixels, true);
      view.setFloat32(at + 4, ((y - cy) * z) / focalPixels, true);
      view.setFloat32(at + 8, z, true);
      if (grey) file[at + 12] = grey[y * width + x]!;
      at += pointBytes;
    }
  }
  return file;
}

function parsePinhole(message: Uint8Array): Pinhole {
  const k = parseCameraMatrix(message);
  return { focalPixels: k[0]!, cx: k[2]!, cy: k[5]! };
}

const topicIn = (recording: Recording, folder: string): ImageTopic | undefined =>
  imageTopics(recording).find(({ channel }) => topicFolder(channel.topic) === folder);

/** @throws DepthwattError SOURCE_EMPTY: a recording without depth or its camera */
export async function toPly(
  recording: Recording,
  out: string,
  events: ConversionEvents,
): Promise<Conversion> {
  const depth = topicIn(recording, "depth");
  const camera = [...recording.channels.values()].find(({ topic }) =>
    /(^|\/)depth\/camera_info$/.test(topic),
  );
  if (depth === undefined || camera === undefined)
    throw new DepthwattError(
      "SOURCE_EMPTY",
      `${recording.file}: expected depth/image_rect and depth/camera_info, found no such topics`,
    );
  const left = topicIn(recording, "left_rectified");
  makeFolder(out);
  const total = recording.counts?.get(depth.channel.id);
  const counting = new Counting(events, total === undefined ? undefined : Number(total));
  const channels = new Set([depth.channel.id, camera.id, ...(left ? [left.channel.id] : [])]);
  let grey: { stampNs: bigint; data: Uint8Array } | undefined;
  let waiting: RecordedDepth | undefined;
  let pinhole: Pinhole | undefined;
  const captureTime = (message: Message) => {
    const { timeNs, isLogTime } = parseCaptureTime(message);
    if (isLogTime) counting.warnOfLogTime(recording.channels.get(message.channelId)!.topic);
    return timeNs;
  };
  const write = async () => {
    if (waiting === undefined) return;
    const map = waiting;
    waiting = undefined;
    if (pinhole === undefined)
      return counting.skip("noCamera", "a depth map without a camera_info before it");
    const name = join(out, `${map.stampNs}.ply`);
    if (existsSync(name)) return counting.keeps();
    await writeBeside(name, encodePly(map, pinhole, grey?.stampNs === map.stampNs ? grey.data : undefined));
    counting.wrote();
  };
  for await (const message of recording.messages({ channels })) {
    const { channelId, data } = message;
    try {
      if (channelId === camera.id) {
        pinhole = parsePinhole(data);
        if (waiting?.stampNs === captureTime(message)) await write();
      } else if (channelId === left?.channel.id) {
        const image = parseImage(data);
        if (image.encoding === "mono8" && image.strideBytes === image.width)
          grey = { data: image.data, stampNs: captureTime(message) };
      } else {
        await write();
        const map = decodeDepth(depth.kind, data, depth.channel.topic);
        waiting = { ...map, stampNs: captureTime(message) };
      }
    } catch (error) {
      counting.skipUnreadable(error);
    }
  }
  await write();
  countLoss(recording, counting);
  return counting;
}
