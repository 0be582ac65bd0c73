// SPDX-License-Identifier: Apache-2.0
// Alarms of zones: on, off or unknown. A zone that was not seen is never off.

/** One alarm of the setting outputs.derived.alarms. */
export interface AlarmRule {
  zone: string;
  /** The alarm is on while something is as near or nearer. */
  metres: number;
  /** The alarm stays on for this long after the last near frame. */
  holdSeconds: number;
  /** An alarm that is on ends beyond `metres` plus this distance. */
  hysteresisMetres: number;
  /** Share of the zone's pixels that must be matched before the alarm can be off. */
  leastShare: number;
}

/** A zone in one frame. */
export interface ZoneReading {
  nearestMetres?: number;
  matchedShare: number;
  /** Why `nearestMetres` is missing. */
  reason?: string;
}

export type AlarmState = { state: "on" | "off" } | { state: "unknown"; reason: string };

const OPTIONS: Record<string, { key: keyof AlarmRule; default: number; min: number; max: number }> = {
  hold: { key: "holdSeconds", default: 1, min: 0, max: 3600 },
  hysteresis: { key: "hysteresisMetres", default: 0.1, min: 0, max: 10 },
  seen: { key: "leastShare", default: 0.2, min: 0.01, max: 1 },
};
const MAX_METRES = 65;
const numberFrom = (text: string) => (/^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN);

/**
 * Parses "ZONE METRES hold=S hysteresis=M seen=SHARE; ...".
 *
 * @returns the alarms, or the error: expected ..., got ...
 */
export function parseAlarms(text: string, zones: readonly string[]): AlarmRule[] | string {
  const rules: AlarmRule[] = [];
  for (const part of text.split(";")) {
    const [zone = "", distance = "", ...options] = part.trim().split(/\s+/);
    if (!zones.includes(zone))
      return `expected the name of a zone before each alarm, got ${JSON.stringify(zone)}`;
    if (rules.some((rule) => rule.zone === zone))
      return `expected one alarm for each zone, got ${zone} twice`;
    const metres = numberFrom(distance);
    if (!(metres > 0 && metres <= MAX_METRES))
      return `expected a distance from 0 to ${MAX_METRES} m in the alarm ${zone}, got ${JSON.stringify(distance)}`;
    const values = Object.fromEntries(Object.values(OPTIONS).map((option) => [option.key, option.default]));
    for (const option of options) {
      const [word = "", value = ""] = option.split("=", 2);
      const known = Object.hasOwn(OPTIONS, word) ? OPTIONS[word] : undefined;
      if (known === undefined)
        return `expected ${Object.keys(OPTIONS).join("=, ")}= in the alarm ${zone}, got ${option}`;
      const number = numberFrom(value);
      if (!(number >= known.min && number <= known.max))
        return `expected ${word} from ${known.min} to ${known.max} in the alarm ${zone}, got ${option}`;
      values[known.key] = number;
    }
    rules.push({ zone, metres, ...values } as AlarmRule);
  }
  return rules;
}

const unknown = (reason: string): AlarmState => ({ state: "unknown", reason });

/** The state of one alarm. All times are of one clock that never goes back, in milliseconds. */
export class Alarm {
  readonly rule: AlarmRule;
  #state: AlarmState = unknown("no frame yet");
  /** Set by a near frame; cleared by a frame that shows the zone free. */
  #triggered = false;
  #lastNearMs = Number.NEGATIVE_INFINITY;

  constructor(rule: AlarmRule) {
    this.rule = rule;
  }

  get state(): AlarmState {
    return this.#state;
  }

  frame(nowMs: number, { nearestMetres, matchedShare, reason = "the zone was not seen" }: ZoneReading): void {
    const { metres, hysteresisMetres, leastShare } = this.rule;
    const limit = this.#triggered ? metres + hysteresisMetres : metres;
    if (nearestMetres !== undefined && nearestMetres <= limit) {
      this.#triggered = true;
      this.#lastNearMs = nowMs;
      this.#state = { state: "on" };
    } else if (this.#held(nowMs)) {
      // The alarm is still on.
    } else if (nearestMetres === undefined) {
      this.#state = unknown(reason);
    } else if (matchedShare < leastShare) {
      this.#state = unknown(`less than ${leastShare} of the zone was matched`);
    } else {
      this.#triggered = false;
      this.#state = { state: "off" };
    }
  }

  /** Without frames, the alarm stays on until its hold time is over, and is unknown then. */
  noFrame(nowMs: number, reason: string): void {
    if (!this.#held(nowMs)) this.#state = unknown(reason);
  }

  #held(nowMs: number): boolean {
    return this.#triggered && nowMs - this.#lastNearMs < this.rule.holdSeconds * 1000;
  }
}

/** Keeps alarms whose rule and zone did not change. */
export function renewAlarms(
  before: readonly Alarm[],
  rules: readonly AlarmRule[],
  sameZone: (name: string) => boolean,
): Alarm[] {
  return rules.map((rule) => {
    const kept = before.find(({ rule: old }) => JSON.stringify(old) === JSON.stringify(rule));
    return kept !== undefined && sameZone(rule.zone) ? kept : new Alarm(rule);
  });
}
