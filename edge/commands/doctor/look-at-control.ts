// SPDX-License-Identifier: Apache-2.0
// Checks control: whether only permitted clients can send requests. If the broker decides that, an anonymous client
// tries.
import type { MqttClient } from "mqtt";
import { type DepthwattError, isDepthwattError } from "../../../core/index.js";
import { BrokerConnection, uniqueClientId } from "../../../core/mqtt/connection.js";
import type { Config } from "../../config/index.js";
import { readControlSecret } from "../../control/secret.js";
import { readCredentials } from "../../mqtt/credentials.js";
import type { Finding } from "./finding.js";
import { secretCommands } from "./fix-commands.js";

type Outcome = { refused: string } | { let: string } | { unknown: DepthwattError };

/** The URL without a user, the files without this device's own certificate. */
function anonymous({ outputs: { mqtt } }: Config) {
  const url = new URL(mqtt.broker);
  url.username = "";
  url.password = "";
  const { ca } = readCredentials(mqtt.caFile === undefined ? {} : { caFile: mqtt.caFile });
  return { url: url.href, protocolVersion: mqtt.protocolVersion, ...(ca && { ca }) };
}

/** Connects without saying who it is, and where it gets in, publishes a request that no device knows. */
function tryAnonymously(config: Config, timeoutMs: number): Promise<Outcome> {
  let connection: BrokerConnection | undefined;
  let timer: NodeJS.Timeout | undefined;
  const outcome = new Promise<Outcome>((resolve) => {
    const onUp = (client: MqttClient, version: 4 | 5) => {
      if (version === 4) {
        resolve({
          let: "it lets anonymous clients in, and MQTT 3.1.1 does not report what they may publish",
        });
        return;
      }
      const topic = `${config.base}/${config.device}/request/doctor`;
      client.publish(topic, "", { qos: 1 }, (error) =>
        resolve(
          error
            ? { refused: `the broker refuses requests of anonymous clients (${error.message})` }
            : { let: "it accepts requests from anonymous clients" },
        ),
      );
    };
    const onStatus = ({ error }: { error?: DepthwattError }) => {
      if (error?.code === "BROKER_REFUSED") resolve({ refused: "the broker refuses anonymous clients" });
      else if (error !== undefined) resolve({ unknown: error });
    };
    const late = { let: `it did not refuse an anonymous client within ${timeoutMs} ms` };
    timer = setTimeout(() => resolve(late), timeoutMs);
    const options = { ...anonymous(config), clientId: uniqueClientId("depthwatt-doctor") };
    connection = new BrokerConnection(options, { onUp, onDown: () => {}, onStatus });
  });
  return outcome.finally(() => {
    clearTimeout(timer);
    return connection?.end(500);
  });
}

const bad = (text: string, hint: string, facts: object): Finding => ({
  name: "control",
  state: "bad",
  text,
  hint,
  facts: { ...facts },
  exitCode: 2,
});

/** Undefined where control is off. */
export async function lookAtControl(config: Config, timeoutMs = 4000): Promise<Finding | undefined> {
  const { enabled, authentication, secretFile } = config.control;
  if (!enabled) return undefined;
  const facts = { authentication, secretFile: secretFile ?? null };
  try {
    if (secretFile !== undefined) readControlSecret(secretFile);
    if (config.outputs.mqtt.broker === "none")
      return { name: "control", state: "ok", text: "on the live page; there is no broker", facts };
    if (authentication === "secret") {
      const text = `requests must be signed with the secret of ${secretFile}`;
      return { name: "control", state: "ok", text, facts };
    }
    const outcome = await tryAnonymously(config, timeoutMs);
    const checked = { ...facts, anonymousRefused: "refused" in outcome };
    if ("refused" in outcome) return { name: "control", state: "ok", text: outcome.refused, facts: checked };
    if ("unknown" in outcome) {
      const { message, hint } = outcome.unknown;
      return bad(`cannot check whether the broker refuses anonymous clients: ${message}`, hint, checked);
    }
    const hint =
      "Let the broker ask for a password or certificate and limit who may publish below request/, or set control.authentication to secret.";
    return bad(`control.authentication is broker, but ${outcome.let}`, hint, checked);
  } catch (error) {
    if (!isDepthwattError(error)) throw error;
    const commands = secretCommands(error);
    return { ...bad(error.message, error.hint, facts), ...(commands && { commands }) };
  }
}
