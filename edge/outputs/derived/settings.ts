// SPDX-License-Identifier: Apache-2.0
// Defines the settings of measurements that are derived from depth.
import { z } from "zod";
import type { BrokenSetting } from "../../contracts/broken-setting.js";
import { type Exact, section, setting } from "../../contracts/setting.js";
import { parseAlarms } from "./alarms.js";
import { parseZones } from "./polygon.js";

const share = z.number().min(0).max(1);

export const derivedSettings = section(
  "Small topics derived from depth, at the broker of outputs.mqtt: zones, alarms, scan, quality, floor, grid.",
  {
    enabled: setting(z.boolean(), {
      default: false,
      takesEffect: "restart",
      description: "Publishes measurements that are derived from depth.",
    }),
    rateHz: setting(z.union([z.literal("max"), z.number().min(0.01).max(1000)]), {
      default: 10,
      unit: "Hz",
      description: "Frames a second that are looked at, at most; max is all of them.",
    }),
    zones: setting(z.string().max(4000).optional(), {
      default: "ahead 0.25,0.2 0.75,0.2 0.75,0.8 0.25,0.8",
      description:
        "Polygons whose nearest distance is published, NAME x,y x,y x,y; NAME ... in shares of the picture; empty: none.",
    }),
    alarms: setting(z.string().max(2000).optional(), {
      description:
        "Alarms of zones, ZONE METRES; ZONE METRES hold=S hysteresis=M seen=SHARE; on while something is that near.",
    }),
    minPixels: setting(z.int().min(1).max(100_000), {
      default: 30,
      unit: "px",
      description: "Matched pixels that must be at a distance or nearer before a zone says it.",
    }),
    scan: setting(z.boolean(), {
      default: false,
      description: "Publishes the nearest distance by angle, as a laser scanner would see it.",
    }),
    scanTop: setting(share, {
      default: 0.4,
      description: "Where the rows of the scan begin, share of the height.",
    }),
    scanBottom: setting(share, { default: 0.6, description: "Where they end." }),
    scanRays: setting(z.int().min(1).max(4096), { default: 64, description: "Angles of the scan." }),
    scanMinPixels: setting(z.int().min(1).max(64), {
      default: 4,
      unit: "px",
      description: "Matched pixels that must be at a distance or nearer before a ray says it.",
    }),
    quality: setting(z.boolean(), {
      default: false,
      description: "Publishes share of matched pixels, residual of a plane, and noise over 40 frames.",
    }),
    qualityWindow: setting(z.number().min(0.05).max(1), {
      default: 0.5,
      description: "Side of the window in the middle that a plane is fitted to, share of the picture.",
    }),
    floor: setting(z.enum(["off", "auto", "set"]), {
      default: "off",
      takesEffect: "restart",
      description:
        "Publishes the floor: auto estimates it; set takes floorHeightMetres, floorTiltDegrees, floorRollDegrees.",
    }),
    floorHeightMetres: setting(z.number().min(0.05).max(10), {
      default: 1,
      unit: "m",
      takesEffect: "restart",
      description: "Height of the left camera above the floor, with floor set.",
    }),
    floorTiltDegrees: setting(z.number().min(-30).max(80), {
      default: 0,
      unit: "degrees",
      takesEffect: "restart",
      description: "How far the cameras look down, with floor set.",
    }),
    floorRollDegrees: setting(z.number().min(-26).max(26), {
      default: 0,
      unit: "degrees",
      takesEffect: "restart",
      description: "How far the right side of the cameras is lower, with floor set.",
    }),
    grid: setting(z.boolean(), {
      default: false,
      takesEffect: "restart",
      description: "Publishes obstacles, drop-offs and free floor as cells; needs floor auto or set.",
    }),
    gridBinary: setting(z.boolean(), {
      default: false,
      takesEffect: "restart",
      description: "Publishes the grid as bytes too, a quarter of the size.",
    }),
    gridRos: setting(z.boolean(), {
      default: false,
      takesEffect: "restart",
      description:
        "Publishes the grid as ROS messages too: OccupancyGrid, LaserScan, PointCloud2, TFMessage.",
    }),
    gridMetres: setting(z.number().min(0.5).max(20), {
      default: 5,
      unit: "m",
      takesEffect: "restart",
      description: "Side of the grid.",
    }),
    gridCellMetres: setting(z.number().min(0.02).max(1), {
      default: 0.05,
      unit: "m",
      takesEffect: "restart",
      description: "Side of a cell.",
    }),
    obstacleMetres: setting(z.number().min(0.01).max(2), {
      default: 0.05,
      unit: "m",
      takesEffect: "restart",
      description:
        "Height above the floor from which on something is an obstacle; grows with the stereo error.",
    }),
    dropMetres: setting(z.number().min(0.01).max(2), {
      default: 0.08,
      unit: "m",
      takesEffect: "restart",
      description: "Depth below the floor from which on it is a drop-off; grows with the stereo error.",
    }),
  },
  "live",
);

export type DerivedSettings = Exact<z.infer<typeof derivedSettings>>;

export function brokenDerived(settings: DerivedSettings): BrokenSetting[] {
  const { zones, scanTop, scanBottom } = settings;
  const broken: BrokenSetting[] = [];
  if (settings.grid && settings.floor === "off")
    broken.push({ keys: ["grid", "floor"], text: "expected floor auto or set with a grid, got off" });
  for (const key of ["gridBinary", "gridRos"] as const)
    if (settings[key] && !settings.grid)
      broken.push({ keys: [key, "grid"], text: `expected grid true with ${key}, got false` });
  if (settings.gridCellMetres > settings.gridMetres)
    broken.push({
      keys: ["gridCellMetres", "gridMetres"],
      text: `expected gridCellMetres of at most gridMetres, got ${settings.gridCellMetres} and ${settings.gridMetres}`,
    });
  const parsed = zones === undefined ? [] : parseZones(zones);
  if (typeof parsed === "string") broken.push({ keys: ["zones"], text: parsed });
  else if (settings.alarms !== undefined) {
    const names = parsed.map(({ name }) => name);
    const alarms = parseAlarms(settings.alarms, names);
    if (typeof alarms === "string") broken.push({ keys: ["alarms"], text: alarms });
  }
  if (scanTop >= scanBottom)
    broken.push({
      keys: ["scanTop", "scanBottom"],
      text: `expected scanTop below scanBottom, got ${scanTop} and ${scanBottom}`,
    });
  return broken;
}
