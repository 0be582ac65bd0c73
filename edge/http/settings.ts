// SPDX-License-Identifier: Apache-2.0
// Settings of the process's HTTP server.
import { z } from "zod";
import type { BrokenSetting } from "../contracts/broken-setting.js";
import { type Exact, section, setting } from "../contracts/setting.js";
import { isLoopback } from "./guard.js";

const NAMES = /^[a-z0-9.-]+(,[a-z0-9.-]+)*$/;

export const httpSection = section("The HTTP server of the live page and of other outputs that need one.", {
  address: setting(z.string().min(1).max(255), {
    default: "127.0.0.1",
    description:
      "Address that it listens on. Beyond loopback (0.0.0.0 is every network) a password or client certificates are needed.",
  }),
  port: setting(z.union([z.literal("auto"), z.int().min(1).max(65_535)]), {
    default: "auto",
    description: "Its port; auto takes 8990, or a free one where that is taken.",
  }),
  names: setting(z.string().regex(NAMES).optional(), {
    expects: "host names in lower case joined by commas",
    description:
      "Further host names that people reach this machine by; addresses and its own host name are known.",
  }),
  passwordFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "File whose first line is the password that is asked for; not readable by others.",
  }),
  certFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "PEM file of the server's certificate; makes it https.",
  }),
  keyFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "PEM file of that certificate's key; it must not be readable by others.",
  }),
  clientCaFile: setting(z.string().min(1).optional(), {
    isPath: true,
    description: "PEM file of the authority whose client certificates are let in; others are refused.",
  }),
});

export type HttpSettings = Exact<z.infer<typeof httpSection>>;

/** Checks what types and ranges cannot. */
export function brokenHttp(http: HttpSettings): BrokenSetting[] {
  const broken: BrokenSetting[] = [];
  const { address, passwordFile, certFile, keyFile, clientCaFile } = http;
  if (!isLoopback(address) && passwordFile === undefined && clientCaFile === undefined)
    broken.push({
      keys: ["http.address", "http.passwordFile"],
      text: `expected http.passwordFile or http.clientCaFile with an address that others reach, got ${address} alone`,
    });
  if ((certFile === undefined) !== (keyFile === undefined))
    broken.push({ keys: ["http.certFile", "http.keyFile"], text: "expected both or none, got one" });
  if (clientCaFile !== undefined && certFile === undefined)
    broken.push({
      keys: ["http.clientCaFile", "http.certFile"],
      text: "expected a server certificate with it: client certificates need https",
    });
  return broken;
}
