// SPDX-License-Identifier: Apache-2.0
// Shows a camera in a browser as multipart JPEG, on loopback: node serve-jpeg.mjs [/dev/video0] [port]
// The camera's own Motion JPEG goes out as it came. A browser that reads slowly gets fewer frames, never old ones.
import { once } from "node:events";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { open } from "v4l2-camera";

const BOUNDARY = "frame";

/**
 * @param {AsyncIterable<{data: Uint8Array}> & {layout: {format: string | undefined}, format: {fourcc: string}}} camera open, with Motion JPEG left as it came
 * @param port 0 for a free one
 * @returns the server, listening on 127.0.0.1
 */
export async function serve(camera, port = 0) {
  if (camera.layout.format !== "MJPEG")
    throw new Error(`expected a camera that sends Motion JPEG, this one keeps ${camera.format.fourcc}`);
  const viewers = new Set();
  const server = createServer((request, response) => {
    if (request.url !== "/") {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      "content-type": `multipart/x-mixed-replace; boundary=${BOUNDARY}`,
      "cache-control": "no-store",
    });
    response.flushHeaders();
    viewers.add(response);
    response.on("close", () => viewers.delete(response));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  send(camera, viewers).then(
    () => server.close(),
    (error) => server.emit("error", error),
  );
  return server;
}

async function send(camera, viewers) {
  for await (const frame of camera) {
    // Copied once for all viewers: a socket keeps the bytes longer than the camera can spare its buffer.
    const jpeg = Buffer.from(frame.data);
    const head = `--${BOUNDARY}\r\ncontent-type: image/jpeg\r\ncontent-length: ${jpeg.length}\r\n\r\n`;
    for (const viewer of viewers) {
      if (viewer.writableLength > 0) continue;
      viewer.write(head);
      viewer.write(jpeg);
      viewer.write("\r\n");
    }
  }
  for (const viewer of viewers) viewer.end(`--${BOUNDARY}--\r\n`);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const stop = new AbortController();
  const camera = await open(process.argv[2] ?? "/dev/video0", { format: "MJPEG", signal: stop.signal });
  camera.on("lost", (reason) => console.error(reason));
  const server = await serve(camera, Number(process.argv[3] ?? 8080));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  console.log(`http://127.0.0.1:${port}/`);
  process.once("SIGINT", () => {
    stop.abort();
    server.closeAllConnections();
    server.close();
  });
  server.on("error", (error) => {
    if (error !== stop.signal.reason) throw error;
  });
}
