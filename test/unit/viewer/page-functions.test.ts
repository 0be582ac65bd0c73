// SPDX-License-Identifier: Apache-2.0
// Tests the functions behind the page's views by tables: documents of other programs, typed values, labels, measures, the orbit.
import { describe, expect, test, vi } from "vitest";
import {
  byKey,
  followPointers,
  moved,
  type OrbitState,
  START,
  scaleBar,
  screenAxes,
  turned,
  viewProjection,
  zoomed,
} from "../../../clients/page/cloud/orbit.js";
import { buildPoints, encodePly } from "../../../clients/page/cloud/points.js";
import {
  finiteNumber,
  listStages,
  member,
  numericEntries,
  parseCamera,
  unavailableReason,
} from "../../../clients/page/documents.js";
import { causeWords, isIntended } from "../../../clients/page/figures/causes.js";
import { chartsFrom, driftFrom } from "../../../clients/page/figures/charts.js";
import { parseSample } from "../../../clients/page/figures/history.js";
import type { FrameSet } from "../../../clients/page/frame-set.js";
import { colourise, hideUnsure, markFilled } from "../../../clients/page/picture/colourise.js";
import { eased, scalePosition, valueAt } from "../../../clients/page/picture/histogram.js";
import { areaFacts, distanceBetween } from "../../../clients/page/picture/measure.js";
import { numberKind, settingChoices, typedValue } from "../../../clients/page/settings/input-value.js";
import { groupLabel, settingLabel } from "../../../clients/page/settings/labels.js";

const DEPTH = { unitScale: 0.001, valueOffset: 0, invalidRule: "zero" } as const;
const CAMERA = { focalX: 100, focalY: 100, centreX: 2, centreY: 2 };

/** A set of one frame, 5 by 5. */
function frameSet(depth: readonly number[], confidence?: readonly number[]): FrameSet {
  const header = { ...DEPTH, width: 5, height: 5 };
  return {
    device: "cam",
    pictures: {
      depth: { header, counts: Uint16Array.from(depth) },
      ...(confidence && { confidence: { header, counts: Uint8Array.from(confidence) } }),
    },
    damaged: {},
    skipped: 0,
    bytes: 0,
  } as never;
}
const all = (value: number, count = 25) => Array.from({ length: count }, () => value);
const NONE = { ...frameSet([]), pictures: {} };
const WHOLE = { x: 0, y: 0, width: 5, height: 5 };

describe("documents", () => {
  test.each<[string, unknown, unknown]>([
    ["a number", finiteNumber(3), 3],
    ["an infinite number", finiteNumber(Number.POSITIVE_INFINITY), undefined],
    ["a number as text", finiteNumber("3"), undefined],
    ["an inherited member", member({}, "toString"), undefined],
    ["a member of a list", member([1], "0"), undefined],
    ["a reason", unavailableReason({ available: false, reason: "no sensor" }), "no sensor"],
    ["no reason", unavailableReason({ available: false, reason: "" }), undefined],
    ["a reason of something available", unavailableReason({ available: true, reason: "x" }), undefined],
    [
      "members that are numbers",
      numericEntries({ a: 1, b: "x", c: 2 }),
      [
        ["a", 1],
        ["c", 2],
      ],
    ],
    [
      "as many members as are wanted",
      numericEntries({ a: 1, b: 2, c: 3 }, 2),
      [
        ["a", 1],
        ["b", 2],
      ],
    ],
    ["no members", numericEntries("x"), []],
    ["no stages", listStages({ stages: [] }), []],
    ["no metrics", listStages(undefined), []],
    [
      "stages; a missing percentile is the one below",
      listStages({ stages: { match: { p50Ms: 2, p95Ms: 3 }, read: { p95Ms: 1 } } }),
      [["match", { p50Ms: 2, p95Ms: 3, p99Ms: 2 }]],
    ],
    ["a camera", parseCamera({ K: [100, 0, 2, 0, 100, 2, 0, 0, 1] }), CAMERA],
    ["a matrix that is none", parseCamera({ K: "x" }), undefined],
    ["a camera without a focal length", parseCamera({ K: [0, 0, 2, 0, 100, 2] }), undefined],
    ["a camera without a height", parseCamera({ K: [100, 0, 2, 0, 0, 2] }), undefined],
    ["a camera without a centre column", parseCamera({ K: [100, 0, "x", 0, 100, 2] }), undefined],
    ["a camera without a centre row", parseCamera({ K: [100, 0, 2, 0, 100] }), undefined],
    [
      "causes that are no losses",
      ["mqtt.rateLimit", "dutyCycle", "late"].map(isIntended),
      [true, true, false],
    ],
    ["a cause of a camera", causeWords("left.someNewCause"), "left camera: some new cause"],
    ["a cause of an unknown place", causeWords("drone.odd"), "drone: odd"],
    ["no drift", driftFrom({ drift: { days: [] } }), undefined],
  ])("%s", (_what, found, expected) => expect(found).toEqual(expected));

  test("drops are drawn by cause, the largest first, without those on purpose", () => {
    const samples = [0, 1].map((second) =>
      parseSample({ drops: { late: second, queueFull: 5 * second, "mqtt.rateLimit": 90 * second } }, second),
    );
    const lines = chartsFrom(samples).find(({ key }) => key === "drops")!.lines;
    expect(lines.map(({ values }) => values[1])).toEqual([5, 1]);
  });

  test("drift by day has a gap where a day's axis is unknown", () => {
    const days = [{ date: "2026-01-02", pitch: 0.1, yaw: "x", roll: 0 }, { pitch: 0.2 }];
    const { chart, seconds } = driftFrom({ drift: { days } })!;
    expect(seconds).toEqual([Date.parse("2026-01-02") / 1000, Number.NaN]);
    expect(chart.lines.map(({ values }) => values)).toEqual([
      [0.1, 0.2],
      [undefined, undefined],
      [0, undefined],
    ]);
  });
});

describe("settings", () => {
  const either = (...anyOf: object[]) => ({ anyOf });
  test.each<[string, unknown, unknown]>([
    ["choices of a list", settingChoices({ enum: ["a", 2, null] }), ["a", 2]],
    ["choices of a switch", settingChoices({ type: "boolean" }), [true, false]],
    [
      "one value or a switch",
      settingChoices(either({ const: "auto" }, { type: "boolean" })),
      ["auto", true, false],
    ],
    ["a value or any number", settingChoices(either({ const: "auto" }, { type: "number" })), undefined],
    ["a kind of number", numberKind({ type: "integer" }), "integer"],
    ["another kind", numberKind({ type: "number" }), "number"],
    ["no number", numberKind({ type: "string" }), undefined],
    ["a typed number", typedValue(either({ const: "auto" }, { type: "number" }), " 2.5 "), 2.5],
    [
      "a typed word where numbers fit",
      typedValue(either({ const: "auto" }, { type: "number" }), "auto"),
      "auto",
    ],
    ["an empty field is no 0", typedValue({ type: "number" }, " "), " "],
    ["digits of a text", typedValue({ type: "string" }, "12"), "12"],
    [
      "a label with its unit",
      settingLabel("health.maxCorrectionDegrees", "degrees"),
      "Maximum correction (degrees)",
    ],
    ["a label that ends in another unit's word", settingLabel("a.maxDegrees", "m"), "Maximum degrees (m)"],
    ["a label of one word", settingLabel("a.seconds", "s"), "Seconds (s)"],
    ["a label without a unit", settingLabel("match.sgm.armX", undefined), "Arm X"],
    ["a known group", groupLabel("outputs.mqtt"), "MQTT"],
    ["a group of a known one", groupLabel("outputs.mqtt.depth"), "MQTT: depth"],
    ["a matcher", groupLabel("match.sgm"), "Matcher sgm"],
    ["an unknown group", groupLabel("dutyCycle"), "Duty cycle"],
  ])("%s", (_what, found, expected) => expect(found).toEqual(expected));
});

describe("pictures", () => {
  const colours = Uint32Array.from({ length: 256 }, (_, i) => i + 1);
  const paint = { colours, range: { min: 0, max: 255 }, reversed: false };

  test("counts of floats are painted one by one, clamped; an invalid one stays transparent", () => {
    const out = new Uint32Array(4);
    const meaning = { unitScale: 1, valueOffset: 0, invalidRule: "nan" } as never;
    colourise(Float32Array.of(-9, 10, 999, Number.NaN), meaning, paint, new Uint32Array(), out);
    expect([...out]).toEqual([1, 11, 256, 0]);
    colourise(Float32Array.of(10), meaning, { ...paint, reversed: true }, new Uint32Array(), out);
    expect(out[0]).toBe(246);
    // A range of no width has a colour too.
    colourise(Float32Array.of(7), meaning, { ...paint, range: { min: 7, max: 7 } }, new Uint32Array(), out);
    expect(out[0]).toBe(1);
  });

  test("unsure pixels are hidden; filled ones are darkened in diagonals, those without a value are not", () => {
    const out = Uint32Array.from(all(0xffffffff, 12));
    out[6] = 0;
    markFilled(Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0]), 6, out);
    expect([...out].map((word) => word === 0xff7f7f7f)).toEqual(
      [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1].map(Boolean),
    );
    hideUnsure(Uint8Array.of(9, 10), 10, out);
    expect([out[0], out[1]]).toEqual([0, 0xff7f7f7f]);
  });

  test("a scale places values by their logarithm where it has one, and no handle leaves it", () => {
    const scale = { min: 0.1, max: 10, logarithmic: true };
    expect([0.01, 1, 100].map((value) => scalePosition(scale, value))).toEqual([0, 0.5, 1]);
    expect(valueAt(scale, 0.5)).toBeCloseTo(1, 9);
    expect(eased(undefined, { min: 1, max: 2 })).toEqual({ min: 1, max: 2 });
    expect(eased({ min: 0, max: 10 }, { min: 10, max: 20 }, 0.5)).toEqual({ min: 5, max: 15 });
  });
});

describe("measures", () => {
  test("a wall at two metres: shares, median, plane", () => {
    const facts = areaFacts(frameSet(all(2000), all(200)), WHOLE, CAMERA, 0)!;
    expect(facts).toMatchObject({ pixels: 25, valid: 1, matched: 1, medianMetres: 2, spreadMetres: 0 });
    expect(facts.plane!.distanceMetres).toBeCloseTo(2, 6);
  });

  test.each<[string, FrameSet, number, object]>([
    ["without confidence no pixel is unmatched", frameSet(all(2000)), 9, { valid: 1, matched: undefined }],
    [
      "confidence of another size is none",
      frameSet(all(2000), all(1, 4)),
      9,
      { valid: 1, matched: undefined },
    ],
    [
      "filled pixels are valid, not matched",
      frameSet(all(2000), all(0)),
      0,
      { valid: 1, matched: 0, plane: undefined },
    ],
    [
      "unsure pixels are not valid",
      frameSet(all(2000), all(8)),
      9,
      { valid: 0, matched: 0, medianMetres: Number.NaN },
    ],
    ["no depth at all", frameSet(all(0)), 0, { valid: 0, spreadMetres: Number.NaN }],
  ])("%s", (_what, set, least, expected) => {
    expect(areaFacts(set, WHOLE, CAMERA, least)).toMatchObject(expected);
    expect(areaFacts(set, WHOLE, undefined, least)!.plane).toBeUndefined();
  });

  const points = [
    { x: 0, y: 2 },
    { x: 4, y: 2 },
  ] as const;
  test.each<[string, FrameSet, typeof CAMERA | undefined, number | undefined]>([
    ["two points of a wall", frameSet(all(2000)), CAMERA, 0.08],
    ["points without depth", frameSet(all(0)), CAMERA, Number.NaN],
    ["no calibration", frameSet(all(2000)), undefined, undefined],
    ["no depth stream", NONE, CAMERA, undefined],
  ])("the ruler on %s", (_what, set, camera, expected) => {
    const distance = distanceBetween(set, points, camera, 0);
    expect(distance).toEqual(expected && expect.closeTo(expected, 9));
    if (set === NONE) expect(areaFacts(set, WHOLE, camera, 0)).toBeUndefined();
  });
});

describe("the point cloud", () => {
  const input = {
    depth: Uint16Array.of(1000, 0, 9000, 2000),
    meaning: DEPTH,
    width: 2,
    height: 2,
    camera: { ...CAMERA, centreX: 0, centreY: 0 },
    range: { min: 0.5, max: 5 },
  };
  test.each<[string, object, number[], number[]]>([
    ["points in range", {}, [0, 0, 1, 0.02, 0.02, 2], [255, 255]],
    ["with their grey", { grey: Uint8Array.of(7, 0, 0, 8) }, [0, 0, 1, 0.02, 0.02, 2], [7, 8]],
    ["without filled ones", { confidence: Uint8Array.of(0, 9, 9, 9) }, [0.02, 0.02, 2], [255]],
    ["of a subsampled frame", { reduction: 2 }, [0, 0, 1], [255]],
  ])("%s", (_what, rest, positions, greys) => {
    const points = buildPoints({ ...input, ...rest });
    expect([...points.positions].map((value) => Math.round(value * 1e6) / 1e6)).toEqual(positions);
    expect([...points.greys]).toEqual(greys);
    const file = encodePly(points);
    expect(new TextDecoder().decode(file)).toContain(`element vertex ${greys.length}\n`);
    expect(file.at(-1)).toBe(greys.at(-1));
  });

  test.each<[string, boolean, Partial<OrbitState>]>([
    ["ArrowLeft", false, { yaw: -0.08 }],
    ["ArrowRight", false, { yaw: 0.08 }],
    ["ArrowUp", false, { pitch: 0.08 }],
    ["ArrowDown", false, { pitch: -0.08 }],
    ["ArrowLeft", true, moved(START, 0.05, 0)],
    ["ArrowRight", true, moved(START, -0.05, 0)],
    ["ArrowUp", true, moved(START, 0, 0.05)],
    ["ArrowDown", true, moved(START, 0, -0.05)],
    ["+", false, { distance: 3 / 1.15 }],
    ["=", false, { distance: 3 / 1.15 }],
    ["-", false, { distance: 3 * 1.15 }],
    ["0", false, START],
  ])("the key %s (shift: %s) turns, moves or zooms", (key, shift, expected) => {
    expect(byKey(START, key, shift)).toEqual({ ...START, ...expected });
    expect(byKey(START, "x", shift)).toBeUndefined();
  });

  test("the orbit ends at the poles and at its nearest and farthest distance; a wide canvas shows more width", () => {
    expect(turned(START, 0, 9).pitch).toBeLessThan(Math.PI / 2);
    expect(turned(START, 0, -9).pitch).toBeGreaterThan(-Math.PI / 2);
    expect([zoomed(START, 1e9).distance, zoomed(START, 0).distance]).toEqual([200, 0.05]);
    expect(moved(START, 0.1, 0).target[0]).toBeLessThan(0);
    const [wide, tall] = [viewProjection(START, 2), viewProjection(START, 0.5)];
    expect([wide[0]! * 2, Math.abs(wide[5]!)]).toEqual([tall[0], Math.abs(tall[5]! * 2)]);
    expect(screenAxes(START)[0]).toEqual([1, expect.closeTo(0, 9)]);
    expect([0.9, 2, 5, 9].map((distance) => scaleBar({ ...START, distance }, 400, 150).metres)).toEqual([
      0.2, 0.5, 1, 2,
    ]);
  });

  test("pointers turn with one finger, move with shift or another button, pinch with two; the wheel zooms when chosen", () => {
    const element = Object.assign(new EventTarget(), {
      clientWidth: 200,
      clientHeight: 100,
      setPointerCapture: () => {},
    });
    const focus = { activeElement: undefined as unknown };
    vi.stubGlobal("document", focus);
    let state = START;
    const stop = followPointers(
      element as never,
      () => state,
      (next) => {
        state = next;
      },
    );
    const fire = (type: string, fields: object) => {
      state = START;
      const event = Object.assign(new Event(type, { cancelable: true }), fields);
      element.dispatchEvent(event);
      return event.defaultPrevented;
    };
    const at = (clientX: number, clientY: number, rest: object = {}) => ({
      pointerId: 1,
      clientX,
      clientY,
      ...rest,
    });
    fire("pointermove", at(0, 0));
    expect(state).toBe(START); // no button is down
    fire("pointerdown", at(0, 0));
    fire("pointermove", at(10, 20));
    expect(state).toEqual(turned(START, 3 * 0.1, 3 * 0.2));
    for (const held of [{ shiftKey: true }, { buttons: 2 }, { buttons: 4 }]) {
      fire("pointermove", at(20, 20, held));
      expect(state).toEqual(moved(START, 0.1, 0));
      fire("pointermove", at(10, 20, held));
    }
    fire("pointerdown", { ...at(10, 20), pointerId: 2 });
    fire("pointermove", { ...at(10, 60), pointerId: 2 });
    expect(state.distance).toBe(START.distance); // both fingers began at one place
    fire("pointermove", { ...at(10, 100), pointerId: 2 });
    expect(state.distance).toBeCloseTo(START.distance / 2, 9);
    fire("pointerup", { pointerId: 2 });
    fire("pointercancel", { pointerId: 1 });
    expect(fire("wheel", { deltaY: 1 })).toBe(false);
    expect(state).toBe(START);
    focus.activeElement = element;
    expect(fire("wheel", { deltaY: 1 })).toBe(true);
    expect(state.distance).toBeGreaterThan(START.distance);
    focus.activeElement = undefined;
    fire("wheel", { deltaY: -1, ctrlKey: true });
    expect(state.distance).toBeLessThan(START.distance);
    expect(fire("contextmenu", {})).toBe(true);
    stop();
    expect(fire("contextmenu", {})).toBe(false);
    vi.unstubAllGlobals();
  });
});
