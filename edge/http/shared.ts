// SPDX-License-Identifier: Apache-2.0
// The process's one HTTP server, opened with the first output that asks for it, with the settings and the password of all.
import type { HttpAccess } from "../contracts/http.js";
import { readCredentials } from "../mqtt/credentials.js";
import { createGate } from "./access.js";
import { HttpServer } from "./server.js";
import type { HttpSettings } from "./settings.js";

type OpenHttp = HttpAccess & { server: HttpServer };

export class SharedHttp {
  readonly #settings: HttpSettings;
  readonly #onProblem: (problem: Error) => void;
  #opening: Promise<OpenHttp> | undefined;

  constructor(settings: HttpSettings, onProblem: (problem: Error) => void) {
    this.#settings = settings;
    this.#onProblem = onProblem;
  }

  /** @throws DepthwattError HTTP_UNAVAILABLE, CONFIG_INVALID, CONFIG_UNREADABLE */
  access(): Promise<OpenHttp> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      // The port may be free when a rig asks again.
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<OpenHttp> {
    const { address, port, names, passwordFile, certFile, keyFile, clientCaFile } = this.#settings;
    const gate =
      clientCaFile !== undefined && passwordFile === undefined
        ? undefined
        : createGate(address, passwordFile, { address: "http.address", passwordFile: "http.passwordFile" });
    const files = { ...(certFile && { certFile }), ...(keyFile && { keyFile }) };
    const { cert, key } = readCredentials(files, (field) => `http.${field}`);
    const { ca } = readCredentials(clientCaFile ? { caFile: clientCaFile } : {}, () => "http.clientCaFile");
    const server = new HttpServer({
      address,
      port,
      gate,
      onProblem: this.#onProblem,
      ...(names && { names: names.split(",") }),
      ...(cert && key && { tls: { cert, key, ...(ca && { clientCa: ca }) } }),
    });
    await server.listen();
    return { server, gate };
  }

  async close(): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.server.close();
  }
}
