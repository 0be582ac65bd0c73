// SPDX-License-Identifier: Apache-2.0
// Types of what the tests take from systemd-root.mjs.
export function cachedSystemdRoot(folder?: string): string | undefined;
export function fetchSystemdRoot(folder?: string): string;
