// SPDX-License-Identifier: Apache-2.0
// Tests what a reason code of a broker or an error code of Node becomes: an error code of ours and the hint that belongs to it.
import { expect, test } from "vitest";
import {
  brokerName,
  refusedProtocol,
  refusedSubscription,
  translateBrokerError,
} from "../../../core/mqtt/broker-errors.js";

const URL = "mqtt://user:secret@broker:1884/?token=secret";

test.each<[codes: (number | string)[], code: string, hint: RegExp]>([
  [[1, 132], "BROKER_REFUSED", /protocolVersion/],
  [[2, 133], "BROKER_REFUSED", /client ids/],
  [[3, 136, 137, 159], "BROKER_UNREACHABLE", /automatically/],
  [[4, 134], "BROKER_REFUSED", /passwordFile/],
  [[5, 135, 140], "BROKER_REFUSED", /access list/],
  [[138], "BROKER_REFUSED", /ban/],
  [[139], "BROKER_UNREACHABLE", /automatically/],
  [[142], "BROKER_UNREACHABLE", /--device/],
  [[149], "BROKER_REFUSED", /packet limit/],
  [[151], "BROKER_REFUSED", /quota/],
  [[152], "BROKER_REFUSED", /Ask/],
  [[154], "BROKER_REFUSED", /retain_available/],
  [[155], "BROKER_REFUSED", /max_qos/],
  [[6, 128, 131, 153, 160], "BROKER_UNREACHABLE", /log/],
  [["ENOTFOUND", "EAI_AGAIN"], "BROKER_UNREACHABLE", /DNS/],
  [["EPROTO"], "BROKER_REFUSED", /8883/],
])("the codes %j are %s with the hint %s", (codes, code, hint) => {
  for (const found of codes)
    for (const wasUp of [false, true]) {
      const error = translateBrokerError({ code: found }, URL, wasUp);
      expect(error).toMatchObject({ code, hint: expect.stringMatching(hint) });
      expect(error.context).toEqual({ broker: "mqtt://broker:1884", found });
    }
});

test("a code that is not known is in the sentence, and when the broker sent it", () => {
  const sentence = (wasUp: boolean) => translateBrokerError({ code: 153 }, URL, wasUp).message;
  expect([sentence(false), sentence(true)]).toEqual([
    "the broker mqtt://broker:1884 refused the connection with reason code 153",
    "the broker mqtt://broker:1884 ended the connection with reason code 153",
  ]);
});

test.each([
  [undefined, "mqtt://b", false, /without TLS/],
  [undefined, "ws://b", false, /without TLS/],
  [undefined, "mqtts://b", false, /does not speak TLS/],
  [{ code: "EPIPE" }, "wss://b", false, /does not speak TLS/],
  [{ code: "ECONNRESET" }, "mqtts://b", true, /second client/],
  [{ code: 141 }, "mqtt://b", true, /second client/],
  [{ code: 141 }, "mqtts://b", false, /second client/],
  [undefined, "mqtts://b", true, /second client/],
])("a connection that is closed with %j at %s, accepted before: %s", (error, url, wasUp, hint) => {
  const made = translateBrokerError(error, url, wasUp);
  expect(made).toMatchObject({ code: "BROKER_UNREACHABLE", hint: expect.stringMatching(hint) });
  expect("found" in made.context).toBe(error !== undefined);
});

test.each([
  [new Error("Unexpected server response: 404"), "Unexpected server response: 404"],
  [Object.assign(new Error("odd"), { code: "EODD" }), "odd"],
  [Object.assign(new Error(""), { code: "EODD" }), "EODD"],
  ["text", "text"],
])("%o is quoted", (error, detail) => {
  const { code, message } = translateBrokerError(error, URL, true);
  const expected = `the connection to mqtt://broker:1884 failed: ${detail}`;
  expect([code, message]).toEqual(["BROKER_UNREACHABLE", expected]);
});

test("a broker's name has a path, and no user, password or query", () => {
  expect(brokerName(URL)).toBe("mqtt://broker:1884");
  expect(brokerName("ws://u:p@broker/mqtt?x=1")).toBe("ws://broker/mqtt");
});

test("the codes of MQTT 3.1.1 and 5 for a version that the broker does not know", () => {
  const codes = [1, 132, 2, 0, 133, "1"].map((code) => refusedProtocol({ code }));
  expect([...codes, refusedProtocol(undefined)]).toEqual([true, true, false, false, false, false, false]);
});

test("a refused subscription names the topics, and the reason code if there is one", () => {
  const message = (code: unknown) => refusedSubscription(URL, ["a", "b"], code).message;
  expect(message(135)).toMatch(/read a, b \(reason code 135\)$/);
  expect(message(undefined)).toMatch(/read a, b$/);
});
