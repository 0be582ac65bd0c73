// SPDX-License-Identifier: Apache-2.0
// An MCAP file that is read: its index where it has one, recreated from the chunks' heads where it was cut off or damaged. One chunk
// is in memory at a time, and what cannot be read is counted.
import { readSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { type Channel, McapIndexedReader, McapStreamReader, type McapTypes, type Schema } from "@mcap/core";
import { DepthwattError, openRegularFile } from "../../core/index.js";
import { loadDecompressors } from "./compression.js";
import type { Unfinished } from "./recording-file.js";
import { type RecordingIndex, type RecordingLoss, scanRecording } from "./scan.js";

export type { RecordingLoss } from "./scan.js";

type ChunkIndex = McapTypes.ChunkIndex;
export type Message = McapTypes.Message;

/** More than any chunk has: a damaged length must not ask for all memory. */
const LARGEST_CHUNK = 1 << 30;

export interface Recording {
  readonly file: string;
  readonly sizeBytes: number;
  readonly profile: string;
  readonly library: string;
  readonly channels: ReadonlyMap<number, Channel>;
  readonly schemas: ReadonlyMap<number, Schema>;
  /** Time of the first message, nanoseconds; undefined: there is none. */
  readonly startNs: bigint | undefined;
  readonly endNs: bigint | undefined;
  /** Messages by channel, where the index reports it. */
  readonly counts: ReadonlyMap<number, bigint> | undefined;
  readonly chunks: number;
  readonly loss: Readonly<RecordingLoss>;
  /** Messages of these channels from `fromNs` on, by chunk, and by time in each chunk. */
  messages(options?: { channels?: ReadonlySet<number>; fromNs?: bigint }): AsyncGenerator<Message>;
  attachment(name: string): Promise<Uint8Array | undefined>;
  /** Reads the whole recording, to continue it; undefined: it has no whole chunk. */
  unfinished(): Promise<Unfinished | undefined>;
  close(): Promise<void>;
}

const unreadable = (file: string, found: string, cause?: unknown, hint?: string) =>
  new DepthwattError("SOURCE_UNREADABLE", `expected an MCAP recording at ${file}, found ${found}`, {
    cause,
    context: { file },
    ...(hint !== undefined && { hint }),
  });

/** @throws DepthwattError SOURCE_UNREADABLE: no such file, or no MCAP */
export async function openRecording(file: string): Promise<Recording> {
  let handle: FileHandle;
  try {
    handle = await openRegularFile(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw unreadable(file, code === "ENOENT" ? "no such file" : message, cause);
  }
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw unreadable(file, "no file");
    const magic = Buffer.alloc(8);
    await handle.read(magic, 0, 8, 0);
    if (magic.toString("latin1") !== "\x89MCAP0\r\n") throw unreadable(file, "other first bytes");
    return await OpenRecording.open(file, handle, stat.size);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

class OpenRecording implements Recording {
  readonly file: string;
  readonly sizeBytes: number;
  readonly profile: string;
  readonly library: string;
  readonly channels: Map<number, Channel>;
  readonly schemas: Map<number, Schema>;
  readonly startNs: bigint | undefined;
  readonly endNs: bigint | undefined;
  readonly counts: ReadonlyMap<number, bigint> | undefined;
  readonly loss: RecordingLoss = {
    index: undefined,
    bytes: 0,
    chunks: 0,
    reason: undefined,
    messages: new Map(),
  };
  readonly #handle: FileHandle;
  /** In order of their first message. */
  readonly #chunks: ChunkIndex[];
  readonly #attachments: readonly McapTypes.AttachmentIndex[];
  readonly #lostChunks = new Set<bigint>();

  private constructor(file: string, handle: FileHandle, sizeBytes: number, index: RecordingIndex) {
    this.file = file;
    this.#handle = handle;
    this.sizeBytes = sizeBytes;
    this.profile = index.header.profile;
    this.library = index.header.library;
    this.channels = new Map(index.channelsById);
    this.schemas = new Map(index.schemasById);
    this.counts = index.statistics?.channelMessageCounts;
    this.#attachments = index.attachmentIndexes;
    this.#chunks = [...index.chunkIndexes].sort((a, b) =>
      a.messageStartTime < b.messageStartTime ? -1 : a.messageStartTime > b.messageStartTime ? 1 : 0,
    );
    this.startNs = this.#chunks[0]?.messageStartTime;
    this.endNs = this.#chunks.reduce<bigint | undefined>(
      (last, { messageEndTime }) => (last === undefined || messageEndTime > last ? messageEndTime : last),
      undefined,
    );
    Object.assign(this.loss, index.loss);
  }

  static async open(file: string, handle: FileHandle, sizeBytes: number): Promise<Recording> {
    const read = async (offset: bigint, bytes: bigint) => readAt(handle, Number(offset), Number(bytes));
    let index: RecordingIndex;
    try {
      const readable = { size: async () => BigInt(sizeBytes), read };
      index = await McapIndexedReader.Initialize({ readable });
      checkChunkPlaces(index.chunkIndexes, handle, sizeBytes);
      // Chunks need no index by the specification: then the records say whether there are any.
      if (index.chunkIndexes.length === 0) throw new Error("it lists no chunks");
    } catch (error) {
      const { scanned, loss } = await scanRecording(handle, sizeBytes);
      if (scanned === undefined) throw unreadable(file, "no whole record in it");
      const reason = error instanceof Error ? error.message.split("\n")[0]! : String(error);
      index = { ...scanned, loss: { ...loss, index: reason } };
    }
    const recording = new OpenRecording(file, handle, sizeBytes, index);
    if (recording.#chunks.length === 0 && index.loss?.unchunked)
      throw unreadable(file, "messages outside of chunks", undefined, "Convert it with 'mcap compress'.");
    await recording.#learnChannels(index.loss === undefined);
    return recording;
  }

  get chunks(): number {
    return this.#chunks.length;
  }

  /**
   * Reads chunks that use channels or schemas the summary does not repeat.
   * @param hasSummary a summary that repeats any channel repeats all of them
   */
  async #learnChannels(hasSummary: boolean): Promise<void> {
    const isKnown = (id: number) => {
      const schemaId = this.channels.get(id)?.schemaId;
      return schemaId !== undefined && (schemaId === 0 || this.schemas.has(schemaId));
    };
    const isWhole = hasSummary && this.channels.size > 0 && [...this.channels.keys()].every(isKnown);
    for (const chunk of this.#chunks) {
      const used = [...chunk.messageIndexOffsets.keys()];
      // A chunk without message indexes may use any channel.
      if (used.length > 0 ? used.every(isKnown) : isWhole) continue;
      await this.#read(chunk);
    }
  }

  async *messages(
    options: { channels?: ReadonlySet<number>; fromNs?: bigint } = {},
  ): AsyncGenerator<Message> {
    const { channels, fromNs = 0n } = options;
    for (const chunk of this.#chunks) {
      if (chunk.messageEndTime < fromNs) continue;
      const has = chunk.messageIndexOffsets;
      if (channels && has.size > 0 && ![...channels].some((id) => has.has(id))) continue;
      const messages = ((await this.#read(chunk)) ?? []).filter(
        ({ channelId, logTime }) => logTime >= fromNs && (channels?.has(channelId) ?? true),
      );
      messages.sort((a, b) => (a.logTime < b.logTime ? -1 : a.logTime > b.logTime ? 1 : 0));
      yield* messages;
    }
  }

  /** The messages of a chunk, or undefined where it cannot be read, which is counted. */
  async #read(chunk: ChunkIndex): Promise<Message[] | undefined> {
    try {
      return await this.#parse(chunk);
    } catch (error) {
      if (!this.#lostChunks.has(chunk.chunkStartOffset)) {
        this.#lostChunks.add(chunk.chunkStartOffset);
        this.loss.chunks += 1;
        await this.#countLost(chunk);
        this.loss.reason ??= (error as Error).message;
      }
      return undefined;
    }
  }

  async #parse(chunk: ChunkIndex): Promise<Message[]> {
    if (chunk.chunkLength > LARGEST_CHUNK || chunk.uncompressedSize > LARGEST_CHUNK)
      throw new Error(`a chunk of ${chunk.uncompressedSize} bytes`);
    const bytes = await readAt(this.#handle, Number(chunk.chunkStartOffset), Number(chunk.chunkLength));
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (view.getUint8(0) !== 0x06) throw new Error("no chunk where the index names one");
    // Opcode and length (9), start and end (16), size (8), CRC (4), compression, length of what follows (8).
    const uncompressedSize = Number(view.getBigUint64(25, true));
    const crc = view.getUint32(33, true);
    const nameBytes = view.getUint32(37, true);
    if (nameBytes > 16) throw new Error("a compression with no name");
    const compression = new TextDecoder().decode(bytes.subarray(41, 41 + nameBytes));
    const packed = bytes.subarray(49 + nameBytes);
    if (uncompressedSize > LARGEST_CHUNK) throw new Error(`a chunk of ${uncompressedSize} bytes`);
    const plain = compression === "" ? packed : await unpack(compression, packed, uncompressedSize);
    if (crc !== 0 && crc32(plain) !== crc) throw new Error("a chunk whose CRC is another");
    return this.#parseMessages(plain);
  }

  /** Messages as views of the chunk; schemas and channels are learned. By hand: the library's reader would copy each twice. */
  #parseMessages(plain: Uint8Array): Message[] {
    const view = new DataView(plain.buffer, plain.byteOffset, plain.byteLength);
    const messages: Message[] = [];
    for (let at = 0; at < plain.length; ) {
      const end = at + 9 + Number(at + 9 <= plain.length ? view.getBigUint64(at + 1, true) : 0);
      if (end > plain.length || at + 9 > plain.length) throw new Error("a chunk that ends inside a record");
      if (plain[at] !== 0x05) this.#learn(plain.subarray(at, end));
      else if (end < at + 31) throw new Error("a message without its times");
      else
        messages.push({
          channelId: view.getUint16(at + 9, true),
          sequence: view.getUint32(at + 11, true),
          logTime: view.getBigUint64(at + 15, true),
          publishTime: view.getBigUint64(at + 23, true),
          data: plain.subarray(at + 31, end),
        });
      at = end;
    }
    return messages;
  }

  #learn(bytes: Uint8Array): void {
    const reader = new McapStreamReader({ noMagicPrefix: true });
    reader.append(bytes);
    const record = reader.nextRecord();
    if (record?.type === "Schema" && !this.schemas.has(record.id)) this.schemas.set(record.id, record);
    if (record?.type === "Channel" && !this.channels.has(record.id)) this.channels.set(record.id, record);
  }

  /** Messages of a chunk by the indexes behind it. */
  async #countLost(chunk: ChunkIndex): Promise<void> {
    if (chunk.messageIndexLength > LARGEST_CHUNK) return;
    try {
      const at = Number(chunk.chunkStartOffset + chunk.chunkLength);
      const reader = new McapStreamReader({ noMagicPrefix: true });
      reader.append(await readAt(this.#handle, at, Number(chunk.messageIndexLength)));
      const { messages } = this.loss;
      for (let record = reader.nextRecord(); record; record = reader.nextRecord()) {
        if (record.type !== "MessageIndex") continue;
        messages.set(record.channelId, (messages.get(record.channelId) ?? 0) + record.records.length);
      }
    } catch {
      // Damaged as well: the chunk is counted all the same.
    }
  }

  async attachment(name: string): Promise<Uint8Array | undefined> {
    const index = this.#attachments.find((one) => one.name === name);
    if (index === undefined || index.length > LARGEST_CHUNK) return undefined;
    try {
      const reader = new McapStreamReader({ noMagicPrefix: true });
      reader.append(await readAt(this.#handle, Number(index.offset), Number(index.length)));
      const record = reader.nextRecord();
      return record?.type === "Attachment" ? record.data : undefined;
    } catch (error) {
      this.loss.reason ??= `${name}: ${(error as Error).message}`;
      return undefined;
    }
  }

  async unfinished(): Promise<Unfinished | undefined> {
    const counts = new Map<number, bigint>();
    const chunks: ChunkIndex[] = [];
    // In the order of the file, and no further than to the first that is damaged, or whose index is cut off.
    for (const chunk of [...this.#chunks].sort((a, b) => Number(a.chunkStartOffset - b.chunkStartOffset))) {
      const messages = await this.#read(chunk);
      if (messages === undefined) break;
      if (new Set(messages.map(({ channelId }) => channelId)).size > chunk.messageIndexOffsets.size) break;
      chunks.push(chunk);
      for (const { channelId } of messages) counts.set(channelId, (counts.get(channelId) ?? 0n) + 1n);
    }
    if (chunks.length === 0) return undefined;
    const channels = [...this.channels.values()].sort((a, b) => a.id - b.id);
    const schemas = [...this.schemas.values()].sort((a, b) => a.id - b.id);
    return { schemas, channels, chunks, counts, attachments: this.#attachments };
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** Bytes of a record's opcode and length. */
const RECORD_HEAD_BYTES = 9;

/** @throws Error where the index names places that hold no chunk of its length */
function checkChunkPlaces(chunks: readonly ChunkIndex[], { fd }: FileHandle, sizeBytes: number): void {
  const head = Buffer.alloc(RECORD_HEAD_BYTES);
  for (const { chunkStartOffset, chunkLength } of chunks) {
    if (Number(chunkStartOffset + chunkLength) > sizeBytes)
      throw new Error("its index names chunks behind its end");
    // Not asynchronous: there may be tens of thousands of them.
    readSync(fd, head, 0, RECORD_HEAD_BYTES, Number(chunkStartOffset));
    if (head[0] !== 0x06 || head.readBigUInt64LE(1) + BigInt(RECORD_HEAD_BYTES) !== chunkLength)
      throw new Error("its index names chunks where there are none");
  }
}

async function unpack(compression: string, packed: Uint8Array, bytes: number): Promise<Uint8Array> {
  const unpacker = (await loadDecompressors())[compression];
  if (unpacker === undefined) throw new Error(`the compression "${compression}"`);
  return unpacker(packed, bytes);
}

/** @throws Error where the file ends before */
export async function readAt(handle: FileHandle, offset: number, bytes: number): Promise<Buffer> {
  // Before memory is taken for a length that a damaged record names.
  const behind = offset + bytes - (await handle.stat()).size;
  if (!(offset >= 0 && bytes >= 0 && behind <= 0))
    throw new Error(`it names ${bytes} bytes at ${offset}, which the file has not`);
  const buffer = Buffer.allocUnsafeSlow(bytes);
  let done = 0;
  while (done < bytes) {
    // Node ends the process at a length of 2 GiB and more.
    const { bytesRead } = await handle.read(buffer, done, Math.min(bytes - done, 2 ** 30), offset + done);
    if (bytesRead === 0) throw new Error(`the file ends ${bytes - done} bytes too early`);
    done += bytesRead;
  }
  return buffer;
}
