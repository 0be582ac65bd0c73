// SPDX-License-Identifier: Apache-2.0
// The control secret, in this page's memory and nowhere else.
let secret = "";

export const setSecret = (text: string): void => {
  secret = text;
};

export const controlSecret = (): { secret?: string } => (secret === "" ? {} : { secret });
