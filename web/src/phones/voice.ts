/** A voice message without a voice: two notes, made here, so that nobody has to lend the page a microphone. */

const RATE = 8_000;
const NOTES: readonly (readonly [pitch: number, seconds: number])[] = [
  [523, 0.35],
  [392, 0.55],
];
const HEADER = 44;

/** A WAV of one channel with eight bits a sample. */
export function chime(): Uint8Array {
  const samples = NOTES.flatMap(([pitch, seconds]) => note(pitch, Math.round(seconds * RATE)));
  const file = new Uint8Array(HEADER + samples.length);
  const head = new DataView(file.buffer);
  const word = (at: number, letters: string): void => [...letters].forEach((letter, i) => head.setUint8(at + i, letter.charCodeAt(0)));
  word(0, "RIFF");
  head.setUint32(4, HEADER - 8 + samples.length, true);
  word(8, "WAVEfmt ");
  head.setUint32(16, 16, true);
  head.setUint16(20, 1, true);
  head.setUint16(22, 1, true);
  head.setUint32(24, RATE, true);
  head.setUint32(28, RATE, true);
  head.setUint16(32, 1, true);
  head.setUint16(34, 8, true);
  word(36, "data");
  head.setUint32(40, samples.length, true);
  file.set(samples, HEADER);
  return file;
}

/** It dies away, as a bell does. */
const note = (pitch: number, length: number): number[] =>
  Array.from({ length }, (_, i) => 128 + Math.round(90 * Math.sin((2 * Math.PI * pitch * i) / RATE) * Math.exp((-4 * i) / length)));

export const inBase64 = (bytes: Uint8Array): string => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
