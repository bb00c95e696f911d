/** A voice message without a voice: two notes, recorded from the air, so that nobody has to lend the page a microphone. */

/** What WhatsApp takes and some browser records. */
const TYPES = ["audio/ogg", "audio/mp4"];
const NOTES: readonly (readonly [pitch: number, from: number])[] = [
  [523, 0],
  [392, 0.4],
];
const LASTS_SEC = 1.2;
const LOUD = 0.5;
const SILENT = 0.001;

/** Rejects where the browser cannot record. */
export async function chime(): Promise<Blob> {
  const type = TYPES.find((each) => MediaRecorder.isTypeSupported(each));
  if (type === undefined) throw new Error("nothing that this browser records is a voice message");
  const room = new AudioContext();
  const ear = room.createMediaStreamDestination();
  for (const [pitch, from] of NOTES) strike(room, ear, pitch, from);
  const parts = await recorded(new MediaRecorder(ear.stream, { mimeType: type }));
  await room.close();
  return new Blob(parts, { type });
}

/** It dies away, as a bell does. */
function strike(room: AudioContext, ear: AudioNode, pitch: number, from: number): void {
  const [bell, fading, at] = [room.createOscillator(), room.createGain(), room.currentTime + from];
  bell.frequency.value = pitch;
  fading.gain.setValueAtTime(LOUD, at);
  fading.gain.exponentialRampToValueAtTime(SILENT, at + LASTS_SEC - from);
  bell.connect(fading).connect(ear);
  bell.start(at);
}

function recorded(recorder: MediaRecorder): Promise<Blob[]> {
  return new Promise((resolve, reject) => {
    const parts: Blob[] = [];
    recorder.addEventListener("dataavailable", ({ data }) => parts.push(data));
    recorder.addEventListener("stop", () => resolve(parts));
    recorder.addEventListener("error", () => reject(new Error("the recording broke off")));
    recorder.start();
    setTimeout(() => recorder.stop(), LASTS_SEC * 1000);
  });
}
