// SPDX-License-Identifier: Apache-2.0
// Opens recordings of 100 GiB, which the disk never sees: at once and in little memory.
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McapRecordBuilder } from "@mcap/core";
import { afterAll, expect, test } from "vitest";
import { openRecording } from "../../../edge/mcap/recording.js";
import { IMAGE } from "../../../edge/mcap/schemas.js";
import { cpuMsSince } from "../../doubles/cpu-time.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-huge-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const GIGABYTE = 2 ** 30;

/** Chunks of 16 MiB of zeros, most of which the disk never sees; 100 GiB of them. */
function writeSparse(file: string, withIndex: boolean): number {
  const CHUNK = 16 << 20;
  const chunks = (100 * GIGABYTE) / CHUNK;
  const records = new McapRecordBuilder();
  const out = openSync(file, "w");
  let at = 0;
  const append = () => {
    at += writeSync(out, records.buffer, 0, records.length, at);
    records.reset();
  };
  const schema = {
    id: 1,
    name: IMAGE.name,
    encoding: IMAGE.encoding,
    data: new TextEncoder().encode(IMAGE.text),
  };
  const channel = {
    id: 0,
    schemaId: 1,
    topic: "/left/image_raw",
    messageEncoding: "cdr",
    metadata: new Map<string, string>(),
  };
  records.writeMagic();
  records.writeHeader({ profile: "ros2", library: "a test" });
  records.writeSchema(schema);
  records.writeChannel(channel);
  append();
  const indexes = [];
  for (let i = 0; i < chunks; i++) {
    const start = BigInt(at);
    const time = BigInt(i) * 1_000_000n;
    const head = new DataView(new ArrayBuffer(49 + 31));
    head.setUint8(0, 0x06);
    head.setBigUint64(1, BigInt(40 + CHUNK), true);
    head.setBigUint64(9, time, true);
    head.setBigUint64(17, time, true);
    head.setBigUint64(25, BigInt(CHUNK), true);
    head.setBigUint64(41, BigInt(CHUNK), true);
    // One message that fills the chunk: opcode, length, channel, number, two times, zeros.
    head.setUint8(49, 0x05);
    head.setBigUint64(50, BigInt(CHUNK - 9), true);
    head.setUint32(60, i, true);
    head.setBigUint64(64, time, true);
    writeSync(out, new Uint8Array(head.buffer), 0, 80, at);
    at += 49 + CHUNK;
    const offset = BigInt(at);
    records.writeMessageIndex({ channelId: 0, records: [[time, 0n]] });
    const length = BigInt(records.length);
    append();
    indexes.push({
      messageStartTime: time,
      messageEndTime: time,
      chunkStartOffset: start,
      chunkLength: BigInt(49 + CHUNK),
      messageIndexOffsets: new Map([[0, offset]]),
      messageIndexLength: length,
      compression: "",
      compressedSize: BigInt(CHUNK),
      uncompressedSize: BigInt(CHUNK),
    });
  }
  if (withIndex) {
    records.writeDataEnd({ dataSectionCrc: 0 });
    const summaryStart = BigInt(at + records.length);
    records.writeSchema(schema);
    records.writeChannel(channel);
    for (const index of indexes) records.writeChunkIndex(index);
    records.writeFooter({ summaryStart, summaryOffsetStart: 0n, summaryCrc: 0 });
    records.writeMagic();
    append();
  }
  closeSync(out);
  return at;
}

test.each([true, false])("100 GiB open at once and in little memory, with index: %s", async (withIndex) => {
  const file = join(folder, "sparse.mcap");
  expect(writeSparse(file, withIndex)).toBeGreaterThan(100 * GIGABYTE);
  const before = process.memoryUsage().rss;
  const used = process.cpuUsage();
  const recording = await openRecording(file);
  const cpuMs = cpuMsSince(used);
  try {
    // To read it would take minutes.
    expect(cpuMs).toBeLessThan(5000);
    expect(recording.chunks).toBe(6400);
    const last = recording.messages({ fromNs: 6399n * 1_000_000n });
    expect((await last.next()).value?.sequence).toBe(6399);
    // Chunks of 16 MiB come and go.
    for await (const message of recording.messages({ fromNs: 6370n * 1_000_000n })) void message;
    expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(400);
  } finally {
    await recording.close();
    rmSync(file);
  }
});
