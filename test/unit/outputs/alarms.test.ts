// SPDX-License-Identifier: Apache-2.0
// The states of an alarm by a set clock, and the text of its setting.
import { expect, onTestFinished, test } from "vitest";
import { loadConfig } from "../../../edge/config/index.js";
import { AlarmTopic } from "../../../edge/outputs/derived/alarm-topic.js";
import { Alarm, type AlarmRule, parseAlarms, renewAlarms } from "../../../edge/outputs/derived/alarms.js";
import { until } from "../../doubles/frames.js";
import { CONNECT, PUBLISH } from "../../doubles/scripted-broker.js";
import { startSideListener } from "../../doubles/side-listener.js";

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

test("alarms are published when one changes, after 10 s again, and expire at the broker", async () => {
  const broker = await startSideListener();
  onTestFinished(() => broker.close());
  let now = 0;
  const topic = new AlarmTopic({
    broker: broker.access,
    device: "rig",
    topic: "t",
    notice: () => {},
    nowMs: () => now,
  });
  onTestFinished(() => topic.close());
  topic.frame({ ahead: seen(1) });
  expect([topic.names, topic.states, topic.ready]).toEqual([[], {}, undefined]);
  const left = { ...RULE, zone: "left", metres: 2 };
  topic.configure([RULE, left], () => true, "max");
  await topic.ready;
  let count = 0;
  /** The next message, and that there is no other one. */
  const next = async (what: string) => {
    count++;
    await until(what, () => topic.sent.sent === count);
    expect(broker.heard).toHaveLength(count);
    const { topic: name, text, retained } = broker.heard.at(-1)!;
    expect([name, retained]).toEqual(["t", true]);
    return text === "" ? "" : JSON.parse(text);
  };
  const alarm = (metres: number, state: string, reason?: string) => ({
    state,
    metres,
    ...(reason && { reason }),
  });
  const document = (ahead: object, other: object) => ({
    timeMs: expect.any(Number),
    alarms: { ahead, left: other },
  });
  const [first, second] = ["no frame yet", "no frame yet"].map((why, i) =>
    alarm(1.5 + i / 2, "unknown", why),
  );
  expect(await next("the first state")).toEqual(document(first!, second!));
  topic.frame({ ahead: seen(1) });
  expect(await next("the change")).toEqual(
    document(alarm(1.5, "on"), alarm(2, "unknown", "the zone was not seen")),
  );
  expect(topic.states).toEqual({ ahead: "on", left: "unknown" });
  // Nothing changes in frames for 10 s.
  for (now = 1000; now < 10_000; now += 1000) topic.frame({ ahead: seen(1) });
  now = 9_999;
  topic.check();
  now = 10_000;
  topic.check();
  await next("the repetition");
  // The last frame was at 9 s: for 2 s that is no reason.
  now = 11_000;
  topic.check();
  now = 11_001;
  topic.check();
  const late = "no frame for 2 s";
  expect(await next("the late frame")).toEqual(
    document(alarm(1.5, "unknown", late), alarm(2, "unknown", late)),
  );
  // One frame in 2 s is expected: three times that is late.
  topic.configure([left], () => true, 0.5);
  await next("one alarm");
  topic.frame({ left: seen(3) });
  expect((await next("it is off")).alarms).toEqual({ left: alarm(2, "off") });
  now += 6_000;
  topic.check();
  now += 1;
  topic.check();
  expect((await next("the late frame")).alarms).toEqual({ left: alarm(2, "unknown", "no frame for 6 s") });
  const bytes = () => broker.packets.reduce((sum, packet) => sum + packet.payloadBytes, 0);
  expect(topic.sent).toEqual({ sent: count, bytes: bytes() });
  const connected = broker.packets.find(({ type }) => type === CONNECT)!.bytes.toString();
  expect(connected).toContain('{"available":false,"reason":"the device is not connected"}');
  // Message Expiry Interval, 30 s (MQTT 5 section 3.3.2.3.3).
  const published = broker.packets.filter(({ type }) => type === PUBLISH);
  for (const { bytes: packet } of published) expect(packet.includes(Buffer.of(5, 2, 0, 0, 0, 30))).toBe(true);
  topic.configure([], () => true, "max");
  expect(await next("the end")).toBe("");
  expect([topic.names, topic.sent.bytes]).toEqual([[], bytes()]);
});
