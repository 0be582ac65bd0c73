// SPDX-License-Identifier: Apache-2.0
// Every kind of output by the name of its section, which also stands before its drops. The order counts: `latencyMs` is that of
// the first one that takes frames.
import { command } from "./command/open.js";
import { derived } from "./derived/open.js";
import { detections } from "./detections/open.js";
import { energy } from "./energy/open.js";
import { foxglove } from "./foxglove/open.js";
import { homeAssistant } from "./homeassistant/open.js";
import { mcap } from "./mcap/open.js";
import { mqtt } from "./mqtt/open.js";
import { prometheus } from "./prometheus/open.js";
import { ros } from "./ros/open.js";
import { sharedMemory } from "./sharedMemory/open.js";
import { video } from "./video/open.js";
import { viewer } from "./viewer/open.js";

export const OUTPUTS = {
  mqtt,
  viewer,
  mcap,
  prometheus,
  derived,
  detections,
  ros,
  homeAssistant,
  energy,
  foxglove,
  video,
  sharedMemory,
  command,
};
