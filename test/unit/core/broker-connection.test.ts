// SPDX-License-Identifier: Apache-2.0
// A connection to a broker without a broker and without waiting: the mqtt client and the clock are the test's own.
import { EventEmitter } from "node:events";
import mqtt from "mqtt";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  BrokerConnection,
  type BrokerStatus,
  type ConnectionOptions,
  uniqueClientId,
} from "../../../core/mqtt/connection.js";

/** A client, as far as the connection uses it. A destroyed stream closes the client, as it does in mqtt. */
class Client extends EventEmitter {
  connected = false;
  readonly stream = Object.assign(new EventEmitter(), {
    connecting: false,
    destroy: vi.fn(() => void this.emit("close")),
  });
  readonly end = vi.fn();

  accept() {
    this.connected = true;
    this.emit("connect", CONNACK);
  }

  /** The broker refuses with a code, or closes without one. */
  fail(code?: number | string) {
    if (code !== undefined) this.emit("error", Object.assign(new Error("refused"), { code }));
    else this.emit("close");
  }
}
const CONNACK = { cmd: "connack" };
const URL = "mqtt://user:secret@broker:1884";

let clients: Client[];
const connect = () => vi.mocked(mqtt.connect);
beforeEach(() => {
  vi.useFakeTimers();
  // Pauses vary by a tenth; this is the middle.
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  clients = [];
  vi.spyOn(mqtt, "connect").mockImplementation((() => {
    clients.push(new Client());
    return clients.at(-1);
  }) as unknown as typeof mqtt.connect);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function open(options: Partial<ConnectionOptions> = {}) {
  const statuses: BrokerStatus[] = [];
  const events = {
    onUp: vi.fn(),
    onDown: vi.fn(),
    onStatus: (status: BrokerStatus) => void statuses.push(status),
  };
  const connection = new BrokerConnection(
    { url: URL, protocolVersion: 4, clientId: "id", ...options },
    events,
  );
  /** The newest failure: the code that was found. */
  const found = () => statuses.at(-1)?.error?.context.found;
  return { connection, statuses, found, ...events };
}
const client = () => clients.at(-1)!;
const versions = () =>
  connect().mock.calls.map((call) => (call[1] as { protocolVersion: number }).protocolVersion);

/** Goes to the next attempt. @returns the pause before it, milliseconds */
function pause(): number {
  const [before, began] = [clients.length, performance.now()];
  while (clients.length === before && vi.getTimerCount() > 0) vi.advanceTimersToNextTimer();
  return performance.now() - began;
}

describe("options", () => {
  const common = {
    clientId: "id",
    clean: true,
    keepalive: 15,
    connectTimeout: 20_000,
    reconnectPeriod: 0,
    queueQoSZero: false,
    resubscribe: false,
    wsOptions: { perMessageDeflate: false },
  };

  test("of MQTT 5: packets of at most 1 MiB", () => {
    open({ protocolVersion: 5 });
    open({ protocolVersion: "auto", maximumPacketBytes: 77 });
    expect(connect().mock.calls).toStrictEqual([
      [URL, { ...common, protocolVersion: 5, properties: { maximumPacketSize: 1_048_576 } }],
      [URL, { ...common, protocolVersion: 5, properties: { maximumPacketSize: 77 } }],
    ]);
  });

  test("of MQTT 3.1.1, with a will and credentials", () => {
    const secrets = {
      username: "u",
      password: "p",
      ca: Uint8Array.of(1),
      cert: Uint8Array.of(2),
      key: Uint8Array.of(3),
    };
    open({ ...secrets, answerMs: 70, will: { topic: "t", payload: "bye" } });
    expect(connect().mock.calls).toStrictEqual([
      [
        URL,
        {
          ...common,
          ...secrets,
          protocolVersion: 4,
          connectTimeout: 140,
          will: { topic: "t", payload: "bye", qos: 1, retain: true },
        },
      ],
    ]);
  });
});

describe("an attempt", () => {
  test.each([
    [4, "3.1.1"],
    [5, "5"],
  ] as const)("of MQTT %i that is accepted", async (protocolVersion, name) => {
    const { connection, statuses, onUp, onDown } = open({ protocolVersion });
    client().accept();
    const status = { connected: true, reason: `connected to mqtt://broker:1884, MQTT ${name}` };
    expect(statuses).toEqual([status]);
    expect(await connection.firstAttempt).toEqual(status);
    expect(onUp.mock.calls).toEqual([[client(), protocolVersion, CONNACK]]);
    vi.advanceTimersByTime(60_000);
    expect(client().stream.destroy).not.toHaveBeenCalled();
    expect(onDown).not.toHaveBeenCalled();
  });

  test.each([
    [false, "NO_CONNACK"],
    [true, "ETIMEDOUT"],
  ])("without an answer in ten seconds, still connecting: %s", async (connecting, code) => {
    const { connection, statuses, found, onDown } = open();
    client().stream.connecting = connecting;
    vi.advanceTimersByTime(9999);
    expect(statuses).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(found()).toBe(code);
    expect(statuses).toHaveLength(1);
    expect(await connection.firstAttempt).toBe(statuses[0]);
    expect(statuses[0]).toEqual({
      connected: false,
      reason: statuses[0]!.error!.message,
      error: statuses[0]!.error,
    });
    expect(onDown).not.toHaveBeenCalled();
  });

  test("with another time for an answer", () => {
    const { found } = open({ answerMs: 70 });
    vi.advanceTimersByTime(69);
    expect(found()).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(found()).toBe("NO_CONNACK");
  });

  test("that is refused is closed, and its clock is stopped", () => {
    const { statuses, found } = open({ firstPauseMs: 60_000 });
    client().fail(5);
    expect(found()).toBe(5);
    expect(client().stream.destroy).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(20_000);
    client().emit("close");
    expect(statuses).toHaveLength(1);
    expect(client().stream.destroy).toHaveBeenCalledTimes(1);
  });

  test("whose answer is no MQTT", () => {
    const { found } = open();
    client().emit("error", new Error("parser"));
    expect(found()).toBe("NO_MQTT");
  });
});

describe("what ended a connection", () => {
  const up = (options: Partial<ConnectionOptions> = {}) => {
    const opened = open(options);
    client().accept();
    return opened;
  };

  test("an error without a code keeps its words, and closes nothing", () => {
    const { statuses, onDown } = up();
    client().emit("error", new Error("odd"));
    client().emit("error", Object.assign(new Error("later"), { code: 151 }));
    expect(client().stream.destroy).not.toHaveBeenCalled();
    client().emit("close");
    expect(statuses.at(-1)?.reason).toBe("the connection to mqtt://broker:1884 failed: odd");
    expect(onDown).toHaveBeenCalledTimes(1);
  });

  test.each([
    [undefined, undefined],
    [127, undefined],
    [128, 128],
    [142, 142],
  ])("a DISCONNECT with the code %s", (reasonCode, code) => {
    const { found, statuses } = up();
    client().emit("disconnect", { reasonCode });
    expect(client().stream.destroy).toHaveBeenCalledTimes(1);
    expect(statuses.at(-1)?.connected).toBe(false);
    expect(found()).toBe(code);
  });

  test("an error of the stream, and a broker that closes its side", () => {
    const { found } = up();
    client().stream.emit("error", { code: "ECONNRESET" });
    client().stream.emit("end");
    expect(client().stream.destroy).toHaveBeenCalledTimes(1);
    expect(found()).toBe("ECONNRESET");
  });

  /** The beginning of a PUBLISH whose remaining length is 2 MiB. */
  const large = Uint8Array.of(0x30, 0x80, 0x80, 0x80, 0x01);
  /** A remaining length of five bytes. */
  const endless = Uint8Array.of(0x30, 0xff, 0xff, 0xff, 0xff);

  test("a packet that is too large, in MQTT 5 alone", () => {
    const { found } = up({ protocolVersion: 5 });
    client().stream.emit("data", large);
    expect(found()).toBe("PACKET_TOO_LARGE");
    const old = up();
    client().stream.emit("data", large);
    expect(client().stream.destroy).not.toHaveBeenCalled();
    expect(old.statuses.at(-1)?.connected).toBe(true);
  });

  test("bytes that are no MQTT, before the broker's answer and after it", () => {
    const before = open();
    client().stream.emit("data", endless);
    expect(before.found()).toBe("NO_MQTT");
    const after = up();
    client().stream.emit("data", endless);
    expect(after.found()).toBe("PACKET_TOO_LARGE");
  });
});

describe("pauses between attempts", () => {
  test("of one second, doubled up to thirty, and of one second again after ten steady seconds", () => {
    open();
    const pauses = Array.from({ length: 7 }, () => {
      client().fail(3);
      return pause();
    });
    expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    client().accept();
    vi.advanceTimersByTime(9999);
    client().emit("close");
    expect(pause()).toBe(30_000);
    client().accept();
    vi.advanceTimersByTime(10_000);
    client().emit("close");
    expect(pause()).toBe(1000);
    expect(new Set(versions())).toEqual(new Set([4]));
  });

  test("as the options say, a tenth shorter or longer", () => {
    open({ firstPauseMs: 100, longestPauseMs: 150, steadyMs: 5 });
    const pauses = [0, 1, 0.5].map((random) => {
      vi.mocked(Math.random).mockReturnValue(random);
      client().fail(3);
      return pause();
    });
    expect(pauses).toEqual([90, 165, 150]);
    client().accept();
    vi.advanceTimersByTime(5);
    client().emit("close");
    expect(pause()).toBe(100);
  });
});

describe("versions", () => {
  test.each([[1], [132], [undefined]])("5 is refused with %s: 3.1.1 at once, and it stays", (code) => {
    const { statuses } = open({ protocolVersion: "auto" });
    client().fail(code);
    expect(versions()).toEqual([5, 4]);
    expect(statuses).toEqual([]);
    client().accept();
    client().emit("close");
    pause();
    expect(versions()).toEqual([5, 4, 4]);
    expect(statuses.map(({ connected }) => connected)).toEqual([true, false]);
  });

  test("both are refused: the next attempt begins with 5", () => {
    const { statuses } = open({ protocolVersion: "auto" });
    client().fail(1);
    client().fail(1);
    expect(statuses).toHaveLength(1);
    expect(pause()).toBe(1000);
    expect(versions()).toEqual([5, 4, 5]);
  });

  test("refused for another reason, or lost: 5 again, after a pause", () => {
    const { statuses } = open({ protocolVersion: "auto" });
    client().fail(3);
    expect(statuses).toHaveLength(1);
    pause();
    client().accept();
    client().emit("close");
    expect(versions()).toEqual([5, 5]);
    pause();
    expect(versions()).toEqual([5, 5, 5]);
  });

  test.each([4, 5] as const)("%i alone, if it is set", (protocolVersion) => {
    open({ protocolVersion });
    client().fail(1);
    pause();
    client().fail();
    pause();
    expect(versions()).toEqual(Array(3).fill(protocolVersion));
  });
});

describe("the end", () => {
  const CLOSED = { connected: false, reason: "closed" };

  test("between two attempts: no other follows", async () => {
    const { connection, statuses } = open();
    client().fail(3);
    await connection.end(100);
    expect(statuses.at(-1)).toEqual(CLOSED);
    vi.advanceTimersByTime(100_000);
    expect(clients).toHaveLength(1);
  });

  test("of a connection: says goodbye once, and cuts it only if the broker does not close it", async () => {
    const { connection, statuses, onDown } = open();
    client().accept();
    const ends = [connection.end(100), connection.end(1)];
    expect(client().end.mock.calls).toEqual([[false]]);
    vi.advanceTimersByTime(99);
    expect(client().stream.destroy).not.toHaveBeenCalled();
    expect(statuses).toHaveLength(1);
    client().emit("close");
    await Promise.all(ends);
    expect(statuses.at(-1)).toEqual(CLOSED);
    expect(onDown).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(100_000);
    expect(client().stream.destroy).not.toHaveBeenCalled();
    expect(clients).toHaveLength(1);
  });

  test("of an attempt under way: forced, and cut after the time that is granted", async () => {
    const { connection, statuses } = open();
    const end = connection.end(100);
    expect(client().end.mock.calls).toEqual([[true]]);
    vi.advanceTimersByTime(100);
    expect(client().stream.destroy).toHaveBeenCalledTimes(1);
    await end;
    expect(statuses).toEqual([CLOSED]);
    vi.advanceTimersByTime(100_000);
    expect(clients).toHaveLength(1);
  });
});

test("a client id has eight random characters", () => {
  vi.mocked(Math.random).mockRestore();
  const ids = Array.from({ length: 50 }, () => uniqueClientId("depthwatt"));
  for (const id of ids) expect(id).toMatch(/^depthwatt-[0-9a-z]{5,8}$/);
  expect(new Set(ids).size).toBe(50);
});
