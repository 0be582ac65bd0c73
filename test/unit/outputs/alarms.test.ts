// SPDX-License-Identifier: Apache-2.0
// The states of an alarm by a set clock, and the text of its setting.
import { expect, test } from "vitest";
import { loadConfig } from "../../../edge/config/index.js";
import { Alarm, type AlarmRule, parseAlarms, renewAlarms } from "../../../edge/outputs/derived/alarms.js";

const RULE: AlarmRule = {
  zone: "ahead",
  metres: 1.5,
  holdSeconds: 1,
  hysteresisMetres: 0.2,
  leastShare: 0.2,
};
const seen = (nearestMetres: number, matchedShare = 0.9) => ({ nearestMetres, matchedShare });
const UNSEEN = { matchedShare: 0.001, reason: "fewer than 30 pixels of the zone were matched" };

/** The state after each reading; `null`: no frame came. */
function states(...steps: [atMs: number, reading: Parameters<Alarm["frame"]>[1] | null][]): string[] {
  const alarm = new Alarm(RULE);
  return steps.map(([atMs, reading]) => {
    if (reading === null) alarm.noFrame(atMs, "no frame for 2 s");
    else alarm.frame(atMs, reading);
    return alarm.state.state;
  });
}

test("is unknown until a frame has shown the zone", () => {
  const alarm = new Alarm(RULE);
  expect(alarm.state).toEqual({ state: "unknown", reason: "no frame yet" });
  alarm.frame(0, UNSEEN);
  expect(alarm.state).toEqual({ state: "unknown", reason: UNSEEN.reason });
  alarm.frame(1, seen(3));
  expect(alarm.state).toEqual({ state: "off" });
  alarm.frame(2, seen(3, 0.1));
  expect(alarm.state).toEqual({ state: "unknown", reason: "less than 0.2 of the zone was matched" });
});

test("turns on at its distance, and off beyond the hysteresis when the hold time is over", () => {
  expect(
    states(
      [0, seen(1.51)],
      [100, seen(1.5)],
      [200, seen(3)],
      [1099, seen(3)],
      [1100, seen(3)],
      [1200, seen(1.6)],
    ),
  ).toEqual(["off", "on", "on", "on", "off", "off"]);
});

test("within the hysteresis it stays on for as long as that lasts", () => {
  expect(states([0, seen(1.4)], [5000, seen(1.7)], [5999, seen(1.71)], [6000, seen(1.71)])).toEqual([
    "on",
    "on",
    "on",
    "off",
  ]);
});

test("depth that is lost makes it unknown after the hold time, never off, and keeps the hysteresis", () => {
  expect(
    states([0, seen(1)], [999, UNSEEN], [1000, UNSEEN], [1100, seen(1.65)], [2100, seen(1.65, 0.19)]),
  ).toEqual(["on", "on", "unknown", "on", "on"]);
  expect(states([0, seen(3)], [10, UNSEEN], [20, seen(1.6)])).toEqual(["off", "unknown", "off"]);
});

test("a zone of which too little was matched is not free, but a near object in it counts", () => {
  expect(states([0, seen(3, 0.19)], [10, seen(3, 0.2)], [20, seen(1, 0.01)])).toEqual([
    "unknown",
    "off",
    "on",
  ]);
});

test("without frames it is unknown, after the hold time of one that was on", () => {
  expect(states([0, seen(3)], [2000, null])).toEqual(["off", "unknown"]);
  expect(states([0, seen(1)], [999, null], [1000, null], [1001, seen(3)])).toEqual([
    "on",
    "on",
    "unknown",
    "off",
  ]);
});

test("a changed rule or zone begins as unknown; the others keep their state", () => {
  const [kept, changed, moved] = ["a", "b", "c"].map((zone) => new Alarm({ ...RULE, zone }));
  for (const alarm of [kept!, changed!, moved!]) alarm.frame(0, seen(1));
  const rules = [kept!.rule, { ...changed!.rule, metres: 2 }, moved!.rule];
  const after = renewAlarms([kept!, changed!, moved!], rules, (name) => name !== "c");
  expect(after.map(({ state }) => state.state)).toEqual(["on", "unknown", "unknown"]);
});

test("the setting gives distance, hold time, hysteresis and the share that must be seen", () => {
  expect(
    parseAlarms("ahead 1.5; left .8 hold=0 hysteresis=0.25 seen=0.5", ["left", "ahead", "right"]),
  ).toEqual([
    { ...RULE, hysteresisMetres: 0.1 },
    { zone: "left", metres: 0.8, holdSeconds: 0, hysteresisMetres: 0.25, leastShare: 0.5 },
  ]);
  expect(parseAlarms("a 65 hold=3600 hysteresis=10 seen=1", ["a"])).toEqual([
    { zone: "a", metres: 65, holdSeconds: 3600, hysteresisMetres: 10, leastShare: 1 },
  ]);
  expect(parseAlarms("a .001 hysteresis=0 seen=0.01", ["a"])).toMatchObject([
    { metres: 0.001, hysteresisMetres: 0, leastShare: 0.01 },
  ]);
});

test.each([
  ["behind 1", 'expected the name of a zone before each alarm, got "behind"'],
  ["", 'expected the name of a zone before each alarm, got ""'],
  ["ahead 1; ahead 2", "expected one alarm for each zone, got ahead twice"],
  ["ahead", 'expected a distance from 0 to 65 m in the alarm ahead, got ""'],
  ["ahead 0", 'expected a distance from 0 to 65 m in the alarm ahead, got "0"'],
  ["ahead 66", 'expected a distance from 0 to 65 m in the alarm ahead, got "66"'],
  ["ahead NaN", 'expected a distance from 0 to 65 m in the alarm ahead, got "NaN"'],
  ["ahead -1", 'expected a distance from 0 to 65 m in the alarm ahead, got "-1"'],
  ["ahead 1 hold=", "expected hold from 0 to 3600 in the alarm ahead, got hold="],
  ["ahead 1 hold=3601", "expected hold from 0 to 3600 in the alarm ahead, got hold=3601"],
  ["ahead 1 hysteresis=1e9", "expected hysteresis from 0 to 10 in the alarm ahead, got hysteresis=1e9"],
  ["ahead 1 seen=0", "expected seen from 0.01 to 1 in the alarm ahead, got seen=0"],
  ["ahead 1 seen=1.01", "expected seen from 0.01 to 1 in the alarm ahead, got seen=1.01"],
  ["ahead 1 hysteresis=10.1", "expected hysteresis from 0 to 10 in the alarm ahead, got hysteresis=10.1"],
  ["ahead 65.1", 'expected a distance from 0 to 65 m in the alarm ahead, got "65.1"'],
  ["ahead 1 after=2", "expected hold=, hysteresis=, seen= in the alarm ahead, got after=2"],
  ["ahead 1 constructor=2", "expected hold=, hysteresis=, seen= in the alarm ahead, got constructor=2"],
])("the alarms %j are refused", (alarms, text) => {
  expect(parseAlarms(alarms, ["ahead"])).toBe(text);
  if (alarms === "") return;
  const set = ["outputs.derived.enabled=true", `outputs.derived.alarms=${alarms}`];
  expect(() => loadConfig({ set, environment: {} })).toThrow(`outputs.derived.alarms (from --set): ${text}`);
});

test("a zone cannot be removed while it has an alarm", () => {
  const set = ["outputs.derived.alarms=ahead 1", "outputs.derived.zones=left 0,0 1,0 1,1"];
  expect(() => loadConfig({ set, environment: {} })).toThrow('got "ahead"');
});
