/** Attachments: supported types, size limits, and the message content they become. Pure except for the upload. */

import type { Content } from "@waypost/client";

import { texts } from "../texts";
import { sizeOf } from "./parts";

export type Kind = "image" | "video" | "audio" | "document";

export interface Attachment {
  readonly key: string;
  readonly file: File;
  readonly kind: Kind;
  /** In percent. */
  readonly progress: number;
  /** The provider's media ID, once uploaded. */
  readonly id: string | null;
  readonly problem: string | null;
}

const MB = 1_000_000;
const LIMITS: Readonly<Record<Kind, number>> = { image: 5 * MB, video: 16 * MB, audio: 16 * MB, document: 100 * MB };
const KINDS: Readonly<Record<string, Kind>> = {
  "image/jpeg": "image",
  "image/png": "image",
  "video/mp4": "video",
  "video/3gpp": "video",
  "audio/aac": "audio",
  "audio/amr": "audio",
  "audio/mpeg": "audio",
  "audio/mp4": "audio",
  "audio/ogg": "audio",
};

/** Types that WhatsApp does not display as media are sent as documents. */
export const kindOf = (mimeType: string): Kind => KINDS[mimeType.split(";")[0]?.trim().toLowerCase() ?? ""] ?? "document";

/** Why the file cannot be sent; null if it can. */
export function problemOf({ size }: Pick<File, "size">, kind: Kind): string | null {
  const limit = LIMITS[kind];
  return size > limit ? texts.attachments.tooLarge(texts.attachments.kinds[kind] ?? kind, sizeOf(limit)) : null;
}

/** A failed upload can be retried, unless the file is too large or not supported by WhatsApp. */
export const mayRetry = ({ file, kind, problem }: Pick<Attachment, "kind" | "problem"> & { readonly file: Pick<File, "size"> }): boolean =>
  problem !== null && problem !== texts.attachments.refused && problemOf(file, kind) === null;

const CAPTIONED: readonly Kind[] = ["image", "video", "document"];

/** The messages to send: the text becomes the caption of the first file that can have one, otherwise its own message. */
export function contentsOf(files: readonly Attachment[], words: string, context: Content["context"]): readonly Content[] {
  const carrier = words === "" ? -1 : files.findIndex(({ kind }) => CAPTIONED.includes(kind));
  const beside = context === undefined ? {} : { context };
  const sent = files.map(({ kind, id, file }, index): Content => {
    const named = kind === "document" ? { filename: file.name } : {};
    return { type: kind, [kind]: { id, ...named, ...(index === carrier && { caption: words }) }, ...beside };
  });
  return carrier === -1 && words !== "" ? [...sent, { type: "text", text: words, ...beside }] : sent;
}

export interface Upload {
  readonly done: Promise<string>;
  readonly cancel: () => void;
}

/** Uses XMLHttpRequest, since fetch does not report upload progress. */
export function upload(file: File, from: string | null, onProgress: (percent: number) => void): Upload {
  const request = new XMLHttpRequest();
  const done = new Promise<string>((resolve, reject) => {
    request.open("POST", "/api/v1/outbound/media");
    request.responseType = "json";
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? Math.floor((loaded / total) * 100) : 0);
    request.onload = () => {
      const answer = request.response as { readonly id?: string; readonly code?: string } | null;
      if (request.status === 201 && typeof answer?.id === "string") resolve(answer.id);
      else reject(new Error(request.status === 422 || request.status === 415 ? texts.attachments.refused : texts.attachments.failed));
    };
    request.onerror = () => reject(new Error(texts.attachments.failed));
  });
  const form = new FormData();
  if (from !== null) form.append("from", from);
  form.append("file", file);
  request.send(form);
  return { done, cancel: () => request.abort() };
}
