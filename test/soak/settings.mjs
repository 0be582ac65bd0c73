// SPDX-License-Identifier: Apache-2.0
// The settings of a soak: every output and every stream is on, and every second a live setting that leaves them on changes.
export function soakSettings({ port, folder, device, source }) {
  return [
    "board=none",
    `device=${device}`,
    "power.sensor=none",
    ...source,
    `outputs.mqtt.broker=mqtt://127.0.0.1:${port}`,
    ...["disparity", "confidence", "left", "right", "points", "preview"].map(
      (name) => `outputs.mqtt.${name}.enabled=true`,
    ),
    "outputs.viewer.enabled=true",
    "outputs.foxglove.enabled=true",
    "outputs.prometheus.enabled=true",
    "outputs.derived.enabled=true",
    "outputs.derived.scan=true",
    "outputs.derived.quality=true",
    "outputs.ros.enabled=true",
    "outputs.ros.image=true",
    "outputs.homeAssistant.enabled=true",
    `outputs.mcap.file=${folder}/soak-{time}.mcap`,
    // A disk that is kept empty by deleting the oldest file.
    "outputs.mcap.rotateMegabytes=16",
  ];
}

export const SCENE = ["source.kind=synthetic", "source.synthetic.rateHz=60"];

/** Each with the values it takes in turn. */
const LIVE = {
  "match.numDisparities": [64, 96, 128],
  "match.sgm.uniqueness": [0, 5, 10],
  "match.sgm.paths": [4, 2, 4],
  "match.sgm.p1": [6, 8, 10],
  "match.halfResolution": ["auto", true, "auto"],
  "refine.median": [true, false],
  "refine.speckleSize": [0, 100, 200],
  "refine.fill": ["background", "off"],
  "region.width": [0, 320],
  "outputs.mqtt.disparity.encoding": ["rvl", "raw"],
  "outputs.mqtt.depth.encoding": ["rvl", "raw", "compressedDepth"],
  "outputs.mqtt.confidence.encoding": ["raw", "png"],
  "outputs.derived.scanRays": [64, 32],
  "outputs.metricsIntervalMs": [1000, 500],
  "log.level": ["info", "debug"],
};

export function nextChange(random) {
  const key = random.pick(Object.keys(LIVE));
  return { [key]: random.pick(LIVE[key]) };
}

/** Invalid configurations; each must be refused as a whole, even with a valid change next to the invalid one. */
export const REFUSED = [
  { "match.numDisparities": -1 },
  { "match.numDisparities": "many" },
  { "match.sgm.p1": 40, "match.sgm.p2": 12 },
  { "no.such.key": 1 },
  { "outputs.mqtt.depth.encoding": "bmp", "refine.median": false },
  { "outputs.mqtt.broker": "none" },
];
