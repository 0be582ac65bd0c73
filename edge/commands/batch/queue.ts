// SPDX-License-Identifier: Apache-2.0
// A batch whose pairs are messages of a JetStream work queue: any number of machines pull, a message is acknowledged when its result
// is written, and what a killed worker had comes again.
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { isAbsolute, join, normalize } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { JsMsg, NatsConnection } from "nats";
import { z } from "zod";
import { DepthwattError, isDepthwattError, readRegularFileAsync, redactUrl } from "../../../core/index.js";
import type { ArchivePair } from "./archive.js";
import { type BatchCounts, type BatchOptions, matchFiles, SKIPPED_CODES, Turns } from "./batch.js";
import { hashParts, unwritable, writeOnce } from "./results.js";
import { type BatchStage, Occupancy } from "./stages.js";

const CONSUMER = "depthwatt-workers";
const SECOND_NS = 1_000_000_000;
/** How often a pair is delivered before it is given up. */
const MAX_DELIVERIES = 5;
/** Delays before a pair that could not be read comes again, by delivery. */
const BACK_OFF_MS = [1000, 5000, 15_000, 30_000] as const;
/** Pairs in a row that a worker cannot read before it ends: the archive may be missing on its machine. */
const MAX_IN_A_ROW = 3;
/** How long a worker waits for a server that restarts. */
const MAX_SERVER_ABSENCE_MS = 60_000;
const SERVER_RETRY_MS = 500;
/** Node's errors for a path that no machine can use: too long, or below a file. */
const PATH_FAULTS = ["ENAMETOOLONG", "ENOTDIR", "EEXIST", "EISDIR"];
/** A pair that is queued a second time within a day is one message. */
const DUPLICATES_NS = 86_400 * SECOND_NS;
const DEFAULT_STREAM = "DEPTHWATT";

const path = z
  .string()
  .min(1)
  .refine((text) => !text.includes("\0"));
const pairSchema = z.strictObject({ name: path, left: path, right: path });

export interface QueueOptions extends BatchOptions {
  url: string;
  /** A pair that went back into the queue, and why. */
  onReturn(text: string): void;
  /** Key of the settings; it is in the names of results. */
  key: string;
  /** A message that is neither acknowledged nor worked on for so long comes again. */
  ackWaitSeconds: number;
}

export interface QueueCounts extends BatchCounts {
  /** Results that another worker wrote meanwhile. */
  doubled: number;
  /** Deliveries given back because this machine could not read the pair. */
  returned: number;
}

/** nats://host:4222/STREAM: the path names the stream. */
function parseQueueUrl(url: string): { server: string; stream: string } {
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
  const { server, stream } = parseQueueUrl(url);
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

/**
 * Puts pairs into the queue, each once.
 * @param again puts the pairs without a result into it, also those that were in it before
 * @returns how many were new
 */
export function enqueue(
  pairs: readonly ArchivePair[],
  options: QueueOptions,
  again: boolean,
): Promise<number> {
  return withQueue(options, async (connection, stream) => {
    const jetstream = connection.jetstream();
    const done = again ? pairsWithResult(options) : new Set<string>();
    const round = again ? randomUUID() : "";
    let fresh = 0;
    for (const pair of pairs) {
      if (done.has(normalize(pair.name))) continue;
      const data = new TextEncoder().encode(JSON.stringify(pair));
      const { duplicate } = await jetstream.publish(`${stream}.pairs`, data, {
        msgID: hashParts(options.key, data, round),
      });
      if (!duplicate) fresh++;
    }
    return fresh;
  });
}

/** Returns the names of pairs that have a result in the output folder. */
function pairsWithResult({ output, format }: QueueOptions): Set<string> {
  const ending = new RegExp(`-[0-9a-f]{16}\\.${format}$`);
  const files = readdirSync(output, { recursive: true, encoding: "utf8" });
  return new Set(files.filter((file) => ending.test(file)).map((file) => file.replace(ending, "")));
}

/** Repeats a request while the server restarts. @throws NatsError of a server that stays away */
async function retried<T>(request: () => Promise<T>): Promise<T> {
  const { NatsError } = await import("nats");
  const began = performance.now();
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof NatsError) || performance.now() - began > MAX_SERVER_ABSENCE_MS) throw error;
      await setTimeout(SERVER_RETRY_MS);
    }
  }
}

/**
 * Works until nothing is queued and no worker has anything in work.
 * @throws DepthwattError QUEUE_FAILED; that of a pair where this machine cannot read several in a row
 */
export function workQueue(
  options: QueueOptions,
): Promise<{ counts: QueueCounts; occupancy: Record<BatchStage, number> }> {
  return withQueue(options, async (connection, stream) => {
    const counts: QueueCounts = { pairs: 0, written: 0, kept: 0, doubled: 0, returned: 0, skipped: {} };
    const occupancy = new Occupancy();
    const turns = new Turns();
    const consumer = await connection.jetstream().consumers.get(stream, CONSUMER);
    const work: Work = { occupancy, turns, unreadInARow: 0 };
    let failure: { error: unknown } | undefined;
    const worker = async () => {
      while (failure === undefined) {
        const message = await retried(() => consumer.next({ expires: 1000 }));
        if (message === null) {
          const { num_pending, num_ack_pending } = await retried(() => consumer.info());
          if (num_pending === 0 && num_ack_pending === 0) return;
          continue;
        }
        counts.pairs++;
        await serve(message, options, counts, work);
        options.onProgress(counts, occupancy.percent);
      }
    };
    // Pairs in work are finished before the connection is closed.
    const workers = Array.from({ length: options.ahead }, () =>
      worker().catch((error: unknown) => {
        failure ??= { error };
      }),
    );
    await Promise.all(workers);
    if (failure !== undefined) throw failure.error;
    return { counts, occupancy: occupancy.percent };
  });
}

interface Work {
  occupancy: Occupancy;
  turns: Turns;
  /** Pairs that this machine could not read, since the last result. */
  unreadInARow: number;
}

/** Returns whether another machine may succeed where this one failed: a missing file, a failing disk, too many open files. */
export function mayBeThisMachine({ code, cause }: DepthwattError): boolean {
  if (!SKIPPED_CODES.has(code)) return true;
  const { syscall, code: errno = "" } = (cause ?? {}) as NodeJS.ErrnoException;
  return syscall !== undefined && !PATH_FAULTS.includes(errno);
}

async function serve(message: JsMsg, options: QueueOptions, counts: QueueCounts, work: Work): Promise<void> {
  const { ackWaitSeconds, onSkip, onReturn } = options;
  const giveUp = ({ code, message: text }: DepthwattError) => {
    message.term();
    counts.skipped[code] = (counts.skipped[code] ?? 0) + 1;
    onSkip(text);
  };
  // While a message is worked on, the queue gives it to no other worker.
  const beat = setInterval(() => message.working(), (1000 * ackWaitSeconds) / 3);
  try {
    counts[await serveOne(message, options, work)]++;
    work.unreadInARow = 0;
    // The result is written. Where the server is away, the pair comes again and its result is kept.
    await message.ackAck().catch(() => {});
  } catch (error) {
    const delivery = message.info.deliveryCount;
    const delayMs = BACK_OFF_MS[Math.min(delivery, BACK_OFF_MS.length) - 1] ?? BACK_OFF_MS[0];
    if (!isDepthwattError(error) || !SKIPPED_CODES.has(error.code)) {
      message.nak(delayMs);
      throw error;
    }
    if (mayBeThisMachine(error)) {
      if (delivery < MAX_DELIVERIES) {
        message.nak(delayMs);
        counts.returned++;
        onReturn(error.message);
      } else giveUp(error);
      if (++work.unreadInARow >= MAX_IN_A_ROW) throw cannotSee(options.input, error);
    } else giveUp(error);
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
  const pair = parsePair(message, input);
  const path = join(output, `${pair.name}-${await hashImages(pair, key)}.${format}`);
  if (existsSync(path)) return "kept";
  const bytes = await matchFiles(pair, options, work.occupancy, work.turns);
  const first = await work.occupancy
    .during("write", () => writeOnce(path, bytes))
    .catch((cause: NodeJS.ErrnoException) => {
      if (PATH_FAULTS.includes(cause.code ?? ""))
        throw malformed(message, `expected a name for a result in ${output}, found ${cause.code}`);
      throw unwritable(path, cause);
    });
  return first ? "written" : "doubled";
}

const malformed = (message: JsMsg, why: string) =>
  new DepthwattError("SOURCE_UNREADABLE", `message ${message.seq} of the queue: ${why}`);

const cannotSee = (input: string, cause: DepthwattError) =>
  new DepthwattError(
    "SOURCE_UNREADABLE",
    `expected the pairs of the queue at ${input}, found ${MAX_IN_A_ROW} in a row that cannot be read: ${cause.message}`,
    {
      cause,
      hint: "Check that the archive is mounted here. The pairs are back in the queue for other workers.",
    },
  );

/** @throws DepthwattError SOURCE_UNREADABLE: no pair, or one that lies elsewhere */
function parsePair(message: JsMsg, input: string): ArchivePair {
  const refuse = (why: string) => {
    throw malformed(message, why);
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

/**
 * Returns a hash of a result's inputs, in 16 hexadecimal digits: equal names, equal results. @throws DepthwattError
 * SOURCE_UNREADABLE
 */
async function hashImages({ left, right }: ArchivePair, key: string): Promise<string> {
  try {
    const [first, second] = await Promise.all([readRegularFileAsync(left), readRegularFileAsync(right)]);
    return hashParts(key, String(first.length), first, second).slice(0, 16);
  } catch (cause) {
    throw new DepthwattError("SOURCE_UNREADABLE", `cannot read a pair: ${(cause as Error).message}`, {
      cause,
    });
  }
}
