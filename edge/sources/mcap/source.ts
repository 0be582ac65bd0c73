// SPDX-License-Identifier: Apache-2.0
// Plays a recording: at its own pace, at a multiple of it, or as fast as the consumer gives pairs back.
import { basename } from "node:path";
import {
  type PairSource,
  parseStereoCalibration,
  SkewStatistics,
  type SourceCounters,
  type SourceDescription,
  type SourceEvents,
} from "../../../camera/index.js";
import { DepthwattError } from "../../../core/index.js";
import type { OpenedSource } from "../../contracts/source.js";
import {
  type PairEvents,
  type PairTopics,
  pairTopics,
  periodNs,
  type RecordedPair,
  recordedPairs,
} from "../../mcap/pairs.js";
import { openRecording, type Recording, type RecordingLoss } from "../../mcap/recording.js";

export interface McapSourceSettings {
  file: string;
  leftTopic?: string;
  rightTopic?: string;
  startSeconds: number;
  speed: number | "max";
  loop: boolean;
}

/** Pairs that the consumer may hold. */
const MAX_HELD = 2;

/** One clause; undefined: nothing was lost. */
export function lossWords({
  index,
  bytes,
  chunks,
  messages,
  reason,
}: Readonly<RecordingLoss>): string | undefined {
  const parts = [];
  if (index !== undefined) parts.push(`it has no usable index (${index}), so a new one was made`);
  if (bytes > 0) parts.push(`${bytes} bytes belong to no whole record`);
  const lost = [...messages.values()].reduce((sum, count) => sum + count, 0);
  if (chunks > 0) parts.push(`${chunks} damaged chunks with ${lost} messages are left out (${reason})`);
  return parts.length === 0 ? undefined : parts.join("; ");
}

/** @throws DepthwattError SOURCE_UNREADABLE, SOURCE_EMPTY, IMAGE_SIZE_MISMATCH */
export async function openMcapSource(settings: McapSourceSettings): Promise<OpenedSource> {
  const { file, leftTopic, rightTopic } = settings;
  const recording = await openRecording(file);
  try {
    const topics = pairTopics(recording, {
      ...(leftTopic !== undefined && { left: leftTopic }),
      ...(rightTopic !== undefined && { right: rightTopic }),
    });
    const fromNs = (recording.startNs ?? 0n) + BigInt(Math.round(settings.startSeconds * 1e9));
    const { first, reason, hasLogTimes } = await firstPair(recording, topics, fromNs);
    if (first === undefined) {
      const cause = reason ?? lossWords(recording.loss);
      const text = `${file}: expected an image pair from ${settings.startSeconds} s on, found none${cause ? `: ${cause}` : ""}`;
      const hint = "'depthwatt convert' counts what it holds and what cannot be read.";
      throw new DepthwattError("SOURCE_EMPTY", text, { hint, context: { file } });
    }
    const { left, right } = first;
    if (left.width !== right.width || left.height !== right.height) {
      const sizes = `${left.width}x${left.height} and ${right.width}x${right.height}`;
      const text = `${file}: expected left and right images of one size, found ${sizes}`;
      throw new DepthwattError("IMAGE_SIZE_MISMATCH", text, { context: { file } });
    }
    const source = new McapSource(settings, recording, topics, fromNs, first);
    const attached = await recording.attachment("calibration.json");
    const words = lossWords(recording.loss);
    const warnings = words === undefined ? [] : [`${file}: ${words}`];
    if (hasLogTimes) warnings.push(`${file}: capture times are 0, so the times of recording are used`);
    if (attached === undefined) return { source, warnings };
    const loaded = parseStereoCalibration(new TextDecoder().decode(attached), `${file}: calibration.json`);
    return { source, calibration: loaded.calibration, warnings: [...warnings, ...loaded.warnings] };
  } catch (error) {
    await recording.close();
    throw error;
  }
}

async function firstPair(recording: Recording, topics: PairTopics, fromNs: bigint) {
  let reason: string | undefined;
  let hasLogTimes = false;
  const events: PairEvents = {
    onDrop: () => {},
    onBad: ({ message }) => {
      reason ??= message;
    },
    onLogTime: () => {
      hasLogTimes = true;
    },
  };
  for await (const first of recordedPairs(recording, topics, fromNs, events))
    return { first, reason, hasLogTimes };
  return { first: undefined, reason, hasLogTimes };
}

class McapSource implements PairSource {
  readonly description: SourceDescription;
  readonly #settings: McapSourceSettings;
  readonly #recording: Recording;
  readonly #topics: PairTopics;
  readonly #fromNs: bigint;
  readonly #skew = new SkewStatistics();
  readonly #drops: { left: Record<string, number>; right: Record<string, number> } = { left: {}, right: {} };
  readonly #periodNs: number;
  #pairs = 0;
  #held = 0;
  #started = false;
  #stopped = false;
  #played: Promise<void> | undefined;
  #wake = () => {};
  #badTold = 0;
  /** Added in later laps, so that times and numbers continue rising. */
  #lapNs = 0n;
  #lapSequence = 0;
  #lastNs = 0n;
  #lastSequence = 0;

  constructor(
    settings: McapSourceSettings,
    recording: Recording,
    topics: PairTopics,
    fromNs: bigint,
    { left, right }: RecordedPair,
  ) {
    this.#settings = settings;
    this.#recording = recording;
    this.#topics = topics;
    this.#fromNs = fromNs;
    const period = periodNs(recording, topics.left);
    this.#periodNs = period ?? 1e9 / 30;
    const { speed, loop, file } = settings;
    const pace =
      speed === "max" ? "as fast as they are taken" : speed === 1 ? "as recorded" : `${speed} times as fast`;
    this.description = {
      title: `${basename(file)}, ${left.width}x${left.height}, ${pace}${loop ? ", looped" : ""}`,
      width: left.width,
      height: left.height,
      leftFormat: left.format,
      rightFormat: right.format,
      leftStrideBytes: left.strideBytes,
      rightStrideBytes: right.strideBytes,
      rateHz: speed === "max" || period === undefined ? undefined : (speed * 1e9) / period,
      clock: "file",
    };
  }

  counters(): SourceCounters {
    const { left, right } = this.#topics;
    const { messages } = this.#recording.loss;
    const withDamaged = (drops: Record<string, number>, id: number) => {
      const damaged = messages.get(id);
      return { ...drops, ...(damaged !== undefined && { damaged }) };
    };
    return {
      pairs: this.#pairs,
      dropsLeft: withDamaged(this.#drops.left, left.channel.id),
      dropsRight: withDamaged(this.#drops.right, right.channel.id),
      skewMsMean: this.#skew.meanMs,
      skewMsP99: this.#skew.p99Ms,
      driftPpm: undefined,
    };
  }

  start(events: SourceEvents): void {
    if (this.#started) throw new DepthwattError("INTERNAL", "a recording was started twice");
    this.#started = true;
    this.#played = this.#play(events).then(
      () => {
        if (!this.#stopped) events.onEnd();
      },
      (error: Error) => {
        if (!this.#stopped) events.onError(error);
      },
    );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    while (this.#held > 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    // Reads to the end the chunk that is being read.
    await this.#played;
    await this.#recording.close();
  }

  async #play(events: SourceEvents): Promise<void> {
    const chunksLost = this.#recording.loss.chunks;
    do {
      const before = this.#pairs;
      await this.#lap(events);
      if (this.#stopped) return;
      if (this.#pairs === before)
        throw new DepthwattError(
          "SOURCE_EMPTY",
          `${this.#settings.file}: expected pairs, found none in a whole lap`,
        );
      this.#lapNs += this.#lastNs + BigInt(Math.round(this.#periodNs));
      this.#lapSequence += this.#lastSequence + 1;
    } while (this.#settings.loop);
    const words = this.#recording.loss.chunks > chunksLost ? lossWords(this.#recording.loss) : undefined;
    if (words !== undefined) events.onWarning?.(`${this.#settings.file}: ${words}`);
  }

  async #lap(events: SourceEvents): Promise<void> {
    const { speed } = this.#settings;
    let beganMs: number | undefined;
    let firstNs: bigint | undefined;
    let firstSequence = 0;
    const pairEvents: PairEvents = {
      onDrop: (side, cause) => this.#drop(side, cause),
      onBad: (error) => this.#reportBad(events, error),
    };
    for await (const pair of recordedPairs(this.#recording, this.#topics, this.#fromNs, pairEvents)) {
      if (this.#stopped) return;
      if (!this.#fits(pair)) continue;
      firstNs ??= pair.left.stampNs;
      if (beganMs === undefined) firstSequence = pair.left.sequence;
      beganMs ??= performance.now();
      const dueMs = speed === "max" ? undefined : beganMs + Number(pair.left.stampNs - firstNs) / 1e6 / speed;
      await this.#turn(dueMs);
      if (this.#stopped) return;
      this.#deliver(events, pair);
      this.#lastNs = pair.left.stampNs - firstNs;
      this.#lastSequence = pair.left.sequence - firstSequence;
    }
  }

  /** Waits for the pair's time, then until the engine has taken earlier pairs: a slow engine loses none. */
  async #turn(dueMs: number | undefined): Promise<void> {
    // One turn of the event loop per pair: a consumer that gives pairs back at once must not starve the others.
    if (dueMs === undefined) await new Promise((resolve) => setImmediate(resolve));
    else
      for (let now = performance.now(); now < dueMs && !this.#stopped; now = performance.now())
        await this.#rest(dueMs - now);
    while (this.#held >= MAX_HELD && !this.#stopped) await this.#rest(undefined);
  }

  #fits({ left, right }: RecordedPair): boolean {
    const { width, height, leftFormat, rightFormat, leftStrideBytes, rightStrideBytes } = this.description;
    const fits =
      left.width === width &&
      left.height === height &&
      left.format === leftFormat &&
      left.strideBytes === leftStrideBytes;
    const alike =
      right.width === width &&
      right.height === height &&
      right.format === rightFormat &&
      right.strideBytes === rightStrideBytes;
    if (fits && alike) return true;
    this.#drop("left", fits ? "partnerLost" : "wrongSize");
    this.#drop("right", alike ? "partnerLost" : "wrongSize");
    return false;
  }

  #deliver(events: SourceEvents, { left, right }: RecordedPair): void {
    const image = ({ stampNs, sequence, ...rest }: RecordedPair["left"]) => ({
      ...rest,
      timestampNs: stampNs + this.#lapNs,
      sequence: sequence + this.#lapSequence,
    });
    this.#skew.add(left.stampNs, right.stampNs);
    this.#pairs++;
    this.#held++;
    let released = false;
    events.onPair({
      left: image(left),
      right: image(right),
      clock: "file",
      release: () => {
        if (released) throw new DepthwattError("INTERNAL", "a recorded pair was released twice");
        released = true;
        this.#held--;
        this.#wake();
      },
    });
  }

  #drop(side: "left" | "right", cause: string): void {
    this.#drops[side][cause] = (this.#drops[side][cause] ?? 0) + 1;
  }

  #reportBad(events: SourceEvents, { message }: Error): void {
    if (this.#badTold++ < 10) events.onWarning?.(`${this.#settings.file}: ${message}`);
  }

  #rest(ms: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
