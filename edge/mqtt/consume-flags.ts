// SPDX-License-Identifier: Apache-2.0
// Settings of the broker's access that consume takes as flags.
export const CONSUME_FLAGS = {
  username: "--username",
  passwordFile: "--password-file",
  caFile: "--ca-file",
  certFile: "--cert-file",
  keyFile: "--key-file",
} as const;
