// SPDX-License-Identifier: Apache-2.0
// Three colour maps at 65 points each, RGB in hexadecimal, sampled from matplotlib's tables (turbo: A. Mikhailov, Apache-2.0;
// viridis: S. van der Walt and N. Smith, CC0; cividis: J. Nuñez et al., 2018). Between the points colours are mixed.

const POINTS = {
  turbo:
    "30123b351e58392a733d358b4040a2424bb54456c74661d6466be34776ee4680f6458afc4294ff3d9efe37a8fa2fb2f4" +
    "28bceb22c5e21ccdd819d5cd18ddc219e3b91fe9af27eea432f2983ff68a4ef97d5dfc6f6dfe627dff568bff4b99fe42" +
    "a4fc3caffa37b9f635c3f134cdec34d7e535dfdf37e7d739eecf3af4c73af8be39fbb637fdac34fea130fe962bfd8a26" +
    "fb7e21f8721cf46617f05b12eb500ee5470bdf3f08d83706d02f05c82803be2102b41b01a916019e1001920b01850702" +
    "7a0403",
  viridis:
    "44015446075a470d6047136548186a481d6f482374482878472d7b46327e453781443b844240864045883e49893d4e8a" +
    "3b528b39568c375b8d355f8d33638d31678e2f6b8e2e6f8e2c728e2a768e297a8e277e8e26828e25858e23898e228d8d" +
    "21918c1f948c1f988b1e9c891fa08820a38622a78525ab8228ae802db27d32b67a38b9773fbc7346c06f4ec36b56c667" +
    "5ec96267cc5c70cf577ad15184d44b8ed64598d83ea2da37addc30b8de29c2df23cde11dd8e219e2e418ece51bf6e620" +
    "fde725",
  cividis:
    "00224e00255400285b002b62002e6a0030700533711235701a386f213b6e273e6e2d416d32436d36466c3b496c3f4c6c" +
    "434e6c47516c4b546c4f576c535a6d565c6d5a5f6e5e626e61656f656870686a716c6d726f7073727374767676797977" +
    "7d7c78807f788482798885788c8878908b78938e789791779b94769f9775a39a74a79d73aba072afa471b4a76fb8aa6e" +
    "bcae6cc0b16ac4b468c8b866cdbb63d1bf61d5c25edac65bdec958e2cd54e7d150ebd44bf0d846f5dc41f9e03afee434" +
    "fee838",
} as const;

export type ColourMapName = keyof typeof POINTS;
export const COLOUR_MAPS = Object.keys(POINTS) as ColourMapName[];

/** 256 colours as RGBA in the byte order of ImageData read as little-endian 32-bit words, opaque. */
export function colourTable(name: ColourMapName): Uint32Array {
  const points = Uint8Array.from(POINTS[name].match(/../g)!, (pair) => Number.parseInt(pair, 16));
  const last = points.length / 3 - 1;
  const colours = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * last;
    const left = Math.min(last - 1, Math.floor(place));
    const mix = (channel: number) => {
      const [a, b] = [points[3 * left + channel]!, points[3 * left + 3 + channel]!];
      return Math.round(a + (b - a) * (place - left));
    };
    colours[i] = (0xff000000 | (mix(2) << 16) | (mix(1) << 8) | mix(0)) >>> 0;
  }
  return colours;
}
