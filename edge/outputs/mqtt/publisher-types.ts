// SPDX-License-Identifier: Apache-2.0
// The publisher as the pipeline sees it: hand over a slot's buffer and forget it; the release callback says when it is free.
import type { StreamName } from "../../../core/frame/frame-format.js";
import type { FrameDescription } from "../../../core/frame/payload.js";
import type { DepthwattError } from "../../../core/index.js";
import type { BrokerStatus } from "../../../core/mqtt/connection.js";
import type { DeviceState } from "../../contracts/output.js";

export interface PublisherOptions {
  /** mqtt://, mqtts://, ws:// or wss:// with host and, where not standard, port. */
  broker: string;
  base: string;
  device: string;
  username?: string;
  /** File whose first line is the password; refused where others may read it. */
  passwordFile?: string;
  /** PEM files: authority, and this client's certificate and key. */
  caFile?: string;
  certFile?: string;
  keyFile?: string;
  /** "auto" tries MQTT 5, then 3.1.1; a number is used as it stands. */
  protocolVersion?: "auto" | 4 | 5;
  /** Default depthwatt-<device>-<random>. */
  clientId?: string;
  /** Bytes that may wait in this process for the socket before frames are dropped. */
  maxPendingBytes?: number;
  /** Frames whose message is larger are dropped as `oversize`. */
  maxPayloadBytes?: number;
  /** Longest pause between two attempts to connect, milliseconds; default 30 000. */
  longestPauseMs?: number;
  /** Shortest time between two renewals of a retained message, milliseconds; default 5000. */
  renewalMs?: number;
  /** Nominal time between frames; MQTT 5 brokers forget a frame after three of them. */
  framePeriodMs?: number;
  /** Connected, or why not; called on every change. */
  onStatus?: (status: BrokerStatus) => void;
  /** Something a person should read once: an oversize frame, a broker that speaks only 3.1.1. */
  onNotice?: (notice: string) => void;
}

/**
 * offline: no connection. backpressure: the socket was still busy when a newer frame came, or too much was pending.
 * oversize: larger than maxPayloadBytes or than the broker allows. lost: given to a socket that broke. invalid: the
 * header could not be written (a bug, reported through onNotice). closed: published after close(). refused: the broker
 * refused an earlier frame of this stream. overtaken: a newer frame of the stream came before it.
 */
export type PublishDropCause =
  | "offline"
  | "backpressure"
  | "oversize"
  | "lost"
  | "invalid"
  | "closed"
  | "refused"
  | "overtaken";

export interface StreamCounters {
  /** Messages that the socket took. */
  published: number;
  /** Their bytes, header and body. */
  bytes: number;
  drops: Partial<Record<PublishDropCause, number>>;
}

/** A snapshot for metrics. */
export interface PublisherCounters extends StreamCounters {
  connected: boolean;
  reason: string;
  /** Connections made since start; 1 = never lost. */
  connections: number;
  /** Bytes now waiting for the socket. */
  pendingBytes: number;
  streams: Partial<Record<StreamName, StreamCounters>>;
  /** Documents (state, info, camera_info, metrics) that were larger than the broker allows, by name. */
  oversizeDocuments: Record<string, number>;
}

/**
 * Never blocks, never throws, never copies a frame. Per stream it holds at most two buffers: one at the socket and the
 * newest one waiting behind it. A pipeline therefore needs two slots more than it computes at once.
 */
export interface Publisher {
  /**
   * Takes one frame: the body is at [bodyOffset, bodyOffset + bodyBytes) of `buffer`, with FRAME_HEADROOM_BYTES free
   * before it (they are overwritten). `release` is called exactly once, now or later: when the socket has taken the bytes,
   * when a newer frame replaced this one, or when it was dropped; `sent` is true in the first case alone. Until then buffer
   * must not change.
   */
  publish(
    buffer: Uint8Array,
    bodyOffset: number,
    bodyBytes: number,
    frame: FrameDescription,
    release: (sent: boolean) => void,
    frameNumber?: number,
  ): void;
  /**
   * The number of the next frame of a stream. publish() takes one automatically; who may lose a frame before takes it first, so
   * that readers see the gap.
   */
  nextFrameNumber(stream: StreamName): number;
  /** Header and body of a frame may have so many bytes: maxPayloadBytes, or less where the broker reports it. */
  readonly maxMessageBytes: number;
  /** The reason why messages do not arrive now: no connection, or a broker that refuses them. */
  readonly failure: DepthwattError | undefined;
  /** Retained; published again on every connect. The will says "offline". */
  state(state: DeviceState, reason: string, code?: string): void;
  info(info: object): void;
  /** Undefined: there is none any more, and the topic is cleared. */
  cameraInfo(cameraInfo: object | undefined): void;
  /**
   * Settings or the source have changed: what was too large before may fit now; what the broker refused may be switched off.
   * @param streams those that are on from now on
   * @param periodMs time between their frames; undefined: not known
   */
  expect(streams: readonly StreamName[], periodMs: number | undefined): void;
  /** Not retained; skipped while offline or while the socket is behind. */
  metrics(metrics: object): void;
  /**
   * A whole picture file, not retained. Skipped while offline, too large, or while the socket is behind.
   * @returns why it was skipped; undefined where it was handed to the socket
   */
  preview(file: Uint8Array, contentType: string): PublishDropCause | undefined;
  counters(): PublisherCounters;
  /** The outcome of the first attempt to connect; never rejects. Later attempts continue automatically, with back-off. */
  readonly firstAttempt: Promise<BrokerStatus>;
  /** Publishes `stopped`, then disconnects; at most two seconds. Every buffer is released when it resolves. */
  close(): Promise<void>;
}
