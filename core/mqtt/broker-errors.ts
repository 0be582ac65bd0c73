// SPDX-License-Identifier: Apache-2.0
// Turns what sockets, TLS and brokers report into a sentence with a hint. Decided by error codes alone.
import { DepthwattError, type ErrorCode } from "../errors.js";

interface Translation {
  code: ErrorCode;
  sentence: string;
  hint: string;
}

const unreachable = (sentence: string, hint: string): Translation => ({
  code: "BROKER_UNREACHABLE",
  sentence,
  hint,
});
const refused = (sentence: string, hint: string): Translation => ({ code: "BROKER_REFUSED", sentence, hint });

const CREDENTIALS = refused(
  "refused the user name or password",
  "Check outputs.mqtt.username and the first line of outputs.mqtt.passwordFile.",
);
const NOT_AUTHORISED = refused(
  "does not let this client connect",
  "Set outputs.mqtt.username and outputs.mqtt.passwordFile, or correct the broker's access list.",
);
const PROTOCOL = refused(
  "does not speak this MQTT version",
  "Set outputs.mqtt.protocolVersion to auto, or to the version that the broker speaks.",
);
const CLIENT_ID = refused(
  "refused the client id",
  "Allow client ids of 24 characters or more at the broker.",
);
const BUSY = unreachable("is not ready to take connections", "Wait; depthwatt tries again automatically.");
const CERTIFICATE_UNKNOWN = refused(
  "has a certificate that no authority known here has signed",
  "Set outputs.mqtt.caFile to the PEM file of the authority that signed the broker's certificate.",
);
const NAME_UNKNOWN = unreachable(
  "has a host name that cannot be resolved",
  "Check the host name in the URL and this machine's DNS.",
);
const NO_ROUTE = unreachable(
  "cannot be reached over the network",
  "Check the address, the cable and the firewall.",
);
const NO_TLS = refused(
  "does not speak TLS at this port",
  "Use mqtt:// (or ws://), or the broker's TLS port, usually 8883.",
);
const NEEDS_CERTIFICATE = refused(
  "wants a certificate from this client",
  "Set outputs.mqtt.certFile and outputs.mqtt.keyFile.",
);
const CLIENT_CERTIFICATE = refused(
  "does not accept this client's certificate",
  "Let the authority that the broker trusts sign outputs.mqtt.certFile.",
);
const BROKEN = unreachable(
  "closed the connection",
  "Look into the broker's log; common causes are a second client with the same id and a packet above the broker's limit.",
);
const NO_ANSWER = unreachable(
  "closed the connection before it answered",
  "Check that the port speaks MQTT, and without TLS: mqtts:// (or wss://) is for ports such as 8883.",
);
const NO_HANDSHAKE = unreachable(
  "closed the connection during the TLS handshake",
  "Use mqtt:// (or ws://) where the port does not speak TLS; else look into the broker's log.",
);

/** Our own codes: no CONNACK came; what came in its place is no MQTT; a packet has begun that is larger than the client allows. */
export const NO_CONNACK = "NO_CONNACK";
export const NO_MQTT = "NO_MQTT";
export const PACKET_TOO_LARGE = "PACKET_TOO_LARGE";

/** Node's error codes, from net, dns and tls. */
const BY_NODE_CODE: Readonly<Record<string, Translation>> = {
  ECONNREFUSED: unreachable(
    "does not answer: nothing listens there",
    "Start the broker, check host and port, or use 'depthwatt run --broker embedded', which starts its own broker.",
  ),
  ENOTFOUND: NAME_UNKNOWN,
  EAI_AGAIN: NAME_UNKNOWN,
  ETIMEDOUT: NO_ROUTE,
  EHOSTUNREACH: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  [NO_CONNACK]: unreachable(
    "takes connections and does not answer",
    "Check that the port speaks MQTT, with TLS where the URL says mqtts:// or wss://; else the broker hangs: restart it.",
  ),
  [NO_MQTT]: unreachable(
    "does not speak MQTT at this port",
    "Check the port: usually 1883, and 8883 for mqtts://.",
  ),
  [PACKET_TOO_LARGE]: unreachable(
    "sends a packet that is larger than this client allows",
    "Update the broker: in MQTT 5 it must respect the maximum packet size of a client.",
  ),
  ECONNRESET: BROKEN,
  EPIPE: BROKEN,
  EPROTO: NO_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  SELF_SIGNED_CERT_IN_CHAIN: CERTIFICATE_UNKNOWN,
  DEPTH_ZERO_SELF_SIGNED_CERT: CERTIFICATE_UNKNOWN,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: CERTIFICATE_UNKNOWN,
  UNABLE_TO_GET_ISSUER_CERT: CERTIFICATE_UNKNOWN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: CERTIFICATE_UNKNOWN,
  CERT_HAS_EXPIRED: refused(
    "has a certificate that has expired",
    "Renew the broker's certificate, or set this machine's clock.",
  ),
  CERT_NOT_YET_VALID: refused(
    "has a certificate that is not valid yet",
    "Set this machine's clock: a board without a battery starts in the past.",
  ),
  ERR_TLS_CERT_ALTNAME_INVALID: refused(
    "has a certificate for another host name",
    "Use the host name that is in the certificate.",
  ),
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: NEEDS_CERTIFICATE,
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: NEEDS_CERTIFICATE,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: CLIENT_CERTIFICATE,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: CLIENT_CERTIFICATE,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: CLIENT_CERTIFICATE,
};

/** CONNACK codes: 1 to 5 from MQTT 3.1.1 (table 3.1); from 128 on those of MQTT 5, in CONNACK and DISCONNECT (section 2.4). */
const BY_CONNACK: Readonly<Record<number, Translation>> = {
  1: PROTOCOL,
  2: CLIENT_ID,
  3: BUSY,
  4: CREDENTIALS,
  5: NOT_AUTHORISED,
  132: PROTOCOL,
  133: CLIENT_ID,
  134: CREDENTIALS,
  135: NOT_AUTHORISED,
  136: BUSY,
  137: BUSY,
  138: refused("has banned this client", "Lift the ban at the broker, or change the client id."),
  140: NOT_AUTHORISED,
  149: refused("finds a packet too large", "Raise the broker's packet limit, or publish smaller pictures."),
  151: refused("has reached a quota", "Raise the broker's quota for this client."),
  139: unreachable("is shutting down", "Wait; depthwatt tries again automatically."),
  141: BROKEN,
  142: unreachable(
    "has given this session to another client of the same id",
    "Give each depthwatt its own device name (--device).",
  ),
  152: refused("has ended this connection by an administrator's hand", "Ask who runs the broker."),
  154: refused(
    "keeps no retained messages",
    "Allow them at the broker (Mosquitto: retain_available true): state, info and the last will are retained.",
  ),
  155: refused(
    "takes no messages with QoS 1",
    "Allow them at the broker (Mosquitto: max_qos 1): state, info and the last will have QoS 1.",
  ),
  159: BUSY,
};

/** Error and hint in one line, for a log. */
export const withHint = ({ message, hint }: DepthwattError): string => `${message}. ${hint}`;

/** A subscription that the broker does not grant (SUBACK 0x80 and above). */
export function refusedSubscription(url: string, filters: readonly string[], code: unknown): DepthwattError {
  const broker = brokerName(url);
  const number = typeof code === "number" ? ` (reason code ${code})` : "";
  return new DepthwattError(
    "BROKER_REFUSED",
    `the broker ${broker} does not let this client read ${filters.join(", ")}${number}`,
    {
      hint: "Let this client read the topics in the broker's access list, or give its user name and password.",
      context: { broker, found: code },
    },
  );
}

/** Returns the URL without user, password and query, so that it may be logged. */
export function brokerName(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
}

/** True where a broker said that it does not know the protocol version that was tried. */
export function refusedProtocol(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return code === 1 || code === 132;
}

function translateCode(code: unknown, url: string, wasUp: boolean): Translation | undefined {
  if (typeof code === "number") {
    const sentence = `${wasUp ? "ended" : "refused"} the connection with reason code ${code}`;
    return BY_CONNACK[code] ?? unreachable(sentence, "Look into the broker's log.");
  }
  const known = code === undefined ? BROKEN : BY_NODE_CODE[String(code)];
  if (known !== BROKEN || wasUp) return known;
  return /^(mqtts|wss):/.test(url) ? NO_HANDSHAKE : NO_ANSWER;
}

/**
 * @param error from the mqtt client, or undefined where the connection was closed without one
 * @param wasUp the broker had accepted this connection before
 */
export function translateBrokerError(error: unknown, url: string, wasUp: boolean): DepthwattError {
  const code = (error as { code?: unknown } | undefined)?.code;
  const broker = brokerName(url);
  const context = { broker, ...(code === undefined ? {} : { found: code }) };
  // An error without a code, such as a WebSocket's "Unexpected server response: 404", says it all in its message.
  const known = error !== undefined && code === undefined ? undefined : translateCode(code, url, wasUp);
  if (known !== undefined) {
    return new DepthwattError(known.code, `the broker ${broker} ${known.sentence}`, {
      hint: known.hint,
      cause: error,
      context,
    });
  }
  const detail = error instanceof Error && error.message !== "" ? error.message : String(code ?? error);
  return new DepthwattError("BROKER_UNREACHABLE", `the connection to ${broker} failed: ${detail}`, {
    cause: error,
    context,
  });
}
