// SPDX-License-Identifier: Apache-2.0
// From a recording to one file per image: plain folders, or the layout of EuRoC.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import {
  disparityFromQ4,
  encodePfm,
  encodePng,
  makeFolder,
  parseStereoCalibration,
  toGrey,
} from "../../../camera/index.js";
import { DepthwattError, forEachLimited, writeBeside } from "../../../core/index.js";
import { decodeDepth, decodeDisparity, decodeImage, parseCaptureTime } from "../../mcap/images.js";
import { type ImageTopic, imageTopics, periodNs } from "../../mcap/pairs.js";
import type { Message, Recording } from "../../mcap/recording.js";
import { type Conversion, type ConversionEvents, Counting } from "./conversion.js";
import { sensorYaml } from "./euroc.js";

/** Images that are packed at a time; zlib packs on its own threads. */
const AT_A_TIME = 4;

const FOLDERS: readonly [ending: RegExp, folder: string][] = [
  [/(^|\/)left\/image(_raw|_color)?(\/compressed)?$/, "left"],
  [/(^|\/)right\/image(_raw|_color)?(\/compressed)?$/, "right"],
  [/(^|\/)left\/image_rect$/, "left_rectified"],
  [/(^|\/)depth\/image_rect(\/compressedDepth)?$/, "depth"],
  [/(^|\/)disparity\/image_rect$/, "disparity"],
  [/(^|\/)confidence\/image_rect$/, "confidence"],
];

/** The folder of a topic's images. */
export function topicFolder(topic: string): string {
  const known = FOLDERS.find(([ending]) => ending.test(topic));
  return known?.[1] ?? plainName(topic);
}

const plainName = (topic: string) => topic.replace(/^\//, "").replace(/[^A-Za-z0-9_]+/g, "_");

/** A folder for each topic. Where several topics ask for one name, the first has it. */
function assignFolders(topics: readonly ImageTopic[]): Map<string, ImageTopic> {
  const folders = new Map<string, ImageTopic>();
  for (const topic of topics) {
    const { id, topic: name } = topic.channel;
    const free = [topicFolder(name), plainName(name), `${plainName(name)}_${id}`].find(
      (one) => !folders.has(one),
    );
    folders.set(free ?? `${id}`, topic);
  }
  return folders;
}

const isDisparity = ({ channel }: ImageTopic) => topicFolder(channel.topic) === "disparity";
const isDepth = ({ channel }: ImageTopic) => topicFolder(channel.topic) === "depth";

/** Grey and colours as PNG, depth as PNG of 16 bits in millimetres, disparities as PFM. */
async function pack(topic: ImageTopic, { data }: Message): Promise<Uint8Array> {
  const { kind, channel } = topic;
  if (isDepth(topic)) {
    const { millimetres, width, height } = decodeDepth(kind, data, channel.topic);
    return encodePng({ data: millimetres, width, height });
  }
  if (isDisparity(topic)) {
    const { width, height, q4 } = decodeDisparity(data, channel.topic);
    return encodePfm(disparityFromQ4(q4, width, height));
  }
  const { stampNs, format, ...image } = await decodeImage(kind, data, channel);
  if (format === "RGB8")
    return encodePng({ ...image, data: image.data.subarray(0, 3 * image.width * image.height) });
  return encodePng(toGrey({ ...image, format, timestampNs: stampNs, sequence: 0 }));
}

const CAMERAS: Readonly<Record<string, string>> = { left: "cam0", right: "cam1" };

/**
 * @param layout euroc: only the two cameras, since it has no place for depth
 * @throws Node's error where it cannot write
 */
export async function toFolders(
  recording: Recording,
  out: string,
  layout: "folder" | "euroc",
  events: ConversionEvents,
): Promise<Conversion> {
  const all = imageTopics(recording);
  const named = [...assignFolders(all)].filter(
    ([name]) => layout === "folder" || Object.hasOwn(CAMERAS, name),
  );
  const topics = named.map(([, topic]) => topic);
  if (topics.length === 0)
    throw new DepthwattError("SOURCE_EMPTY", `${recording.file}: expected images, found no topic of them`);
  const cameras = all.filter(({ channel }) => Object.hasOwn(CAMERAS, topicFolder(channel.topic)));
  if (layout === "euroc" && cameras.length > topics.length) {
    const used = topics.map(({ channel }) => channel.topic).join(" and ");
    events.onWarning(
      `only ${used} converted: EuRoC has one left and one right camera, this recording has ${cameras.length}`,
    );
  }
  const { counts } = recording;
  const total = counts && topics.reduce((sum, { channel }) => sum + Number(counts.get(channel.id) ?? 0n), 0);
  const counting = new Counting(events, total);
  const folders = new Map(
    named.map(([name, topic]) => {
      const folder = join(out, layout === "euroc" ? join("mav0", CAMERAS[name]!, "data") : name);
      return [topic.channel.id, { topic, folder, times: new Set<bigint>() }];
    }),
  );
  for (const { folder } of folders.values()) makeFolder(folder);
  const attached = await recording.attachment("calibration.json");
  if (attached) await writeBeside(join(out, "calibration.json"), attached);
  await forEachLimited(
    AT_A_TIME,
    recording.messages({ channels: new Set(folders.keys()) }),
    async (message) => {
      const { topic, ...place } = folders.get(message.channelId)!;
      try {
        await writeOne(topic, message, place, counting);
      } catch (error) {
        counting.skipUnreadable(error, `${topic.channel.topic}: `);
      }
    },
  );
  if (layout === "euroc") await writeEurocFacts(recording, out, topics, attached);
  countLoss(recording, counting);
  return counting;
}

/** Chunks that could not be read. */
export function countLoss({ loss }: Recording, counting: Counting): void {
  const lost = [...loss.messages.values()].reduce((sum, count) => sum + count, 0);
  if (loss.chunks > 0)
    counting.skip("damaged", `${loss.chunks} damaged chunks: ${loss.reason}`, Math.max(1, lost));
  if (loss.bytes > 0) counting.skip("cut", `${loss.bytes} bytes that belong to no whole record`);
}

async function writeOne(
  topic: ImageTopic,
  message: Message,
  { folder, times }: { folder: string; times: Set<bigint> },
  counting: Counting,
): Promise<void> {
  const { timeNs, isLogTime } = parseCaptureTime(message);
  if (isLogTime) counting.warnOfLogTime(topic.channel.topic);
  if (times.has(timeNs))
    return counting.skip("sameTime", `${topic.channel.topic}: a second image of ${timeNs} ns`);
  times.add(timeNs);
  const name = join(folder, `${timeNs}.${isDisparity(topic) ? "pfm" : "png"}`);
  // A file is there whole or not at all.
  if (existsSync(name)) return counting.keeps();
  await writeBeside(name, await pack(topic, message));
  counting.wrote();
}

/** Writes EuRoC's files next to the images: lists, and the cameras if they are known. */
async function writeEurocFacts(
  recording: Recording,
  out: string,
  topics: readonly ImageTopic[],
  calibration: Uint8Array | undefined,
): Promise<void> {
  const known =
    calibration && parseStereoCalibration(new TextDecoder().decode(calibration), recording.file).calibration;
  for (const topic of topics) {
    const camera = CAMERAS[topicFolder(topic.channel.topic)] as "cam0" | "cam1";
    const folder = join(out, "mav0", camera);
    const names = readdirSync(join(folder, "data")).filter((name) => /^\d+\.png$/.test(name));
    const stamps = names.map((name) => BigInt(name.slice(0, -4))).sort((a, b) => (a < b ? -1 : 1));
    const rows = stamps.map((stamp) => `${stamp},${stamp}.png`);
    await writeBeside(join(folder, "data.csv"), `${["#timestamp [ns],filename", ...rows].join("\n")}\n`);
    if (known === undefined) continue;
    const period = periodNs(recording, topic);
    const rateHz = period === undefined ? undefined : Math.round(1e11 / period) / 100;
    await writeBeside(join(folder, "sensor.yaml"), sensorYaml(known, camera, rateHz));
  }
}
