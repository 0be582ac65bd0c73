// SPDX-License-Identifier: Apache-2.0
// How a person wants to see things; remembered by the browser, never sent anywhere.
import { useEffect, useState } from "preact/hooks";
import { COLOUR_MAPS, type ColourMapName } from "./picture/colour-maps.js";
import type { Range } from "./picture/colourise.js";

export type Quantity = "depth" | "disparity" | "confidence";

export interface Options {
  theme: "auto" | "light" | "dark";
  view: "picture" | "cloud";
  side: "figures" | "plots" | "settings" | "log";
  layout: "side" | "blend" | "left" | "value";
  quantity: Quantity;
  map: ColourMapName;
  blend: number;
  grid: boolean;
  zones: boolean;
  filled: boolean;
  /** Pixels with a lower confidence are hidden, 0 to 255. */
  minConfidence: number;
  autoRange: boolean;
  ranges: Record<Quantity, Range>;
  cloudColour: "image" | "height" | "depth";
  /** Filled pixels are points too. */
  cloudFilled: boolean;
  cloudAxes: boolean;
  pointSize: number;
  plotSeconds: number;
}

const DEFAULTS: Options = {
  theme: "auto",
  view: "picture",
  side: "figures",
  layout: "side",
  quantity: "depth",
  map: "turbo",
  blend: 0.6,
  grid: false,
  zones: true,
  filled: true,
  minConfidence: 0,
  autoRange: true,
  ranges: { depth: { min: 0.5, max: 10 }, disparity: { min: 0, max: 64 }, confidence: { min: 0, max: 255 } },
  cloudColour: "image",
  cloudFilled: true,
  cloudAxes: true,
  pointSize: 1.3,
  plotSeconds: 60,
};
const KEY = "depthwatt.options";

function remembered(): Options {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Options>;
    const kept = Object.entries(found).filter(
      ([name, value]) => typeof value === typeof DEFAULTS[name as keyof Options],
    );
    const options = { ...DEFAULTS, ...Object.fromEntries(kept) };
    return COLOUR_MAPS.includes(options.map) ? options : { ...options, map: "turbo" };
  } catch {
    return DEFAULTS;
  }
}

let options = remembered();
const listeners = new Set<() => void>();

export const currentOptions = (): Options => options;

export function setOptions(patch: Partial<Options>): void {
  options = { ...options, ...patch };
  try {
    localStorage.setItem(KEY, JSON.stringify(options));
  } catch {
    // A browser that remembers nothing shows the defaults next time.
  }
  for (const listener of listeners) listener();
}

export function onOptions(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useOptions(): Options {
  const [value, setValue] = useState(options);
  useEffect(() => onOptions(() => setValue(options)), []);
  return value;
}
