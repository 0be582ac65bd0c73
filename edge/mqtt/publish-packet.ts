// SPDX-License-Identifier: Apache-2.0
// The bytes of an MQTT PUBLISH packet (QoS 0 or 1, not retained) in front of its payload, so that a frame goes to the socket as
// two writes without a copy, and the second one's callback says when its memory is free.

/** User properties and the like of MQTT 5; repeated for convenience, never the only carrier. */
export interface PublishProperties {
  contentType: string;
  expirySeconds: number;
  user: readonly (readonly [string, string])[];
}

const PUBLISH = 0x30;
const QOS_1 = 0x02;
/** MQTT 5 section 2.2.2.2 */
const MESSAGE_EXPIRY_INTERVAL = 0x02;
const CONTENT_TYPE = 0x03;
const USER_PROPERTY = 0x26;
/** MQTT 5 section 1.5.5: the largest remaining length, in four bytes of 7 bits. */
export const MAX_REMAINING_LENGTH = 268_435_455;

/**
 * Size of a message of QoS 0 or 1 without topic and body: fixed header, the lengths of topic and properties, packet
 * identifier.
 */
const PLAIN_HEAD_BYTES = 10;

/** The size of its packet, at most. */
export const plainPacketBytes = (topic: string, text: string): number =>
  PLAIN_HEAD_BYTES + Buffer.byteLength(topic) + Buffer.byteLength(text);

function variableByteInteger(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    rest >>>= 7;
  } while (rest > 0);
  return bytes;
}

function prefixedString(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  return Buffer.concat([Buffer.of(bytes.length >> 8, bytes.length & 0xff), bytes]);
}

function encodeProperties(properties: PublishProperties): Buffer {
  const expiry = Buffer.alloc(5);
  expiry.writeUInt8(MESSAGE_EXPIRY_INTERVAL, 0);
  expiry.writeUInt32BE(properties.expirySeconds, 1);
  const parts = [expiry, Buffer.of(CONTENT_TYPE), prefixedString(properties.contentType)];
  for (const [name, value] of properties.user) {
    parts.push(Buffer.of(USER_PROPERTY), prefixedString(name), prefixedString(value));
  }
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(variableByteInteger(body.length)), body]);
}

/**
 * Everything before the payload: fixed header (section 3.3.1), topic, and for MQTT 5 the properties.
 * `properties` undefined = MQTT 3.1.1, whose PUBLISH has none. With a `messageId` (1 to 65535) it is of QoS 1: the broker answers.
 */
export function publishPacketHead(
  topic: string,
  payloadBytes: number,
  properties: PublishProperties | undefined,
  messageId?: number,
): Buffer {
  const idBytes = messageId === undefined ? Buffer.alloc(0) : Buffer.of(messageId >> 8, messageId & 0xff);
  const topicBytes = prefixedString(topic);
  const propertyBytes = properties === undefined ? Buffer.alloc(0) : encodeProperties(properties);
  const remaining = topicBytes.length + idBytes.length + propertyBytes.length + payloadBytes;
  return Buffer.concat([
    Buffer.of(PUBLISH | (messageId === undefined ? 0 : QOS_1), ...variableByteInteger(remaining)),
    topicBytes,
    idBytes,
    propertyBytes,
  ]);
}
