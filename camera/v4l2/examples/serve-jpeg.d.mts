// SPDX-License-Identifier: Apache-2.0
// Types of serve-jpeg.mjs, for its test.
import type { Server } from "node:http";

export function serve(
  camera: AsyncIterable<{ data: Uint8Array }> & {
    layout: { format: string | undefined };
    format: { fourcc: string };
  },
  port?: number,
): Promise<Server>;
