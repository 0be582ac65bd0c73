// SPDX-License-Identifier: Apache-2.0
// Writes one MCAP file, chunk by chunk. All flushed chunks stay readable: a chunk that could not be written whole is
// cut off again, and end() only adds the index.
import { closeSync, fdatasyncSync, fsyncSync, ftruncateSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import {
  type Channel,
  LIBRARY_IDENTIFIER,
  McapChunkBuilder,
  McapRecordBuilder,
  type McapTypes,
  type Schema,
} from "@mcap/core";
import type { Zstd } from "./compression.js";
import { messageEncoding, type RecordedSchema } from "./schemas.js";

/** The system calls of a recording, behind an object, so that a test can have its disk full or its power cut. */
export interface RecordingDisk {
  /** A new file. @throws Node's error, EEXIST where there is one already */
  open(path: string): number;
  /** @returns the bytes that were written, which may be fewer */
  write(file: number, bytes: Uint8Array, position: number): number;
  truncate(file: number, bytes: number): void;
  /** Afterwards a power cut does not lose what was written. */
  sync(file: number): void;
  close(file: number): void;
}

export const realDisk: RecordingDisk = {
  open(path) {
    const file = openSync(path, "wx");
    // Its name, too, must survive a power cut.
    const folder = openSync(dirname(path), "r");
    fsyncSync(folder);
    closeSync(folder);
    return file;
  },
  write: (file, bytes, position) => writeSync(file, bytes, 0, bytes.length, position),
  truncate: ftruncateSync,
  sync: fdatasyncSync,
  close: closeSync,
};

export type Compression = "zstd" | "none";

/** Level 1 packs some 250 MB a second on one core of a server; higher ones gain little on images. */
const ZSTD_LEVEL = 1;

export interface RecordedChannel {
  topic: string;
  schema: RecordedSchema;
  metadata?: Readonly<Record<string, string>>;
}

/**
 * State of an interrupted recording of ours, which has at least one chunk. Its attachments are those of its beginning.
 */
export interface Unfinished {
  schemas: readonly Schema[];
  channels: readonly Channel[];
  chunks: readonly McapTypes.ChunkIndex[];
  counts: ReadonlyMap<number, bigint>;
  attachments: readonly McapTypes.AttachmentIndex[];
}

export class RecordingFile {
  readonly path: string;
  readonly #disk: RecordingDisk;
  readonly #zstd: Zstd | undefined;
  readonly #file: number;
  readonly #records = new McapRecordBuilder();
  readonly #chunk = new McapChunkBuilder({ useMessageIndex: true });
  readonly #schemas: Schema[] = [];
  readonly #channels: Channel[] = [];
  /** Channels in chunks that were written, and those of the open chunk. */
  #writtenChannels = new Set<number>();
  #newChannels = new Set<number>();
  readonly #chunkIndexes: McapTypes.ChunkIndex[] = [];
  readonly #attachmentIndexes: McapTypes.AttachmentIndex[] = [];
  readonly #counts = new Map<number, bigint>();
  #chunkCounts = new Map<number, number>();
  /** Earliest time in the open chunk. */
  #earliest = 0n;
  #latest = 0n;
  /** Offset of the next record. Bytes after it are not part of the recording. */
  #position = 0;
  #messages = 0n;
  #startNs = 0n;
  #endNs = 0n;

  /**
   * @param zstd undefined: chunks are not compressed
   * @param before what a file that was not ended holds: it is gone on with, and what it has behind its last chunk is cut off
   * @throws Node's error
   */
  constructor(path: string, zstd: Zstd | undefined, disk: RecordingDisk = realDisk, before?: Unfinished) {
    this.path = path;
    this.#zstd = zstd;
    this.#disk = disk;
    if (before !== undefined) {
      this.#file = openSync(path, "r+");
      this.#continue(before);
      return;
    }
    this.#file = disk.open(path);
    this.#records.writeMagic();
    this.#records.writeHeader({ profile: "ros2", library: `depthwatt; ${LIBRARY_IDENTIFIER}` });
    try {
      this.#append();
    } catch (error) {
      this.discard();
      throw error;
    }
  }

  /** Closes and removes a file that holds no message. */
  discard(): void {
    this.#disk.close(this.#file);
    rmSync(this.path, { force: true });
  }

  #continue({ schemas, channels, chunks, counts, attachments }: Unfinished): void {
    this.#attachmentIndexes.push(...attachments);
    this.#schemas.push(...schemas);
    this.#channels.push(...channels);
    for (const { id } of channels) this.#writtenChannels.add(id);
    this.#chunkIndexes.push(...chunks);
    for (const [id, count] of counts) {
      this.#counts.set(id, count);
      this.#messages += count;
    }
    for (const { messageStartTime, messageEndTime } of chunks) {
      if (this.#startNs === 0n || messageStartTime < this.#startNs) this.#startNs = messageStartTime;
      if (messageEndTime > this.#endNs) this.#endNs = messageEndTime;
    }
    const last = chunks.at(-1)!;
    this.#position = Number(last.chunkStartOffset + last.chunkLength + last.messageIndexLength);
    this.#disk.truncate(this.#file, this.#position);
  }

  /** Bytes on disk; what the open chunk holds comes on top. */
  get bytes(): number {
    return this.#position;
  }

  get pendingBytes(): number {
    return this.#chunk.byteLength;
  }

  get pendingMessages(): number {
    return this.#chunk.numMessages;
  }

  channel({ topic, schema, metadata = {} }: RecordedChannel): number {
    const known = this.#channels.find((one) => one.topic === topic);
    if (known !== undefined) return known.id;
    let schemaId = this.#schemas.find(({ name }) => name === schema.name)?.id;
    if (schemaId === undefined) {
      schemaId = this.#schemas.length + 1;
      const { name, encoding, text } = schema;
      this.#schemas.push({ id: schemaId, name, encoding, data: new TextEncoder().encode(text) });
    }
    const id = this.#channels.length;
    this.#channels.push({
      id,
      schemaId,
      topic,
      messageEncoding: messageEncoding(schema),
      metadata: new Map(Object.entries(metadata)),
    });
    return id;
  }

  /** Into the open chunk. */
  message(message: McapTypes.Message): void {
    const { channelId, logTime } = message;
    if (!this.#writtenChannels.has(channelId) && !this.#newChannels.has(channelId)) {
      const channel = this.#channels[channelId]!;
      // Twice is allowed, and a chunk that is lost takes no other's schema with it.
      this.#chunk.addSchema(this.#schemas[channel.schemaId - 1]!);
      this.#chunk.addChannel(channel);
      this.#newChannels.add(channelId);
    }
    if (this.#chunk.numMessages === 0 || logTime < this.#earliest) this.#earliest = logTime;
    if (this.#chunk.numMessages === 0 || logTime > this.#latest) this.#latest = logTime;
    this.#chunk.addMessage(message);
    this.#chunkCounts.set(channelId, (this.#chunkCounts.get(channelId) ?? 0) + 1);
  }

  /** Next to the messages, such as a calibration. @throws Node's error; the file is as it was */
  attachment(name: string, mediaType: string, data: Uint8Array, logTime: bigint): void {
    const at = this.#position;
    const length = this.#records.writeAttachment({ name, mediaType, data, logTime, createTime: logTime });
    this.#append();
    const dataSize = BigInt(data.byteLength);
    this.#attachmentIndexes.push({
      name,
      mediaType,
      logTime,
      createTime: logTime,
      dataSize,
      length,
      offset: BigInt(at),
    });
  }

  /**
   * Writes the open chunk and waits for the disk. @returns its messages
   * @throws Node's error, such as ENOSPC; the chunk is lost then and the file as it was
   */
  flush(): number {
    const count = this.#chunk.numMessages;
    if (count === 0) return 0;
    try {
      this.#writeChunk();
      for (const id of this.#newChannels) this.#writtenChannels.add(id);
      if (this.#messages === 0n || this.#earliest < this.#startNs) this.#startNs = this.#earliest;
      if (this.#messages === 0n || this.#latest > this.#endNs) this.#endNs = this.#latest;
      this.#messages += BigInt(count);
      for (const [id, messages] of this.#chunkCounts)
        this.#counts.set(id, (this.#counts.get(id) ?? 0n) + BigInt(messages));
      return count;
    } finally {
      this.#chunk.reset();
      this.#newChannels = new Set();
      this.#chunkCounts = new Map();
    }
  }

  #writeChunk(): void {
    const { messageStartTime, messageEndTime, buffer } = this.#chunk;
    const records = this.#zstd?.compress(buffer, ZSTD_LEVEL) ?? buffer;
    const compression = this.#zstd === undefined ? "" : "zstd";
    const uncompressedSize = BigInt(buffer.length);
    const chunkStartOffset = BigInt(this.#position);
    const chunkLength = this.#records.writeChunk({
      messageStartTime,
      messageEndTime,
      compression,
      uncompressedSize,
      records,
      uncompressedCrc: crc32(buffer),
    });
    const messageIndexOffsets = new Map<number, bigint>();
    let messageIndexLength = 0n;
    for (const index of this.#chunk.indices) {
      messageIndexOffsets.set(index.channelId, chunkStartOffset + chunkLength + messageIndexLength);
      messageIndexLength += this.#records.writeMessageIndex(index);
    }
    this.#append();
    this.#disk.sync(this.#file);
    this.#chunkIndexes.push({
      messageStartTime,
      messageEndTime,
      chunkStartOffset,
      chunkLength,
      messageIndexOffsets,
      messageIndexLength,
      compression,
      compressedSize: BigInt(records.length),
      uncompressedSize,
    });
  }

  /** Writes the index and closes the file. @throws Node's error; the file is closed, and read without its index */
  end(): void {
    try {
      this.flush();
      this.#writeSummary();
      this.#disk.sync(this.#file);
    } finally {
      this.#disk.close(this.#file);
    }
  }

  #writeSummary(): void {
    const records = this.#records;
    // A CRC of 0 means that there is none: each chunk has its own.
    records.writeDataEnd({ dataSectionCrc: 0 });
    const summaryStart = BigInt(this.#position + records.length);
    for (const schema of this.#schemas) records.writeSchema(schema);
    for (const channel of this.#channels) records.writeChannel(channel);
    records.writeStatistics({
      messageCount: this.#messages,
      schemaCount: this.#schemas.length,
      channelCount: this.#channels.length,
      attachmentCount: this.#attachmentIndexes.length,
      metadataCount: 0,
      chunkCount: this.#chunkIndexes.length,
      messageStartTime: this.#startNs,
      messageEndTime: this.#endNs,
      channelMessageCounts: this.#counts,
    });
    for (const index of this.#attachmentIndexes) records.writeAttachmentIndex(index);
    for (const index of this.#chunkIndexes) records.writeChunkIndex(index);
    records.writeFooter({ summaryStart, summaryOffsetStart: 0n, summaryCrc: 0 });
    records.writeMagic();
    this.#append();
  }

  /** All records that are ready, or none of them. */
  #append(): void {
    const { buffer } = this.#records;
    try {
      let done = 0;
      while (done < buffer.length) {
        const written = this.#disk.write(this.#file, buffer.subarray(done), this.#position + done);
        if (written === 0) throw Object.assign(new Error("ENOSPC: nothing was written"), { code: "ENOSPC" });
        done += written;
      }
      this.#position += done;
    } catch (error) {
      this.#disk.truncate(this.#file, this.#position);
      throw error;
    } finally {
      this.#records.reset();
    }
  }
}
