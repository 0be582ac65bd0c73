// SPDX-License-Identifier: Apache-2.0
// Sends to all open pages: documents at once and again to newcomers, frames only to pages that are ready for one.
// Nothing is queued: a frame that no page is ready for is not sent, and the page learns the number of skipped frames.
import type { WebSocket } from "ws";
import { z } from "zod";
import { PICTURE_STREAMS, type PictureStream } from "../../../core/frame/frame-format.js";
import type { PasswordCheck } from "../../contracts/http.js";
import { documentationUrl, VERSION } from "../../contracts/version.js";
import { MAX_REQUEST_BYTES } from "../../control/gate.js";
import { MAX_STRANGERS } from "../../http/index.js";
import { PageClient } from "./client.js";
import {
  BEAT_MS,
  type DeviceEntry,
  type DocumentType,
  type FromPage,
  type LogLine,
  PROTOCOL_VERSION,
  type StateDocument,
  type ToPage,
} from "./protocol.js";

const KEPT_LINES = 100;
/** Any client may publish under new names at a broker, without end. */
const MAX_DEVICES = 256;
/** A name without frames and metrics for so long gives its place to a device that sends some. */
const ALIVE_MS = 30_000;
/** Pings that a page may leave unanswered; a busy machine is late, a broken connection never answers. */
const MAX_UNANSWERED = 5;

const fromPage = z.discriminatedUnion("type", [
  z.object({ type: z.literal("login"), password: z.string().max(1024) }),
  z.object({
    type: z.literal("watch"),
    device: z.string().max(256).optional(),
    streams: z.array(z.enum(PICTURE_STREAMS as [PictureStream, ...PictureStream[]])).max(8),
  }),
  z.object({ type: z.literal("next") }),
  z.object({
    type: z.literal("ask"),
    id: z.int(),
    device: z.string().max(256).optional(),
    command: z.string().max(64),
    payload: z.string().max(MAX_REQUEST_BYTES),
  }),
]);

export interface HubOptions {
  kind: "run" | "view" | "calibrate";
  /** Said to people: where frames come from. */
  origin: string;
  /** Absent: every client of the server may look. */
  gate?: PasswordCheck | undefined;
  /** Changes a setting; absent: the page is read-only. */
  control?: HubControl | undefined;
}

export interface Visitor {
  /** The page's address, for the log. */
  who: string;
  /** True if the page was opened on this machine, at a loopback address. */
  local: boolean;
}

/** The page's part of control: its state and settings, and requests for changes. */
export interface HubControl {
  describe(visitor: Visitor): Extract<ToPage, { type: "control" }>;
  ask(
    request: Extract<FromPage, { type: "ask" }>,
    visitor: Visitor,
  ): Promise<Extract<ToPage, { type: "answer" }>>;
}

interface Known {
  documents: Map<DocumentType, unknown>;
  /** Time of the last frame or metrics. Other documents are retained: their device may be gone, or may never have been. */
  aliveMs: number;
}

const STOPPED_GRID = { available: false, reason: "the device stopped, and no newer grid was received" };

export class Hub {
  readonly #options: HubOptions;
  readonly #clients = new Map<PageClient, Visitor>();
  readonly #devices = new Map<string, Known>();
  readonly #lines: LogLine[] = [];
  #source: { connected: boolean; reason: string };
  #beat: NodeJS.Timeout | undefined;
  #crowded = false;

  constructor(options: HubOptions) {
    this.#options = options;
    this.#source = { connected: options.kind !== "view", reason: options.origin };
  }

  get pages(): number {
    return this.#clients.size;
  }

  join(socket: WebSocket, who: string, local = false): void {
    const client = new PageClient(socket, this.#options.gate === undefined);
    this.#clients.set(client, { who, local });
    socket.on("message", (data, isBinary) => {
      if (!isBinary) this.#take(client, String(data));
    });
    socket.on("pong", () => {
      client.unanswered = 0;
    });
    socket.on("close", () => {
      this.#clients.delete(client);
      if (this.#clients.size === 0) clearInterval(this.#beat);
    });
    if (this.#clients.size === 1) this.#beat = setInterval(() => this.#beats(), BEAT_MS).unref();
    const { kind, origin } = this.#options;
    const help = documentationUrl("guides/live-page.md");
    client.say({
      type: "hello",
      protocol: PROTOCOL_VERSION,
      version: VERSION,
      ...(help !== undefined && { help }),
      kind,
      origin,
      timeMs: Date.now(),
    });
    if (client.admitted) this.#sendAll(client);
    else {
      client.say({ type: "password", reason: "needed" });
      this.#boundStrangers();
    }
  }

  /**
   * Closes the oldest connection without a password, of the address that has most of them, so that one machine that
   * connects again and again leaves the others the time to type.
   */
  #boundStrangers(): void {
    const byAddress = new Map<string, PageClient[]>();
    let strangers = 0;
    for (const [client, { who }] of this.#clients) {
      if (client.admitted) continue;
      strangers++;
      const others = byAddress.get(who);
      if (others === undefined) byAddress.set(who, [client]);
      else others.push(client);
    }
    if (strangers <= MAX_STRANGERS) return;
    const [crowd = []] = [...byAddress.values()].sort((a, b) => b.length - a.length);
    const oldest = crowd[0] as PageClient;
    this.#clients.delete(oldest);
    // Nothing is reported: a page connects again automatically, and who does not read would hold the socket until it did.
    oldest.socket.terminate();
  }

  #take(client: PageClient, text: string): void {
    let message: FromPage;
    try {
      message = fromPage.parse(JSON.parse(text)) as FromPage;
    } catch {
      // Not our page.
      client.socket.close(1008, "expected a message of depthwatt's page");
      return;
    }
    if (message.type === "login") this.#login(client, message.password);
    else if (!client.admitted) client.say({ type: "password", reason: "needed" });
    else if (message.type === "watch") {
      const device = message.device ?? this.#devices.keys().next().value;
      client.watch(device, message.streams);
      client.say({ type: "watching", device });
    } else if (message.type === "next") {
      client.credit();
      if (client.missed) {
        client.missed = false;
        this.#sendAll(client);
      }
    } else {
      const { control } = this.#options;
      const answer = control?.ask(message, this.#visitor(client)) ?? Promise.resolve(readOnly(message.id));
      void answer.then((said) => client.answer(said));
    }
  }

  #visitor(client: PageClient): Visitor {
    return this.#clients.get(client) ?? { who: "", local: false };
  }

  #login(client: PageClient, password: string): void {
    if (client.admitted) return;
    const found = this.#options.gate?.check(password, this.#visitor(client).who) ?? "right";
    client.admitted = found === "right";
    if (found === "right") this.#sendAll(client);
    else client.say({ type: "password", reason: found });
  }

  /** Everything that a page must know: for newcomers, and for those who missed something. */
  #sendAll(client: PageClient): void {
    client.say({ type: "source", ...this.#source });
    client.say({ type: "devices", devices: this.#entries() });
    for (const [device, { documents }] of this.#devices)
      for (const [type, document] of documents) client.say({ type, device, document });
    client.say({ type: "log", lines: this.#lines });
    const { control } = this.#options;
    if (control) client.say(control.describe(this.#visitor(client)));
  }

  #everybody(message: ToPage): void {
    for (const client of this.#clients.keys()) if (client.admitted) client.say(message);
  }

  #entries(): DeviceEntry[] {
    return [...this.#devices].map(([name, { documents }]) => {
      const said = documents.get("state") as StateDocument | undefined;
      return { name, state: said?.state ?? "unknown", reason: said?.reason ?? "" };
    });
  }

  /** @param alive whether the device has sent a frame or metrics just now */
  #device(name: string, alive: boolean): Known | undefined {
    let known = this.#devices.get(name);
    if (known === undefined) {
      if (this.#devices.size >= MAX_DEVICES && !this.#makeRoom(alive || this.watched(name))) return undefined;
      known = { documents: new Map(), aliveMs: Number.NEGATIVE_INFINITY };
      this.#devices.set(name, known);
      this.#everybody({ type: "devices", devices: this.#entries() });
    }
    if (alive) known.aliveMs = performance.now();
    return known;
  }

  /** Removes the name that has been silent longest, unless it is alive or a page shows it. @returns whether there is room */
  #makeRoom(allowed: boolean): boolean {
    if (!this.#crowded) {
      this.#crowded = true;
      this.log(
        "warn",
        `more than ${MAX_DEVICES} devices at this broker: only devices that send frames or metrics replace silent ones here; 'depthwatt fleet' lists all`,
      );
    }
    if (!allowed) return false;
    const since = performance.now() - ALIVE_MS;
    const silent = [...this.#devices]
      .filter(([name, { aliveMs }]) => aliveMs < since && !this.watched(name))
      .sort(([, a], [, b]) => (a.aliveMs < b.aliveMs ? -1 : a.aliveMs > b.aliveMs ? 1 : 0));
    return silent.length > 0 && this.#devices.delete(silent[0]![0]);
  }

  document(device: string, type: DocumentType, document: unknown): void {
    const known = this.#device(device, type === "metrics");
    if (known === undefined) return;
    known.documents.set(type, document);
    this.#everybody({ type, device, document });
    if (type !== "state") return;
    this.#everybody({ type: "devices", devices: this.#entries() });
    const { state } = Object(document) as Partial<StateDocument>;
    // The floor in front of the cameras may have changed since the last grid.
    if (known.documents.has("grid") && state !== "online" && state !== "degraded")
      this.document(device, "grid", STOPPED_GRID);
  }

  /** The broker that frames come from was found or lost. */
  source(connected: boolean, reason: string): void {
    this.#source = { connected, reason };
    this.#everybody({ type: "source", connected, reason });
  }

  log(level: LogLine["level"], text: string): void {
    const line = { timeMs: Date.now(), level, text };
    this.#lines.push(line);
    if (this.#lines.length > KEPT_LINES) this.#lines.shift();
    this.#everybody({ type: "log", lines: [line] });
  }

  /** Settings were changed, by any client. */
  controlChanged(): void {
    const { control } = this.#options;
    if (!control) return;
    for (const [client, visitor] of this.#clients) if (client.admitted) client.say(control.describe(visitor));
  }

  /** Returns the streams of this device that a page shows and is ready for; empty: the frame can be skipped. */
  wanted(device: string): ReadonlySet<PictureStream> {
    const streams = new Set<PictureStream>();
    this.#device(device, true);
    for (const client of this.#clients.keys()) {
      if (!client.watches(device)) continue;
      if (client.hasRoom) for (const stream of client.streams) streams.add(stream);
      else client.skip();
    }
    return streams;
  }

  /** Returns whether a page shows this device, ready for a frame or not. */
  watched(device: string): boolean {
    return [...this.#clients.keys()].some((client) => client.watches(device));
  }

  /** Sends whole messages, header and body, to those whom wanted() just counted. `settled` is called exactly once. */
  send(device: string, frames: ReadonlyMap<PictureStream, Uint8Array>, settled: () => void): void {
    let sending = 1;
    const one = () => {
      sending--;
      if (sending === 0) settled();
    };
    for (const client of this.#clients.keys()) {
      if (!client.watches(device) || !client.hasRoom) continue;
      sending++;
      const pieces = [...frames].filter(([stream]) => client.streams.has(stream)).map(([, frame]) => frame);
      client.sendFrames(device, pieces, one);
    }
    one();
  }

  #beats(): void {
    for (const client of this.#clients.keys()) {
      if (client.unanswered >= MAX_UNANSWERED) {
        client.socket.terminate();
        continue;
      }
      client.unanswered++;
      client.socket.ping();
      client.say({ type: "beat" });
    }
  }

  close(): void {
    clearInterval(this.#beat);
    for (const client of this.#clients.keys()) client.socket.close(1001, "depthwatt was stopped");
    this.#clients.clear();
  }
}

function readOnly(id: number): Extract<ToPage, { type: "answer" }> {
  const message = "Expected settings that can be changed from here, and control is off.";
  const hint = "Set control.enabled.";
  return { type: "answer", id, answer: { ok: false, code: "CONTROL_UNSUPPORTED", message, hint } };
}
