// SPDX-License-Identifier: Apache-2.0
// An index recreated: goes from record to record and reads only their heads, so that a file without its index opens soon too. Where
// a record makes no sense it looks for the next chunk that does.
import { readSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { type Channel, McapStreamReader, type McapTypes, type Schema } from "@mcap/core";

enum Opcode {
  header = 0x01,
  footer = 0x02,
  schema = 0x03,
  channel = 0x04,
  message = 0x05,
  chunk = 0x06,
  messageIndex = 0x07,
  attachment = 0x09,
  dataEnd = 0x0f,
}

/** Describes the parts that could not be read. */
export interface RecordingLoss {
  /** Why the index was recreated; undefined: it was there. */
  index: string | undefined;
  /** Bytes that belong to no whole record, such as the end of a file that was cut. */
  bytes: number;
  chunks: number;
  /** Messages in those chunks by channel, as far as their indexes are readable. */
  messages: Map<number, number>;
  /** The problem of the first damaged chunk. */
  reason: string | undefined;
}

/** Describes a file before a chunk is read. */
export interface RecordingIndex {
  readonly header: { profile: string; library: string };
  readonly channelsById: ReadonlyMap<number, Channel>;
  readonly schemasById: ReadonlyMap<number, Schema>;
  readonly chunkIndexes: readonly McapTypes.ChunkIndex[];
  readonly attachmentIndexes: readonly McapTypes.AttachmentIndex[];
  readonly statistics: McapTypes.Statistics | undefined;
  readonly loss?: Partial<RecordingLoss> & { unchunked?: boolean };
}

/** Enough of a chunk's head: its compression has a short name. */
const HEAD_BYTES = 80;
/** Read at once: the indexes behind a chunk are many and short. */
const HEADS_BYTES = 4096;
/** Records other than chunks and attachments are read whole. */
const LARGEST_PLAIN = 1 << 24;
const WINDOW_BYTES = 1 << 20;
const MAGIC_BYTES = 8;

interface ChunkHead {
  messageStartTime: bigint;
  messageEndTime: bigint;
  uncompressedSize: bigint;
  compression: string;
  compressedSize: bigint;
}

/** The head of a chunk at `at`, where everything in it fits together. */
function chunkHead(view: DataView, at: number, length: number): ChunkHead | undefined {
  if (view.byteLength < at + 41 || view.getUint8(at) !== Opcode.chunk) return undefined;
  const nameBytes = view.getUint32(at + 37, true);
  if (nameBytes > 8 || view.byteLength < at + 49 + nameBytes) return undefined;
  const compressedSize = view.getBigUint64(at + 41 + nameBytes, true);
  const [messageStartTime, messageEndTime] = [
    view.getBigUint64(at + 9, true),
    view.getBigUint64(at + 17, true),
  ];
  if (compressedSize !== BigInt(length - 40 - nameBytes) || messageStartTime > messageEndTime)
    return undefined;
  const name = new Uint8Array(view.buffer, view.byteOffset + at + 41, nameBytes);
  const compression = new TextDecoder().decode(name);
  return {
    messageStartTime,
    messageEndTime,
    uncompressedSize: view.getBigUint64(at + 25, true),
    compression,
    compressedSize,
  };
}

/** `scanned` is undefined where not even the header is whole. */
export async function scanRecording(
  handle: FileHandle,
  sizeBytes: number,
): Promise<{ scanned: RecordingIndex | undefined; loss: Partial<RecordingLoss> & { unchunked: boolean } }> {
  const scan = new Scan(handle, sizeBytes);
  await scan.run();
  const { header } = scan;
  const loss = { bytes: scan.lostBytes, unchunked: scan.unchunked };
  if (header === undefined) return { scanned: undefined, loss };
  const { channelsById, schemasById, chunkIndexes, attachmentIndexes } = scan;
  return {
    scanned: { header, channelsById, schemasById, chunkIndexes, attachmentIndexes, statistics: undefined },
    loss,
  };
}

class Scan {
  header: { profile: string; library: string } | undefined;
  readonly channelsById = new Map<number, Channel>();
  readonly schemasById = new Map<number, Schema>();
  readonly chunkIndexes: McapTypes.ChunkIndex[] = [];
  readonly attachmentIndexes: McapTypes.AttachmentIndex[] = [];
  lostBytes = 0;
  unchunked = false;
  readonly #handle: FileHandle;
  readonly #size: number;
  readonly #heads = Buffer.alloc(HEADS_BYTES);
  #headsAt = 0;
  #headsBytes = 0;

  constructor(handle: FileHandle, size: number) {
    this.#handle = handle;
    this.#size = size;
  }

  async run(): Promise<void> {
    let at = MAGIC_BYTES;
    while (at + 9 <= this.#size) {
      const view = this.#headAt(at);
      const opcode = view.byteLength >= 9 ? view.getUint8(0) : 0;
      const length = view.byteLength >= 9 ? Number(view.getBigUint64(1, true)) : 0;
      const end = at + 9 + length;
      // The rest is the old index, or its remains.
      if (opcode === Opcode.dataEnd || opcode === Opcode.footer) return;
      if (end > this.#size || !(await this.#record(opcode, length, at, view))) {
        const next = await this.#nextChunk(at + 1);
        this.lostBytes += next - at;
        at = next;
      } else at = end;
    }
    this.lostBytes += Math.max(0, this.#size - at);
  }

  /** The first bytes of a record. Not asynchronous: there are tens of thousands of them, and nothing else runs yet. */
  #headAt(at: number): DataView {
    const needed = Math.min(HEAD_BYTES, this.#size - at);
    if (at < this.#headsAt || at + needed > this.#headsAt + this.#headsBytes) {
      this.#headsBytes = readSync(this.#handle.fd, this.#heads, 0, HEADS_BYTES, at);
      this.#headsAt = at;
    }
    const from = at - this.#headsAt;
    return new DataView(
      this.#heads.buffer,
      this.#heads.byteOffset + from,
      Math.min(HEAD_BYTES, this.#headsBytes - from),
    );
  }

  /** @returns whether it makes sense */
  async #record(opcode: number, length: number, at: number, view: DataView): Promise<boolean> {
    switch (opcode) {
      case Opcode.chunk: {
        const head = chunkHead(view, 0, length);
        if (head === undefined) return false;
        const place = { chunkStartOffset: BigInt(at), chunkLength: BigInt(9 + length) };
        const index = { messageIndexOffsets: new Map<number, bigint>(), messageIndexLength: 0n };
        this.chunkIndexes.push({ ...head, ...place, ...index });
        return true;
      }
      case Opcode.messageIndex: {
        const chunk = this.chunkIndexes.at(-1);
        if (chunk === undefined) return false;
        chunk.messageIndexOffsets.set(view.getUint16(9, true), BigInt(at));
        chunk.messageIndexLength += BigInt(9 + length);
        return true;
      }
      case Opcode.message:
        this.unchunked = true;
        return true;
      case Opcode.header:
      case Opcode.schema:
      case Opcode.channel:
        return length <= LARGEST_PLAIN && this.#plain(length, at);
      case Opcode.attachment:
        return this.#attachment(length, at);
      default:
        // Metadata, and what later versions of the format may add.
        return opcode > 0 && opcode !== 0x08 && (opcode === 0x0c || opcode >= 0x80);
    }
  }

  async #plain(length: number, at: number): Promise<boolean> {
    const record = await this.#parse(9 + length, at);
    if (record?.type === "Header") this.header ??= record;
    else if (record?.type === "Schema") this.schemasById.set(record.id, record);
    else if (record?.type === "Channel") this.channelsById.set(record.id, record);
    return record !== undefined;
  }

  async #attachment(length: number, at: number): Promise<boolean> {
    if (length > LARGEST_PLAIN) return true;
    const record = await this.#parse(9 + length, at);
    if (record?.type !== "Attachment") return false;
    const { name, mediaType, logTime, createTime, data } = record;
    const place = { offset: BigInt(at), length: BigInt(9 + length), dataSize: BigInt(data.length) };
    this.attachmentIndexes.push({ name, mediaType, logTime, createTime, ...place });
    return true;
  }

  async #parse(bytes: number, at: number): Promise<McapTypes.TypedMcapRecord | undefined> {
    const buffer = Buffer.alloc(bytes);
    const { bytesRead } = await this.#handle.read(buffer, 0, bytes, at);
    if (bytesRead < bytes) return undefined;
    try {
      const reader = new McapStreamReader({ noMagicPrefix: true });
      reader.append(buffer);
      return reader.nextRecord();
    } catch {
      return undefined;
    }
  }

  /** The next place from `from` on where a whole chunk can be; the end of the file where there is none. */
  async #nextChunk(from: number): Promise<number> {
    const window = Buffer.alloc(WINDOW_BYTES + HEAD_BYTES);
    for (let base = from; base < this.#size; base += WINDOW_BYTES) {
      const { bytesRead } = await this.#handle.read(window, 0, window.length, base);
      const view = new DataView(window.buffer, window.byteOffset, bytesRead);
      const last = Math.min(WINDOW_BYTES, bytesRead);
      for (
        let i = window.indexOf(Opcode.chunk);
        i >= 0 && i < last;
        i = window.indexOf(Opcode.chunk, i + 1)
      ) {
        if (i + 9 > bytesRead) break;
        const length = Number(view.getBigUint64(i + 1, true));
        if (base + i + 9 + length <= this.#size && chunkHead(view, i, length)) return base + i;
      }
    }
    return this.#size;
  }
}
