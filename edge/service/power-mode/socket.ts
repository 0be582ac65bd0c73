// SPDX-License-Identifier: Apache-2.0
// Where the root helper for power modes is asked.

export const POWER_MODE_SOCKET = "/run/depthwatt-power-mode.socket";
