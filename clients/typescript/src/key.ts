/**
 * The key of an instant and 10 random bytes, of which 74 bits count: a UUID of version 7 (RFC 9562), so that a server can tell how old
 * it is.
 */
export function keyOf(nowMs: number, chance: Uint8Array): string {
  const bytes = new Uint8Array(16);
  bytes.set(chance.subarray(0, 10), 6);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(nowMs / 0x1_0000));
  view.setUint16(4, nowMs % 0x1_0000);
  view.setUint8(6, (view.getUint8(6) & 0x0f) | 0x70);
  view.setUint8(8, (view.getUint8(8) & 0x3f) | 0x80);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
