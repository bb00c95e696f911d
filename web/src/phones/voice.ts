/** Generates a voice message of two notes, so that no microphone is needed. */

/** Formats that WhatsApp accepts and some browsers record. */
const TYPES = ["audio/ogg", "audio/mp4"];
const NOTES: readonly (readonly [pitch: number, from: number])[] = [
  [523, 0],
  [392, 0.4],
];
const LASTS_SEC = 1.2;
const LOUD = 0.5;
const SILENT = 0.001;

/** Rejects if the browser cannot record. */
export async function chime(): Promise<Blob> {
  const type = TYPES.find((each) => MediaRecorder.isTypeSupported(each));
  if (type === undefined) throw new Error("nothing that this browser records is a voice message");
  const context = new AudioContext();
  const destination = context.createMediaStreamDestination();
  for (const [pitch, from] of NOTES) playNote(context, destination, pitch, from);
  const parts = await recorded(new MediaRecorder(destination.stream, { mimeType: type }));
  await context.close();
  return new Blob(parts, { type });
}

/** One note that fades out. */
function playNote(context: AudioContext, destination: AudioNode, pitch: number, from: number): void {
  const [oscillator, gain, at] = [context.createOscillator(), context.createGain(), context.currentTime + from];
  oscillator.frequency.value = pitch;
  gain.gain.setValueAtTime(LOUD, at);
  gain.gain.exponentialRampToValueAtTime(SILENT, at + LASTS_SEC - from);
  oscillator.connect(gain).connect(destination);
  oscillator.start(at);
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
