// SPDX-License-Identifier: Apache-2.0
// The limits of the trial broker: what it retains, who keeps a place, and what a newcomer without one hears.
import { Duplex } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Guests } from "../../../edge/broker/guests.js";
import { RetainedLimit } from "../../../edge/broker/retained-limit.js";

test("retained messages are limited in number and in bytes, topics included; an empty one gives its room back", () => {
  const limit = new RetainedLimit(2, 20);
  const takes: [topic: string, payloadBytes: number, isTaken: boolean][] = [
    ["none", 0, true],
    ["a", 9, true],
    ["b", 10, false],
    ["b", 9, true],
    ["a", 10, false],
    ["a", 8, true],
    ["a", 9, true],
    ["c", 0, true],
    ["a", 1, true],
    ["c", 1, false],
    ["b", 0, true],
    ["b", 0, true],
    ["cc", 16, true],
    ["b", 1, false],
    ["a", 0, true],
    ["b", 1, true],
    ["b", 2, false],
  ];
  for (const [at, [topic, payloadBytes, isTaken]] of takes.entries())
    expect(limit.take(topic, payloadBytes), `${at}`).toBe(isTaken);
});

describe("guests", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  /** A connection whose other end is the test. */
  function connect() {
    const written: Buffer[] = [];
    const connection = new Duplex({
      read() {},
      write(bytes, _, done) {
        written.push(bytes);
        done();
      },
    });
    return { connection, answer: () => [...Buffer.concat(written)] };
  }
  const closed = (connection: Duplex) => new Promise<void>((done) => connection.once("close", () => done()));

  const full = (guests: Guests, ...connections: Duplex[]) => {
    for (const connection of connections) expect(guests.admit(connection)).toBe(true);
    expect(guests.count).toBe(connections.length);
  };

  test.each([
    ["that has not said who it is", 200, () => {}],
    ["that neither subscribes nor publishes", 5000, (guests: Guests, one: Duplex) => guests.useful(one)],
  ])("a place of a client %s is free after %i ms", (_, ms, prepare) => {
    const guests = new Guests(1, 1000);
    const [first, second, third] = [connect().connection, connect().connection, connect().connection];
    full(guests, first);
    prepare(guests, first);
    vi.advanceTimersByTime(ms);
    expect(guests.admit(second)).toBe(false);
    expect([guests.refused, first.destroyed]).toEqual([1, false]);
    vi.advanceTimersByTime(1);
    expect(guests.admit(third)).toBe(true);
    expect([guests.refused, guests.count, first.destroyed]).toEqual([1, 1, true]);
    expect(guests.of(third)).toMatchObject({ known: false, subscriptions: 0 });
  });

  test("a subscriber keeps its place, a publisher for 5 s, and of others the idlest goes", async () => {
    const guests = new Guests(3, 1000);
    const [subscriber, idle, idler, newcomer] = [0, 1, 2, 3].map(() => connect().connection);
    full(guests, subscriber!, idle!, idler!);
    for (const one of [subscriber, idle, idler]) guests.useful(one);
    guests.of(subscriber)!.subscriptions = 1;
    vi.advanceTimersByTime(100);
    guests.useful(idle);
    guests.useful({});
    vi.advanceTimersByTime(60_000);
    expect(guests.admit(newcomer!)).toBe(true);
    const places = [subscriber, idle, idler, newcomer].map((one) => guests.of(one) !== undefined);
    expect(places).toEqual([true, true, false, true]);
    // One that leaves gives its place back.
    const left = closed(idle!);
    idle!.destroy();
    await left;
    expect(guests.count).toBe(2);
  });

  const connectPacket = (version: number) =>
    Buffer.from([0x10, 13, 0, 4, ...Buffer.from("MQTT"), version, 2, 0, 60, 0, 0, 0]);

  test.each([
    ["MQTT 5", connectPacket(5), [0x20, 3, 0, 136, 0]],
    ["MQTT 3.1.1", connectPacket(4), [0x20, 2, 0, 3]],
    ["another protocol", Buffer.from("MQTT\u0005GET / HTTP/1.1"), [0x20, 2, 0, 3]],
    ["MQTT 5 too far behind", Buffer.from(`                MQTT\u0005`), [0x20, 2, 0, 3]],
  ])("a newcomer without a place that speaks %s is refused in its version", async (_, bytes, expected) => {
    const guests = new Guests(1, 1000);
    full(guests, connect().connection);
    const { connection, answer } = connect();
    expect(guests.admit(connection)).toBe(false);
    const ended = new Promise((done) => connection.once("finish", done));
    connection.push(bytes);
    await ended;
    expect(answer()).toEqual(expected);
  });

  test("a refused newcomer has 2 s to speak, and as many as there are places may be refused at a time", async () => {
    const guests = new Guests(1, 1000);
    full(guests, connect().connection);
    const [first, second, third] = [connect().connection, connect().connection, connect().connection];
    for (const one of [first, second]) expect(guests.admit(one)).toBe(false);
    expect([first.destroyed, second.destroyed]).toEqual([false, true]);
    const left = closed(first);
    vi.advanceTimersByTime(1999);
    expect(first.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect(first.destroyed).toBe(true);
    await left;
    // The guest that never said who it is has given way by then: another one takes the place.
    expect(guests.admit(connect().connection)).toBe(true);
    expect(guests.admit(third)).toBe(false);
    expect(third.destroyed).toBe(false);
  });

  test("a packet that is too large closes its connection before it is read", () => {
    const guests = new Guests(1, 10);
    const { connection } = connect();
    full(guests, connection);
    expect(connection.read()).toBeNull();
    const fits = Buffer.from([0x30, 8, 0, 1, 97, 0, 1, 2, 3, 4]);
    connection.push(fits);
    expect(connection.read()).toEqual(fits);
    connection.push(Buffer.from([0x30, 9, 0]));
    expect(connection.read()).toBeNull();
    expect(connection.destroyed).toBe(true);
  });
});
