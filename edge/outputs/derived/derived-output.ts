// SPDX-License-Identifier: Apache-2.0
// Opens the output of measurements that are derived from depth.
import { makeTopics, type Topics } from "../../../core/frame/topics.js";
import type { ComputedFrame } from "../../contracts/computed-frame.js";
import type {
  BrokerAccess,
  FrameLease,
  Output,
  OutputContext,
  OutputCounters,
  OutputPicture,
} from "../../contracts/output.js";
import {
  floorTransformMessage,
  laserScanMessage,
  obstaclesMessage,
  occupancyGridMessage,
} from "../../mcap/floor-messages.js";
import { requireBroker, SideTopics } from "../../mqtt/side-topics.js";
import { RealtimeOffset } from "../mqtt/realtime-offset.js";
import { AlarmTopic } from "./alarm-topic.js";
import { parseAlarms, type ZoneReading } from "./alarms.js";
import { floorGeometry } from "./floor/engine-options.js";
import { type FloorView, Obstacles } from "./floor/obstacles.js";
import { packGrid } from "./floor/packed-grid.js";
import type { FloorGeometry } from "./floor/plane.js";
import { nearestIn, nearestScan, type ScanGeometry } from "./nearest.js";
import { parseZones, polygonSpans, type Span, type Zone } from "./polygon.js";
import { gridOver, planeFit, TemporalNoise } from "./quality.js";
import type { DerivedSettings } from "./settings.js";

/** Pixels of one frame that are looked at: beyond, only every second row, or third. */
const MAX_PIXELS = 320_000;
const NOISE_FRAMES = 40;
const SHOWN_EVERY_MS = 500;

const NO_DEPTH = { available: false, reason: "without a calibration there is no depth" } as const;
const missing = (reason: string) => ({ available: false, reason }) as const;
const round = (value: number, digits: number) => Number(value.toFixed(digits));

export async function openDerived(context: OutputContext<DerivedSettings>): Promise<Output> {
  const broker = requireBroker(
    context,
    "derived",
    "Set outputs.mqtt.broker to the broker that the topics shall go to.",
  );
  return new DerivedOutput(context, broker);
}

/** Buffers for one size and one set of settings. */
interface Prepared {
  width: number;
  height: number;
  zones: readonly (Zone & { spans: readonly Span[] })[];
  grid: ReturnType<typeof gridOver>;
  noise: TemporalNoise;
}

function zoneFigures(readings: Record<string, ZoneReading>, hasDepth: boolean): object {
  return Object.fromEntries(
    Object.entries(readings).map(([name, { nearestMetres, matchedShare, reason }]) => {
      if (!hasDepth) return [name, { nearestMetres: NO_DEPTH }];
      return [name, { nearestMetres: nearestMetres ?? missing(reason ?? ""), matchedShare }];
    }),
  );
}

class DerivedOutput implements Output {
  readonly ready: Promise<unknown>;
  readonly #side: SideTopics;
  readonly #topics: Topics;
  readonly #obstacles: Obstacles | undefined;
  readonly #alarms: AlarmTopic;
  readonly #offset = new RealtimeOffset();
  readonly #show: OutputContext<DerivedSettings>["showGrid"];
  #shownAtMs = Number.NEGATIVE_INFINITY;
  #settings: DerivedSettings;
  #picture: OutputPicture;
  #zones: readonly Zone[] = [];
  #prepared: Prepared | undefined;
  #noisePixels: number | undefined;
  #drops = 0;

  constructor(context: OutputContext<DerivedSettings>, broker: BrokerAccess) {
    const { base, device, notice } = context;
    this.#settings = context.settings;
    this.#picture = context;
    this.#topics = makeTopics(base, device);
    this.#show = context.showGrid;
    if (context.settings.floor !== "off") {
      this.#obstacles = new Obstacles(context.settings);
    }
    this.#side = new SideTopics({
      broker,
      name: `${device}-derived`,
      notice: (text) => notice(`derived: ${text}`),
    });
    this.#alarms = new AlarmTopic({
      broker,
      device,
      topic: this.#topics.alarms,
      notice: (text) => notice(`derived: ${text}`),
    });
    this.configure(context.settings, context);
    this.ready = Promise.all([this.#side.ready, this.#alarms.ready]);
  }

  /** Frames are offered while anything is on. */
  get streams(): readonly string[] {
    const { scan, quality, grid, gridBinary, gridRos } = this.#settings;
    return [
      ...(this.#obstacles === undefined
        ? []
        : [
            "floor",
            ...(grid ? ["grid"] : []),
            ...(gridBinary ? ["cells"] : []),
            ...(gridRos ? ["ros"] : []),
          ]),
      ...(this.#zones.length > 0 ? ["zones"] : []),
      ...(this.alarms.length > 0 ? ["alarms"] : []),
      ...(scan ? ["scan"] : []),
      ...(quality ? ["quality"] : []),
    ];
  }

  get zones(): readonly string[] {
    return this.#zones.map(({ name }) => name);
  }

  get alarms(): readonly string[] {
    return this.#alarms.names;
  }

  configure(settings: DerivedSettings, picture: OutputPicture): void {
    this.#settings = settings;
    this.#picture = picture;
    const parsed = settings.zones === undefined ? [] : parseZones(settings.zones);
    // The configuration was refused before it came here.
    const zones = typeof parsed === "string" ? [] : parsed;
    const corners = (all: readonly Zone[], name: string) =>
      JSON.stringify(all.find((one) => one.name === name));
    const before = this.#zones;
    this.#zones = zones;
    const rules = settings.alarms === undefined ? [] : parseAlarms(settings.alarms, this.zones);
    this.#alarms.configure(
      typeof rules === "string" ? [] : rules,
      (name) => corners(before, name) === corners(zones, name),
      settings.rateHz,
    );
    this.#prepared = undefined;
    this.#noisePixels = undefined;
  }

  #prepare({ width, height }: ComputedFrame): Prepared {
    const there = this.#prepared;
    if (there?.width === width && there.height === height) return there;
    const whole = this.#zones.map((zone) => ({ ...zone, spans: polygonSpans(zone.corners, width, height) }));
    const pixels = whole.reduce(
      (sum, zone) => zone.spans.reduce((all, { from, to }) => all + to - from, sum),
      0,
    );
    const step = Math.max(1, Math.ceil(pixels / MAX_PIXELS));
    const zones =
      step === 1
        ? whole
        : whole.map((zone) => ({ ...zone, spans: polygonSpans(zone.corners, width, height, step) }));
    const grid = gridOver(width, height, this.#settings.qualityWindow);
    this.#prepared = { width, height, zones, grid, noise: new TemporalNoise(grid, NOISE_FRAMES) };
    return this.#prepared;
  }

  frame(lease: FrameLease): void {
    const { frame } = lease;
    const messages: [topic: string, document: object][] = [];
    const bodies: [topic: string, body: Uint8Array][] = [];
    const { scan, quality } = this.#settings;
    try {
      const prepared = this.#prepare(frame);
      const head = { clock: frame.clock, leftTimestampNs: String(frame.leftTimestampNs) };
      if (this.#zones.length > 0) {
        const readings = this.#zoneReadings(frame, prepared);
        this.#alarms.frame(readings);
        messages.push([
          this.#topics.zones,
          { ...head, zones: zoneFigures(readings, this.#picture.hasDepth) },
        ]);
      }
      if (scan) messages.push([this.#topics.scan, { ...head, scan: this.#scanFigures(frame) }]);
      if (quality)
        messages.push([this.#topics.quality, { ...head, ...this.#qualityFigures(frame, prepared) }]);
      if (this.#obstacles !== undefined) {
        const { floor, grid } = this.#obstacles.documents(frame, this.#floorGeometry(frame));
        messages.push([this.#topics.floor, { ...head, floor }]);
        if (grid !== undefined) {
          messages.push([this.#topics.grid, { ...head, grid }]);
          this.#showGrid(grid);
          bodies.push(...this.#gridBodies(frame, this.#obstacles.view));
        }
      }
    } finally {
      lease.release();
    }
    const before = Object.values(this.#side.drops).reduce((sum, count) => sum + count, 0);
    for (const [topic, document] of messages) this.#side.send(topic, JSON.stringify(document));
    for (const [topic, body] of bodies) this.#side.sendBytes(topic, body, () => {});
    const after = Object.values(this.#side.drops).reduce((sum, count) => sum + count, 0);
    if (after === before) lease.sent();
    else this.#drops++;
  }

  /** Shows the grid on the live page, at a pace that people can read. */
  #showGrid(grid: object): void {
    const nowMs = performance.now();
    if (nowMs - this.#shownAtMs < SHOWN_EVERY_MS) return;
    this.#shownAtMs = nowMs;
    this.#show?.(grid);
  }

  #gridBodies(frame: ComputedFrame, view: FloorView): [topic: string, body: Uint8Array][] {
    const { gridBinary, gridRos } = this.#settings;
    const bodies: [string, Uint8Array][] = [];
    if (gridBinary)
      bodies.push([
        this.#topics.cells,
        packGrid({ ...frame, cellMetres: view.cellMetres }, view.cells, view.side),
      ]);
    if (!gridRos) return bodies;
    const stampNs = frame.leftTimestampNs + (this.#offset.of(frame.clock) ?? 0n);
    const topic = (name: string) => `${this.#topics.ros}/${name}`;
    bodies.push(
      [topic("grid"), occupancyGridMessage(view, stampNs)],
      [topic("grid_scan"), laserScanMessage(view.scan, view.side * view.cellMetres, stampNs)],
      [topic("obstacles"), obstaclesMessage(view, stampNs)],
    );
    if (view.pose !== undefined) bodies.push([topic("tf"), floorTransformMessage(view.pose, stampNs)]);
    return bodies;
  }

  #zoneReadings({ slot, width, height }: ComputedFrame, { zones }: Prepared): Record<string, ZoneReading> {
    const { minPixels } = this.#settings;
    const picture = { width, height, depthMillimetres: slot.depthMillimetres, confidence: slot.confidence };
    return Object.fromEntries(
      zones.map(({ name, spans }): [string, ZoneReading] => {
        if (!this.#picture.hasDepth) return [name, { matchedShare: 0, reason: NO_DEPTH.reason }];
        const { nearestMillimetres, pixels, matched } = nearestIn(picture, spans, minPixels);
        const matchedShare = pixels > 0 ? round(matched / pixels, 4) : 0;
        const reading =
          nearestMillimetres === undefined
            ? { reason: `fewer than ${minPixels} pixels of the zone were matched` }
            : { nearestMetres: nearestMillimetres / 1000 };
        return [name, { ...reading, matchedShare }];
      }),
    );
  }

  get #geometry(): ScanGeometry | undefined {
    const { rig, hasDepth } = this.#picture;
    if (rig === undefined || !hasDepth) return undefined;
    const { focalPixels, cx } = rig.rectification;
    return { focalPixels, centreX: cx };
  }

  #floorGeometry({ width, height }: ComputedFrame): FloorGeometry | undefined {
    const { rig, hasDepth } = this.#picture;
    if (rig === undefined || !hasDepth) return undefined;
    return floorGeometry(rig, width, height);
  }

  #scanFigures({ slot, width, height }: ComputedFrame): object {
    const geometry = this.#geometry;
    if (geometry === undefined) return NO_DEPTH;
    const { scanTop: top, scanBottom: bottom, scanRays: rays, scanMinPixels: minPixels } = this.#settings;
    const picture = { width, height, depthMillimetres: slot.depthMillimetres, confidence: slot.confidence };
    const { ranges, angleMin, angleMax, angleIncrement } = nearestScan(picture, geometry, {
      top,
      bottom,
      rays,
      minPixels,
    });
    return {
      angleMin: round(angleMin, 6),
      angleMax: round(angleMax, 6),
      angleIncrement: round(angleIncrement, 8),
      rangeMax: 65.535,
      // As JSON has no NaN: null is a ray that saw nothing.
      ranges: ranges.map((range) => (range === undefined ? null : round(range, 3))),
    };
  }

  #qualityFigures({ slot, result, width, height }: ComputedFrame, { grid, noise }: Prepared): object {
    const picture = { width, height, disparityQ4: slot.disparityQ4, confidence: slot.confidence };
    const fit = planeFit(picture, grid);
    const full = noise.add(picture);
    if (full !== undefined) this.#noisePixels = full;
    return {
      matchedShare: round(result.matchedPixels / (width * height), 4),
      validShare: round(result.validPixels / (width * height), 4),
      plane:
        fit === undefined
          ? missing("too few pixels of the window were matched")
          : {
              rmsPixels: round(fit.rmsPixels, 4),
              inlierShare: round(fit.inlierShare, 4),
              disparityPixels: round(fit.disparityPixels, 3),
            },
      temporalNoisePixels:
        this.#noisePixels === undefined
          ? missing(`needs ${NOISE_FRAMES} frames`)
          : Number.isNaN(this.#noisePixels)
            ? missing(`no pixel was matched in all ${NOISE_FRAMES} frames`)
            : round(this.#noisePixels, 4),
    };
  }

  counters(): OutputCounters {
    const { sent, bytes, drops, connected } = this.#side;
    const alarms = this.#alarms.sent;
    const states = this.alarms.length > 0 && { alarms: this.#alarms.states };
    return {
      sent: sent + alarms.sent,
      bytes: bytes + alarms.bytes,
      drops: this.#drops > 0 ? { notSent: this.#drops } : {},
      details: { connected, messageDrops: { ...drops }, ...states },
    };
  }

  async close(): Promise<void> {
    await Promise.all([this.#side.close(), this.#alarms.close()]);
  }
}
