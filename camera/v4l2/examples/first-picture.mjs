// SPDX-License-Identifier: Apache-2.0
// One picture of a webcam as a file: node first-picture.mjs [/dev/video0]
import { writeFile } from "node:fs/promises";
import { open } from "v4l2-camera";

const camera = await open(process.argv[2] ?? "/dev/video0", { format: "MJPEG", width: 1280, height: 720 });
const frame = await camera.frame();
await writeFile("picture.jpg", frame.data);
console.log(`${frame.width}x${frame.height}, image ${frame.sequence}, taken at ${frame.timestampNs} ns`);
frame.release();
await camera.close();
