// SPDX-License-Identifier: Apache-2.0
// Converts folders to a recording: the two cameras' images, and depth and disparities if there are any. Continues an
// interrupted conversion.
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import {
  decodeGreyImage,
  decodePfm,
  leftRightIn,
  listImages,
  loadStereoCalibration,
  readEnginePicture,
  readImageBytes,
  settleTimes,
  stringifyCalibration,
} from "../../../camera/index.js";
import {
  DepthwattError,
  isDepthwattError,
  MAX_TEXT_BYTES,
  readRegularFile,
  systemAddon,
} from "../../../core/index.js";
import { loadZstd } from "../../mcap/compression.js";
import { imagePrefix, writeImage } from "../../mcap/messages.js";
import { openRecording, type Recording } from "../../mcap/recording.js";
import { type RecordingDisk, RecordingFile, realDisk, type Unfinished } from "../../mcap/recording-file.js";
import { IMAGE } from "../../mcap/schemas.js";
import { type Conversion, type ConversionEvents, Counting } from "./conversion.js";

interface Entry {
  topic: string;
  file: string;
  stampNs: bigint;
  sequence: number;
}

export interface FolderRecordingOptions {
  /** Calibration to attach; absent: calibration.json in the folder, where there is one. */
  calibration?: string | undefined;
  /** Rate of images whose names are no times. */
  rateHz: number;
}

function findLeftRight(folder: string): { left: string; right: string } {
  const sides = leftRightIn(folder);
  if (sides !== undefined) return sides;
  throw new DepthwattError(
    "SOURCE_UNREADABLE",
    `${folder}: expected left/ and right/, or mav0/cam0 and cam1, found neither`,
  );
}

async function listEntries(folder: string, rateHz: number): Promise<Entry[]> {
  const { left, right } = findLeftRight(folder);
  const listings = [await listImages(left), await listImages(right)];
  const settled = settleTimes(listings, "auto", BigInt(Math.round(1e9 / rateHz)));
  const entries = settled.flatMap((side, index) =>
    side.map(({ file, timestampNs, sequence }) => ({
      topic: `/${["left", "right"][index]}/image_raw`,
      file,
      stampNs: timestampNs,
      sequence,
    })),
  );
  for (const name of ["depth", "disparity"] as const) {
    const inner = join(folder, name);
    if (!existsSync(inner)) continue;
    for (const file of readdirSync(inner).filter((one) => /^\d{1,19}\.(png|pfm)$/.test(one)))
      entries.push({
        topic: `/${name}/image_rect`,
        file: join(inner, file),
        stampNs: BigInt(file.split(".")[0]!),
        sequence: 0,
      });
  }
  // One order for every attempt, so that an interrupted file is the beginning of it.
  return entries.sort((a, b) =>
    a.stampNs < b.stampNs ? -1 : a.stampNs > b.stampNs ? 1 : a.topic < b.topic ? -1 : 1,
  );
}

interface Picture {
  encoding: string;
  width: number;
  height: number;
  bytes: Uint8Array;
}

/** Returns disparityQ4 from a PFM; rounds to multiples of 1/16 px. */
function toQ4(values: Float32Array): Int16Array {
  return Int16Array.from(values, (value) => (Number.isFinite(value) ? Math.round(16 * value) : -32768));
}

async function readPicture({ topic, file }: Entry): Promise<Picture> {
  const raw = (data: Uint8Array | Uint16Array | Int16Array) =>
    new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (topic.startsWith("/disparity")) {
    const { data, width, height } = decodePfm(await readImageBytes(file), file);
    return { encoding: "16SC1", width, height, bytes: raw(toQ4(data)) };
  }
  if (topic.startsWith("/depth")) {
    const { data, width, height } = await decodeGreyImage(await readImageBytes(file), file);
    return { encoding: "16UC1", width, height, bytes: raw(Uint16Array.from(data)) };
  }
  const { data, width, height, format } = await readEnginePicture(file, true);
  const encoding = { GREY: "mono8", Y16: "mono16", RGB8: "rgb8" }[format];
  return { encoding, width, height, bytes: raw(data) };
}

/** A chunk holds so much. */
const CHUNK_BYTES = 4 << 20;

/** @throws DepthwattError SOURCE_*, CALIBRATION_*; Node's error where it cannot write */
export async function toRecording(
  folder: string,
  out: string,
  { calibration, rateHz }: FolderRecordingOptions,
  events: ConversionEvents,
): Promise<Conversion> {
  const entries = await listEntries(folder, rateHz);
  const counting = new Counting(events, entries.length);
  // Read before there is a file: a wrong one leaves none behind.
  const attached = calibrationText(folder, calibration);
  const partFile = `${out}.part`;
  const held = hold(partFile, out);
  try {
    await write(partFile, entries, attached, counting);
    renameSync(partFile, out);
  } finally {
    closeSync(held);
  }
  return counting;
}

/**
 * Opens what an earlier attempt has left, or a new file, for this attempt alone. The system lets it go however the process ends.
 * @throws DepthwattError OUTPUT_UNWRITABLE where another conversion has it
 */
function hold(partFile: string, out: string): number {
  const file = openSync(partFile, constants.O_RDWR | constants.O_CREAT, 0o666);
  // A process that waited for a conversion that has just ended holds that conversion's output.
  const isHeld = () =>
    systemAddon().lockFile(file) &&
    fstatSync(file).ino === statSync(partFile, { throwIfNoEntry: false })?.ino &&
    !existsSync(out);
  if (isHeld()) return file;
  closeSync(file);
  throw new DepthwattError(
    "OUTPUT_UNWRITABLE",
    `expected ${out} to be written by one conversion at a time, another one has ${partFile} open or has just ended`,
    { hint: "Wait until it is done, or give another name." },
  );
}

/** The file is there and held: a restart empties it. */
const heldDisk: RecordingDisk = {
  ...realDisk,
  open(path) {
    const file = openSync(path, "r+");
    ftruncateSync(file);
    return file;
  },
};

async function write(
  partFile: string,
  entries: readonly Entry[],
  attached: string | undefined,
  counting: Counting,
): Promise<void> {
  const before = await interrupted(partFile, entries, attached);
  const recording = new RecordingFile(partFile, await loadZstd(), heldDisk, before?.unfinished);
  if (before === undefined && attached !== undefined)
    recording.attachment(
      "calibration.json",
      "application/json",
      new TextEncoder().encode(attached),
      entries[0]?.stampNs ?? 0n,
    );
  for (let kept = 0; kept < (before?.kept ?? 0); kept++) counting.keeps();
  for (const message of before?.unreadable ?? []) counting.skip("unreadable", message);
  for (const entry of entries.slice(before?.entries ?? 0)) {
    try {
      add(recording, entry, await readPicture(entry));
      counting.wrote();
    } catch (error) {
      counting.skipUnreadable(error);
    }
    if (recording.pendingBytes >= CHUNK_BYTES) recording.flush();
  }
  recording.end();
}

/** The message of an entry, as it is in the recording. */
function encodeMessage({ topic, stampNs }: Entry, { encoding, width, height, bytes }: Picture): Uint8Array {
  const head = imagePrefix({
    frameId: topic.split("/")[1]!,
    width,
    height,
    encoding,
    strideBytes: bytes.length / height,
  });
  const data = new Uint8Array(head.length + bytes.length);
  writeImage(data, 0, head, head.length - 4, stampNs, bytes);
  return data;
}

function add(recording: RecordingFile, entry: Entry, picture: Picture): void {
  const { topic, stampNs, sequence } = entry;
  const metadata = topic.startsWith("/disparity") ? { unit: "1/16 px", invalid: "-32768" } : {};
  const channelId = recording.channel({ topic, schema: IMAGE, metadata });
  const data = encodeMessage(entry, picture);
  recording.message({ channelId, sequence, logTime: stampNs, publishTime: stampNs, data });
}

function calibrationText(folder: string, named: string | undefined): string | undefined {
  if (named !== undefined) return stringifyCalibration(loadStereoCalibration(named).calibration);
  const own = join(folder, "calibration.json");
  return existsSync(own) ? readRegularFile(own, MAX_TEXT_BYTES).toString() : undefined;
}

interface Before {
  unfinished: Unfinished;
  /** Messages that are there, of the first so many entries, of which some could not be read. */
  kept: number;
  entries: number;
  unreadable: string[];
}

/** Returns the state of an interrupted attempt, if it was made of the same inputs. */
async function interrupted(
  file: string,
  entries: readonly Entry[],
  attached: string | undefined,
): Promise<Before | undefined> {
  const recording = await openRecording(file).catch(() => undefined);
  if (recording === undefined) return undefined;
  return sameBeginning(recording, entries, attached).finally(() => recording.close());
}

/** Undefined where a message or the calibration is another: the earlier attempt was of another folder, or by other options. */
async function sameBeginning(
  recording: Recording,
  entries: readonly Entry[],
  attached: string | undefined,
): Promise<Before | undefined> {
  const unfinished = await recording.unfinished();
  const calibration = await recording.attachment("calibration.json");
  const text = calibration && new TextDecoder("utf-8", { ignoreBOM: true }).decode(calibration);
  if (unfinished === undefined || text !== attached) return undefined;
  const count = Number([...unfinished.counts.values()].reduce((sum, one) => sum + one, 0n));
  const before: Before = { unfinished, kept: 0, entries: 0, unreadable: [] };
  for await (const { channelId, logTime, data } of recording.messages()) {
    if (before.kept === count) break;
    const topic = recording.channels.get(channelId)?.topic;
    const entry = await nextReadable(entries, before);
    if (entry === undefined || topic !== entry.topic || logTime !== entry.stampNs) return undefined;
    if (Buffer.compare(data, entry.message) !== 0) return undefined;
    before.kept++;
  }
  return before.kept === count ? before : undefined;
}

async function nextReadable(
  entries: readonly Entry[],
  before: Before,
): Promise<(Entry & { message: Uint8Array }) | undefined> {
  for (let entry = entries[before.entries++]; entry !== undefined; entry = entries[before.entries++]) {
    try {
      return { ...entry, message: encodeMessage(entry, await readPicture(entry)) };
    } catch (error) {
      if (!isDepthwattError(error)) throw error;
      before.unreadable.push(error.message);
    }
  }
  return undefined;
}
