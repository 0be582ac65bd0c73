// SPDX-License-Identifier: Apache-2.0
// Feeds the page from a broker: the messages of every device below a base topic, put together again by capture time and
// handed on as they came.
import type { Consumer, ReceivedFrame } from "../../../clients/javascript/src/index.js";
import { isPicture, type PictureStream } from "../../../core/frame/frame-format.js";
import { printable, redactUrl } from "../../../core/index.js";
import type { Hub } from "./hub.js";
import type { DocumentType } from "./protocol.js";

/** Streams of one moment arrive one after the other; a stream that is later than this was not sent. */
const PATIENCE_MS = 100;
const MAX_ASSEMBLIES = 256;
/** Ours have some kilobytes in five levels; other clients may publish larger ones, which every page would receive. */
const MAX_DOCUMENT_LENGTH = 1 << 20;
const MAX_LEVELS = 32;
/** A grid comes with each frame; people cannot read more. */
const GRID_EVERY_MS = 500;

interface Assembly {
  timestampNs: bigint;
  /** Come and not yet handed on. */
  frames: Map<PictureStream, Uint8Array>;
  seen: Set<PictureStream>;
  /** Streams of the moment before: once all of them are there, the set is complete. */
  expected: ReadonlySet<PictureStream>;
  timer: NodeJS.Timeout | undefined;
}

/** The whole message again: parseFrame cut it in two without a copy. */
const wholeMessage = ({ header, body, messageBytes }: ReceivedFrame): Uint8Array =>
  new Uint8Array(body.buffer, body.byteOffset - header.headerBytes, messageBytes);

/** JSON.stringify calls itself for each level and ends in an exception where they are some thousand. */
function isShallow(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((one) => isShallow(one, levels - 1));
}

const canBeTold = (document: unknown) =>
  isShallow(document) && JSON.stringify(document).length <= MAX_DOCUMENT_LENGTH;

export class BrokerFeed {
  readonly #hub: Hub;
  readonly #assemblies = new Map<string, Assembly>();
  readonly #damages = new Set<string>();
  /** When the last grid of a device was shown. */
  readonly #grids = new Map<string, number>();

  constructor(hub: Hub, consumer: Consumer) {
    this.#hub = hub;
    consumer.on("frame", (frame) => this.#take(frame));
    consumer.on("state", ({ device, state, reason }) => this.#document(device, "state", { state, reason }));
    consumer.on("info", ({ device, info }) => this.#document(device, "info", info));
    consumer.on("cameraInfo", ({ device, cameraInfo }) => this.#document(device, "cameraInfo", cameraInfo));
    consumer.on("metrics", ({ device, metrics }) => this.#document(device, "metrics", metrics));
    consumer.on("grid", ({ device, grid }) => this.#grid(device, Object(grid).grid));
    consumer.on("status", ({ connected, reason }) => hub.source(connected, redactUrl(reason)));
    consumer.on("invalid", ({ device, stream, error }) => {
      this.#damaged(
        `${device} ${stream} ${String(error.context.field)}`,
        `${device}/${stream}: ${error.message}`,
      );
    });
  }

  /** One line for each kind of damage and device, however many messages have it. */
  #damaged(key: string, text: string): void {
    if (this.#damages.has(key) || this.#damages.size > MAX_ASSEMBLIES) return;
    this.#damages.add(key);
    this.#hub.log("warn", printable(text));
  }

  #document(device: string, type: DocumentType, document: unknown): void {
    if (canBeTold(document)) this.#hub.document(device, type, document);
    else
      this.#damaged(
        `${device} ${type}`,
        `${device}: expected ${type} of at most ${MAX_DOCUMENT_LENGTH} characters in ${MAX_LEVELS} levels, got more`,
      );
  }

  /** Shows the grid of a device that a page shows. */
  #grid(device: string, grid: unknown): void {
    const nowMs = performance.now();
    const sinceMs = nowMs - (this.#grids.get(device) ?? Number.NEGATIVE_INFINITY);
    if (typeof grid !== "object" || grid === null || sinceMs < GRID_EVERY_MS || !this.#hub.watched(device))
      return;
    if (this.#grids.size >= MAX_ASSEMBLIES) this.#grids.clear();
    this.#grids.set(device, nowMs);
    this.#document(device, "grid", grid);
  }

  #take(frame: ReceivedFrame): void {
    const { device, stream, header } = frame;
    // The topic says one stream and the header another: damaged in its own way.
    if (header.stream !== stream || !isPicture(stream)) return;
    const before = this.#assemblies.get(device);
    let assembly = before;
    if (before === undefined || before.timestampNs !== header.leftTimestampNs) {
      if (before !== undefined) this.#complete(device, before);
      else if (!this.#hasRoom()) return;
      assembly = {
        timestampNs: header.leftTimestampNs,
        frames: new Map(),
        seen: new Set(),
        expected: before?.seen ?? new Set(),
        timer: undefined,
      };
      // At the end: what stands first has been silent longest.
      this.#assemblies.delete(device);
      this.#assemblies.set(device, assembly);
    }
    const moment = assembly as Assembly;
    moment.frames.set(stream, wholeMessage(frame));
    moment.seen.add(stream);
    const { seen, expected } = moment;
    if (expected.size > 0 && [...expected].every((name) => seen.has(name))) this.#complete(device, moment);
    else moment.timer ??= setTimeout(() => this.#complete(device, moment), PATIENCE_MS);
  }

  /** Forgets the device that has been silent longest where there are too many. */
  #hasRoom(): boolean {
    if (this.#assemblies.size < MAX_ASSEMBLIES) return true;
    const idle = [...this.#assemblies].find(([, { frames }]) => frames.size === 0);
    return idle !== undefined && this.#assemblies.delete(idle[0]);
  }

  #complete(device: string, moment: Assembly): void {
    clearTimeout(moment.timer);
    moment.timer = undefined;
    const { frames } = moment;
    if (frames.size === 0) return;
    moment.frames = new Map();
    if (this.#hub.wanted(device).size > 0) this.#hub.send(device, frames, () => {});
  }

  close(): void {
    for (const { timer } of this.#assemblies.values()) clearTimeout(timer);
    this.#assemblies.clear();
  }
}
