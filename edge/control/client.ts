// SPDX-License-Identifier: Apache-2.0
// One request to a device over MQTT, and its answer: signed where there is a secret, with the response topic and correlation
// data of MQTT 5 where the broker speaks it.
import { randomBytes } from "node:crypto";
import type { MqttClient } from "mqtt";
import { makeTopics } from "../../core/frame/topics.js";
import { DepthwattError } from "../../core/index.js";
import { BrokerConnection, type ConnectionOptions, uniqueClientId } from "../../core/mqtt/connection.js";
import { LARGEST_PACKET_BYTES } from "../../core/mqtt/packet-meter.js";
import type { Unavailable } from "../contracts/availability.js";
import type { ControlAnswer } from "../contracts/control.js";
import { signRequest } from "./signature.js";

export interface ControlClientOptions {
  /** mqtt://, mqtts://, ws:// or wss:// */
  broker: string;
  base: string;
  device: string;
  /** Undefined: the device trusts its broker. */
  secret?: string | undefined;
  /** The client's name, for the device's log. */
  client: string;
  credentials?: Pick<ConnectionOptions, "username" | "password" | "ca" | "cert" | "key">;
  protocolVersion?: "auto" | 4 | 5;
  timeoutMs?: number;
}

/** Longer than a device waits for the first pair of another source. */
const TIMEOUT_MS = 20_000;
/** How long to wait for an answer from a device whose info says that it takes no requests: the info may be an old one. */
const OFF_MS = 1000;

/** The payload of a request. */
export function requestPayload(
  { base, device, secret, client }: Pick<ControlClientOptions, "base" | "device" | "secret" | "client">,
  command: string,
  body: unknown,
  id: string,
): string {
  if (secret === undefined) return JSON.stringify({ id, client, body });
  const nonce = randomBytes(16).toString("hex");
  const signed = JSON.stringify({ id, client, timeMs: Date.now(), nonce, body });
  return JSON.stringify({
    signed,
    signature: signRequest(secret, { device: `${base}/${device}`, command, text: signed }),
  });
}

/**
 * @returns the device's answer, which may be a refusal
 * @throws DepthwattError CONTROL_UNANSWERED, BROKER_UNREACHABLE, BROKER_REFUSED, CONFIG_INVALID
 */
export function askDevice(
  options: ControlClientOptions,
  command: string,
  body: unknown,
): Promise<ControlAnswer> {
  const id = randomBytes(8).toString("hex");
  return sendRequest(options, command, { id, payload: requestPayload(options, command, body, id) });
}

/**
 * Sends a signed request.
 * @param request.id the id in the payload, which comes back in the answer
 * @throws DepthwattError as askDevice
 */
export async function sendRequest(
  options: Omit<ControlClientOptions, "secret" | "client">,
  command: string,
  { id, payload }: { id: string; payload: string },
): Promise<ControlAnswer> {
  const { base, device, broker, credentials, timeoutMs = TIMEOUT_MS } = options;
  const { info } = makeTopics(base, device); // refuses names that no device has
  const clientId = uniqueClientId("depthwatt-control");
  const usual = `${base}/${device}/response/${command}`;
  let connection: BrokerConnection | undefined;
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<ControlAnswer>((resolve, reject) => {
      const silent = () => {
        const text = `${base}/${device} did not answer "${command}" within ${timeoutMs / 1000} s`;
        reject(new DepthwattError("CONTROL_UNANSWERED", text));
      };
      const off = (reason: string) => {
        const text = `expected ${base}/${device} to take requests, but its info says: ${reason}`;
        const hint = "Set control.enabled and control.secretFile on the device, and start it again.";
        reject(new DepthwattError("CONTROL_UNSUPPORTED", text, { hint }));
      };
      const deadlineMs = performance.now() + timeoutMs;
      const remainingMs = () => Math.max(0, deadlineMs - performance.now());
      timer = setTimeout(silent, timeoutMs);
      const ask = (client: MqttClient, version: 4 | 5) => {
        const responseTopic = `${usual}/${clientId}`;
        const properties = { responseTopic, correlationData: Buffer.from(id) };
        client.publish(
          `${base}/${device}/request/${command}`,
          payload,
          { qos: 1, ...(version === 5 && { properties }) },
          (error) => error && reject(notAllowed(`publish below ${base}/${device}/request/`, error)),
        );
      };
      const events = {
        onUp: (client: MqttClient, version: 4 | 5) => {
          client.on("message", (topic, payload, { properties }) => {
            if (topic === info) {
              const reason = whyOff(payload);
              clearTimeout(timer);
              timer =
                reason === undefined
                  ? setTimeout(silent, remainingMs())
                  : setTimeout(off, Math.min(OFF_MS, remainingMs()), reason);
              return;
            }
            const answer = parseAnswer(payload);
            // One that was refused before its id was read has only the correlation data.
            const isOurs = answer?.id === id || properties?.correlationData?.toString() === id;
            if (answer !== undefined && isOurs) resolve(answer as unknown as ControlAnswer);
          });
          // A client that may not read it waits for an answer.
          client.subscribe(info, { qos: 1 }, () => {});
          client.subscribe(`${usual}/#`, { qos: 1 }, (error, granted) => {
            if (error || granted?.some(({ qos }) => qos >= 128))
              reject(notAllowed(`subscribe to ${usual}/#`, error ?? undefined));
            else ask(client, version);
          });
        },
        onDown: () => {},
        onStatus: ({ error }: { error?: DepthwattError }) => error && reject(error),
      };
      const protocolVersion = options.protocolVersion ?? "auto";
      // A snapshot is as large as its images.
      const maximumPacketBytes = LARGEST_PACKET_BYTES;
      connection = new BrokerConnection(
        { url: broker, protocolVersion, clientId, maximumPacketBytes, ...credentials },
        events,
      );
    });
  } finally {
    await connection?.end(500);
    // Messages that arrive until the end may set it again.
    clearTimeout(timer);
  }
}

const notAllowed = (what: string, cause?: Error) =>
  new DepthwattError("BROKER_REFUSED", `the broker does not let this client ${what}`, {
    hint: "Give a user who may ('--username', '--password-file'), or change the broker's access list.",
    cause,
  });

/** Why a device takes no requests, as its info says; undefined where it takes them or does not say. */
function whyOff(info: Uint8Array): string | undefined {
  const control = parseAnswer(info)?.control as Partial<Unavailable> | null | undefined;
  return control?.available === false ? String(control.reason).slice(0, 200) : undefined;
}

function parseAnswer(payload: Uint8Array): Record<string, unknown> | undefined {
  try {
    const answer: unknown = JSON.parse(new TextDecoder().decode(payload));
    return typeof answer === "object" && answer !== null ? (answer as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
