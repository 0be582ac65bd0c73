// SPDX-License-Identifier: Apache-2.0
// Builds the documents for Home Assistant: one device with its entities, as its MQTT discovery wants it
// (home-assistant.io/integrations/mqtt, "Device discovery payload"). Its schemas are strict: a key too many is refused.
import { crc32 } from "../../../core/frame/crc32.js";
import type { Topics } from "../../../core/frame/topics.js";

/** A live setting that becomes a switch (no options) or a select. */
export interface ControlledSetting {
  key: string;
  options?: readonly string[];
}

export interface DiscoveryFacts {
  base: string;
  device: string;
  version: string;
  board: string | undefined;
  topics: Topics;
  /** True if the preview is published. */
  preview: boolean;
  /** The names of the published zones; empty: none are published. */
  zones: readonly string[];
  /** The zones whose alarms are published. */
  alarms: readonly string[];
  controlled: readonly ControlledSetting[];
  /** Address of the live page, where others reach it. */
  page: string | undefined;
}

type Component = Record<string, unknown>;

/** Letters, digits, "_" and "-": what object ids may hold. The checksum keeps names apart that look the same then. */
export function objectId(base: string, device: string): string {
  const origin = `${base}/${device}`;
  const sum = crc32(new TextEncoder().encode(origin)).toString(16).padStart(8, "0");
  return `depthwatt_${device.replace(/[^A-Za-z0-9_-]/g, "_")}_${sum}`;
}

export const discoveryTopic = (prefix: string, base: string, device: string): string =>
  `${prefix}/device/${objectId(base, device)}/config`;

/** Where a controlled setting is reported and changed. */
export const haStateTopic = (base: string, device: string, key: string) =>
  `${base}/${device}/homeassistant/${key}/state`;
export const haCommandTopic = (base: string, device: string, key: string) =>
  `${base}/${device}/homeassistant/${key}/set`;

/** For a figure that may be {available: false}: None makes Home Assistant show "unknown". */
const known = (path: string) => `{{ ${path} if ${path} is number else None }}`;
const power = (name: string) =>
  `{{ value_json.power.${name} if value_json.power.available and value_json.power.${name} is number else None }}`;
const HOTTEST =
  "{% set context = value_json.power.context if value_json.power.available else {} %}" +
  "{{ context.temperaturesCelsius.values() | max if context.temperaturesCelsius else None }}";

/** None makes Home Assistant show "unknown". */
const alarmState = (zone: string) =>
  `{% set alarm = value_json.alarms['${zone}'].state if value_json.alarms is defined else None %}` +
  `{{ 'ON' if alarm == 'on' else 'OFF' if alarm == 'off' else None }}`;

/** All topics must say "online": the last will of the alarms' connection, and the state of the device. */
const alarmAvailability = (topics: Topics, { availability }: Component): Component => ({
  availability: [
    ...(availability as object[]),
    {
      topic: topics.alarms,
      value_template: "{{ 'online' if value_json.alarms is defined else 'offline' }}",
    },
  ],
  availability_mode: "all",
  // Three times the longest time between two messages.
  expire_after: 30,
});

export function discoveryPayload(facts: DiscoveryFacts): object {
  const { base, device, topics } = facts;
  const id = objectId(base, device);
  const origin = { name: "depthwatt", sw_version: facts.version };
  const available: Component = {
    availability: [
      {
        topic: topics.state,
        value_template: "{{ 'online' if value_json.state in ['online', 'degraded'] else 'offline' }}",
      },
    ],
  };
  const figure = (name: string, key: string, value_template: string, rest: Component): Component => ({
    platform: "sensor",
    name,
    unique_id: `${id}_${key}`,
    state_topic: topics.metrics,
    value_template,
    state_class: "measurement",
    ...rest,
    ...available,
  });
  const components: Record<string, Component> = {
    online: {
      platform: "binary_sensor",
      name: "Online",
      unique_id: `${id}_online`,
      state_topic: topics.state,
      value_template: "{{ 'ON' if value_json.state in ['online', 'degraded'] else 'OFF' }}",
      device_class: "connectivity",
      entity_category: "diagnostic",
    },
    state: {
      platform: "sensor",
      name: "State",
      unique_id: `${id}_state`,
      state_topic: topics.state,
      value_template: "{{ value_json.state }}",
      json_attributes_topic: topics.state,
      entity_category: "diagnostic",
    },
    fps: figure("Frame rate", "fps", known("value_json.fps"), {
      unit_of_measurement: "fps",
      suggested_display_precision: 1,
    }),
    watts: figure("Power", "watts", power("watts"), { unit_of_measurement: "W", device_class: "power" }),
    fps_per_watt: figure("Frames per watt", "fps_per_watt", power("fpsPerWatt"), {
      unit_of_measurement: "fps/W",
      suggested_display_precision: 2,
    }),
    joules_per_frame: figure("Energy per frame", "joules_per_frame", power("joulesPerFrame"), {
      unit_of_measurement: "J",
      suggested_display_precision: 3,
    }),
    temperature: figure("Temperature", "temperature", HOTTEST, {
      unit_of_measurement: "°C",
      device_class: "temperature",
    }),
    matched: figure("Matched pixels", "matched", known("value_json.matchedPercent"), {
      unit_of_measurement: "%",
      suggested_display_precision: 1,
    }),
  };
  for (const zone of facts.zones) {
    const path = `value_json.zones['${zone}'].nearestMetres`;
    components[`zone_${zone}`] = {
      ...figure(`Nearest in ${zone}`, `zone_${zone}`, known(path), {
        unit_of_measurement: "m",
        device_class: "distance",
        suggested_display_precision: 2,
      }),
      state_topic: topics.zones,
    };
  }
  for (const zone of facts.alarms)
    components[`alarm_${zone}`] = {
      platform: "binary_sensor",
      name: `Nearer than allowed in ${zone}`,
      unique_id: `${id}_alarm_${zone}`,
      state_topic: topics.alarms,
      value_template: alarmState(zone),
      // "safety" would call an alarm that is off "safe".
      device_class: "occupancy",
      ...alarmAvailability(topics, available),
    };
  if (facts.preview)
    components.preview = {
      platform: "camera",
      name: "Preview",
      unique_id: `${id}_preview`,
      topic: topics.preview,
      ...available,
    };
  for (const { key, options } of facts.controlled)
    components[`set_${key.replaceAll(".", "_")}`] = {
      platform: options === undefined ? "switch" : "select",
      name: key,
      unique_id: `${id}_set_${key}`,
      state_topic: haStateTopic(base, device, key),
      command_topic: haCommandTopic(base, device, key),
      ...(options !== undefined && { options }),
      entity_category: "config",
      ...available,
    };
  return {
    device: {
      identifiers: [id],
      name: device,
      manufacturer: "depthwatt",
      sw_version: facts.version,
      ...(facts.board !== undefined && { model: facts.board }),
      ...(facts.page !== undefined && { configuration_url: facts.page }),
    },
    origin,
    components,
    qos: 0,
  };
}
