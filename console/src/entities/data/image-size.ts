/** How many pixels an image has, from its header; undefined if it is not a PNG, GIF or WebP. */
export function pixelsOf(data: Uint8Array): number | undefined {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const starts = (text: string, at = 0) => data.subarray(at, at + text.length).every((byte, index) => byte === text.charCodeAt(index));
  if (data.length < 30) return undefined;
  if (starts("PNG", 1)) return view.getUint32(16) * view.getUint32(20);
  if (starts("GIF8")) return view.getUint16(6, true) * view.getUint16(8, true);
  if (!starts("WEBP", 8)) return undefined;
  if (starts("VP8X", 12)) return (1 + uint24(view, 24)) * (1 + uint24(view, 27));
  if (starts("VP8 ", 12)) return (view.getUint16(26, true) & 0x3fff) * (view.getUint16(28, true) & 0x3fff);
  return undefined; // a lossless one has at most 16384 pixels a side, and its data are bounded
}

const uint24 = (view: DataView, at: number): number => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
