// SPDX-License-Identifier: Apache-2.0
// The documents in recordings and in Foxglove, and what the messages of frames depend on.
import { redactUrl } from "../../../core/index.js";
import type { OutputPicture } from "../../contracts/output.js";
import { INFO, METRICS, NOTICE, SETTINGS, STATE } from "../../mcap/schemas.js";

export const DOCUMENTS = {
  metrics: METRICS,
  state: STATE,
  info: INFO,
  settings: SETTINGS,
  notice: NOTICE,
} as const;
export type DocumentName = keyof typeof DOCUMENTS;
export const DOCUMENT_NAMES = Object.keys(DOCUMENTS) as DocumentName[];

/** Returns it as JSON, without the passwords of URLs. */
export const documentText = (value: object) =>
  JSON.stringify(value, (_, item) =>
    typeof item === "bigint" ? item.toString() : typeof item === "string" ? redactUrl(item) : item,
  );

/** The properties that the messages of a frame depend on. */
export const pictureShape = ({ width, height, hasDepth, rig, input }: OutputPicture) => [
  width,
  height,
  hasDepth,
  rig?.calibration.hash,
  rig?.rectification,
  input.width,
  input.height,
  input.leftFormat,
  input.rightFormat,
  input.leftStrideBytes,
  input.rightStrideBytes,
];
