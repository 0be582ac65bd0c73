// SPDX-License-Identifier: Apache-2.0
// The Unix socket that readers connect to: its file, who may open it, and the request of each connection.
import { chmodSync, chownSync, existsSync, lstatSync, readFileSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import type { StreamName } from "../../../core/frame/frame-format.js";
import { DepthwattError, trackConnections } from "../../../core/index.js";
import { parseRequest, REQUEST_BYTES, writeReply } from "./handshake.js";

/** Further readers are refused. */
export const MAX_READERS = 32;
/** Time for the 8 bytes of a request. */
const REQUEST_TIMEOUT_MS = 2000;

export interface DoorwayOptions {
  path: string;
  /** Its members may connect; absent: only this user. */
  group?: string | undefined;
  /** A reader asks for a stream. */
  onReader(socket: Socket, stream: StreamName): void;
  /** A connection was closed without a stream, by cause. */
  onRefused(cause: "tooMany" | "request" | "timeout"): void;
}

export class ReaderDoorway {
  readonly #options: DoorwayOptions;
  readonly #server: Server;
  readonly #close: () => Promise<void>;
  #connections = 0;

  constructor(options: DoorwayOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#welcome(socket));
    this.#close = trackConnections(this.#server);
  }

  /** @throws DepthwattError OUTPUT_FAILED where the socket cannot be made */
  async listen(): Promise<void> {
    const { path, group } = this.#options;
    const id = group === undefined ? undefined : groupId(group);
    await this.#bind(id).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "EADDRINUSE") throw failed(path, reasonFor(error, path));
      await removeStale(path);
      await this.#bind(id).catch((again) => {
        throw failed(path, reasonFor(again, path));
      });
    });
  }

  async #bind(groupId: number | undefined): Promise<void> {
    const { path } = this.#options;
    const listening = new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      // Node makes the file within listen(): no other user can connect before its mode is set.
      const before = process.umask(0o177);
      this.#server.listen(path, () => {
        this.#server.off("error", reject);
        resolve();
      });
      process.umask(before);
    });
    await listening;
    if (groupId === undefined) return;
    try {
      chownSync(path, -1, groupId);
      chmodSync(path, 0o660);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  #welcome(socket: Socket): void {
    socket.on("error", () => {});
    this.#connections += 1;
    socket.once("close", () => {
      this.#connections -= 1;
    });
    if (this.#connections > MAX_READERS) {
      this.#options.onRefused("tooMany");
      refuse(socket, `expected at most ${MAX_READERS} readers`);
      return;
    }
    let request = Buffer.alloc(0);
    const timer = setTimeout(() => {
      this.#options.onRefused("timeout");
      socket.destroy();
    }, REQUEST_TIMEOUT_MS);
    timer.unref();
    socket.once("close", () => clearTimeout(timer));
    socket.on("data", (bytes: Buffer) => {
      request = Buffer.concat([request, bytes.subarray(0, REQUEST_BYTES + 1)]);
      if (request.length < REQUEST_BYTES) return;
      clearTimeout(timer);
      socket.removeAllListeners("data");
      const parsed =
        request.length > REQUEST_BYTES
          ? { refusal: `expected ${REQUEST_BYTES} bytes, found more` }
          : parseRequest(request);
      if ("refusal" in parsed) {
        this.#options.onRefused("request");
        refuse(socket, parsed.refusal);
        return;
      }
      // Nothing may follow a request.
      socket.on("data", () => socket.destroy());
      this.#options.onReader(socket, parsed.stream);
    });
  }

  close(): Promise<void> {
    return this.#close();
  }
}

/** Sends the reason and closes the connection. */
export function refuse(socket: Socket, reason: string): void {
  socket.end(writeReply(reason), () => socket.destroy());
}

const failed = (path: string, why: string) =>
  new DepthwattError("OUTPUT_FAILED", `expected to listen on outputs.sharedMemory.path ${path}: ${why}`, {
    hint: "Choose a path in a folder that this user may write to, such as one in /run.",
    context: { path },
  });

function reasonFor({ code, message }: NodeJS.ErrnoException, path: string): string {
  // libuv reports a missing folder as EACCES.
  if (!existsSync(dirname(path))) return "its folder does not exist";
  if (code === "EACCES") return "this user may not create a socket there";
  if (code === "EPERM") return "this user may not give it to that group; only members of a group may";
  if (code === "EADDRINUSE") return "another process listens there";
  return code ?? message;
}

/** Removes the socket of a run that has crashed. @throws DepthwattError OUTPUT_FAILED if it is anything else */
async function removeStale(path: string): Promise<void> {
  if (!lstatSync(path).isSocket()) throw failed(path, "there is a file that is no socket");
  const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(undefined);
    }).once("error", resolve);
  });
  if (error?.code !== "ECONNREFUSED") throw failed(path, "another process listens there");
  unlinkSync(path);
}

/** @throws DepthwattError OUTPUT_FAILED */
function groupId(group: string): number {
  const line = readFileSync("/etc/group", "utf8")
    .split("\n")
    .find((one) => one.startsWith(`${group}:`));
  if (line !== undefined) return Number(line.split(":")[2]);
  throw new DepthwattError(
    "OUTPUT_FAILED",
    `expected a group of this machine in outputs.sharedMemory.group, found ${group}`,
    {
      hint: "Create the group (groupadd), or leave the setting out.",
    },
  );
}
