// SPDX-License-Identifier: Apache-2.0
// A batch whose pairs are messages of a JetStream work queue: any number of machines pull, a message is acknowledged when its result
// is written, and what a killed worker had comes again.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isAbsolute, join, normalize } from "node:path";
import type { JsMsg, NatsConnection } from "nats";
import { z } from "zod";
import { DepthwattError, isDepthwattError, redactUrl } from "../../../core/index.js";
import type { ArchivePair } from "./archive.js";
import { type BatchCounts, type BatchOptions, resultOf, SKIPPED_CODES, Turns } from "./batch.js";
import { hashOf, unwritable, writeOnce } from "./results.js";
import { type BatchStage, Occupancy } from "./stages.js";

const CONSUMER = "depthwatt-workers";
const SECOND_NS = 1_000_000_000;
/** How often a pair may bring its worker down before it is given up. */
const MAX_DELIVERIES = 5;
/** A pair that is queued a second time within a day is one message. */
const DUPLICATES_NS = 86_400 * SECOND_NS;
const DEFAULT_STREAM = "DEPTHWATT";

const pairSchema = z.strictObject({
  name: z.string().min(1),
  left: z.string().min(1),
  right: z.string().min(1),
});

export interface QueueOptions extends BatchOptions {
  url: string;
  /** Of the choice of settings; stands in the names of results. */
  key: string;
  /** A message that is neither acknowledged nor worked on for so long comes again. */
  ackWaitSeconds: number;
}

export interface QueueCounts extends BatchCounts {
  /** Results that another worker wrote meanwhile. */
  doubled: number;
}

/** nats://host:4222/STREAM: the path names the stream. */
function placeOf(url: string): { server: string; stream: string } {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const stream = parsed?.pathname.replace(/^\//, "") || DEFAULT_STREAM;
  if (parsed === undefined || !/^(nats|tls):$/.test(parsed.protocol) || !/^[A-Za-z0-9_-]{1,64}$/.test(stream))
    throw new DepthwattError("USAGE", `expected --queue nats://HOST:PORT/STREAM, got "${redactUrl(url)}"`);
  parsed.pathname = "";
  return { server: parsed.href, stream };
}

async function connected(server: string): Promise<NatsConnection> {
  const { connect } = await import("nats");
  const { username, password, host, protocol } = new URL(server);
  try {
    return await connect({
      servers: `${protocol}//${host}`,
      ...(username !== "" && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
      timeout: 5000,
      maxReconnectAttempts: -1,
      name: "depthwatt batch",
    });
  } catch (cause) {
    const text = `the queue at ${redactUrl(server)} does not answer: ${(cause as Error).message}`;
    throw new DepthwattError("QUEUE_FAILED", text, { cause });
  }
}

/** Opens the stream and its consumer, where they are not there yet, and closes the connection afterwards. */
async function withQueue<T>(
  { url, ackWaitSeconds }: Pick<QueueOptions, "url" | "ackWaitSeconds">,
  use: (connection: NatsConnection, stream: string) => Promise<T>,
): Promise<T> {
  const { server, stream } = placeOf(url);
  const { AckPolicy, RetentionPolicy, StorageType } = await import("nats");
  const connection = await connected(server);
  try {
    const manager = await connection.jetstreamManager();
    await manager.streams.info(stream).catch(() =>
      manager.streams.add({
        name: stream,
        subjects: [`${stream}.pairs`],
        retention: RetentionPolicy.Workqueue,
        storage: StorageType.File,
        duplicate_window: DUPLICATES_NS,
      }),
    );
    await manager.consumers.info(stream, CONSUMER).catch(() =>
      manager.consumers.add(stream, {
        durable_name: CONSUMER,
        ack_policy: AckPolicy.Explicit,
        max_deliver: MAX_DELIVERIES,
        ack_wait: Math.round(ackWaitSeconds * SECOND_NS),
      }),
    );
    return await use(connection, stream);
  } catch (cause) {
    if (isDepthwattError(cause)) throw cause;
    const text = `the queue at ${redactUrl(server)}/${stream}: ${(cause as Error).message}`;
    throw new DepthwattError("QUEUE_FAILED", text, { cause });
  } finally {
    await connection.close();
  }
}

/** Puts pairs into the queue, each once. @returns how many were new */
export function enqueue(pairs: readonly ArchivePair[], options: QueueOptions): Promise<number> {
  return withQueue(options, async (connection, stream) => {
    const jetstream = connection.jetstream();
    let fresh = 0;
    for (const pair of pairs) {
      const data = new TextEncoder().encode(JSON.stringify(pair));
      const { duplicate } = await jetstream.publish(`${stream}.pairs`, data, {
        msgID: hashOf(options.key, data),
      });
      if (!duplicate) fresh++;
    }
    return fresh;
  });
}

/** Works until nothing is queued and nobody has anything in work. @throws DepthwattError QUEUE_FAILED */
export function workQueue(
  options: QueueOptions,
): Promise<{ counts: QueueCounts; occupancy: Record<BatchStage, number> }> {
  return withQueue(options, async (connection, stream) => {
    const counts: QueueCounts = { pairs: 0, written: 0, kept: 0, doubled: 0, skipped: {} };
    const occupancy = new Occupancy();
    const turns = new Turns();
    const consumer = await connection.jetstream().consumers.get(stream, CONSUMER);
    const worker = async () => {
      for (;;) {
        const message = await consumer.next({ expires: 1000 });
        if (message === null) {
          const { num_pending, num_ack_pending } = await consumer.info();
          if (num_pending === 0 && num_ack_pending === 0) return;
          continue;
        }
        counts.pairs++;
        await serve(message, options, counts, { occupancy, turns });
        options.onProgress(counts, occupancy.percent);
      }
    };
    await Promise.all(Array.from({ length: options.ahead }, worker));
    return { counts, occupancy: occupancy.percent };
  });
}

interface Work {
  occupancy: Occupancy;
  turns: Turns;
}

async function serve(message: JsMsg, options: QueueOptions, counts: QueueCounts, work: Work): Promise<void> {
  const { ackWaitSeconds, onSkip } = options;
  // As long as it is worked on, nobody else gets it.
  const beat = setInterval(() => message.working(), (1000 * ackWaitSeconds) / 3);
  try {
    counts[await serveOne(message, options, work)]++;
    // Acknowledged when the result is written, and by a server that has heard it.
    await message.ackAck();
  } catch (error) {
    if (!isDepthwattError(error) || !SKIPPED_CODES.has(error.code)) {
      message.nak();
      throw error;
    }
    // No other worker could read it either.
    message.term();
    counts.skipped[error.code] = (counts.skipped[error.code] ?? 0) + 1;
    onSkip(error.message);
  } finally {
    clearInterval(beat);
  }
}

async function serveOne(
  message: JsMsg,
  options: QueueOptions,
  work: Work,
): Promise<"written" | "kept" | "doubled"> {
  const { input, output, format, key } = options;
  const pair = pairOf(message, input);
  const path = join(output, `${pair.name}-${await contentOf(pair, key)}.${format}`);
  if (existsSync(path)) return "kept";
  const bytes = await resultOf(pair, options, work.occupancy, work.turns);
  const first = await work.occupancy
    .during("write", () => writeOnce(path, bytes))
    .catch((cause: Error) => {
      throw unwritable(path, cause);
    });
  return first ? "written" : "doubled";
}

/** @throws DepthwattError SOURCE_UNREADABLE: no pair, or one that lies elsewhere */
function pairOf(message: JsMsg, input: string): ArchivePair {
  const refuse = (why: string) => {
    throw new DepthwattError("SOURCE_UNREADABLE", `message ${message.seq} of the queue: ${why}`);
  };
  let content: unknown;
  try {
    content = JSON.parse(message.string());
  } catch {
    refuse("expected JSON, found something else");
  }
  const parsed = pairSchema.safeParse(content);
  if (!parsed.success) return refuse("expected {name, left, right}, found something else");
  for (const path of Object.values(parsed.data))
    if (isAbsolute(path) || normalize(path).startsWith(".."))
      refuse(`expected paths below the archive, found ${JSON.stringify(path)}`);
  const { name, left, right } = parsed.data;
  return { name, left: join(input, left), right: join(input, right) };
}

/** What a result is made of, in 16 hexadecimal digits: equal names, equal results. @throws DepthwattError SOURCE_UNREADABLE */
async function contentOf({ left, right }: ArchivePair, key: string): Promise<string> {
  try {
    const [first, second] = await Promise.all([readFile(left), readFile(right)]);
    return hashOf(key, String(first.length), first, second).slice(0, 16);
  } catch (cause) {
    throw new DepthwattError("SOURCE_UNREADABLE", `cannot read a pair: ${(cause as Error).message}`, {
      cause,
    });
  }
}
