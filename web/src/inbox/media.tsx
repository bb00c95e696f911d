/** A file in a message: displayed or played if the browser can, otherwise a download link. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { Paper } from "../icons";
import { partOf } from "../live/references";
import type { Message, MessageFile } from "../model";
import { backoffDelay } from "../poll-interval";
import { texts } from "../texts";
import styles from "./bubble.module.css";
import { Dialog } from "./dialog";
import { stateOf } from "./media-state";
import { Words } from "./message-body";
import { sizeOf } from "./parts";
import { previewOf } from "./previews";

interface Props {
  readonly message: Pick<Message, "content"> & Partial<Pick<Message, "media">>;
  readonly type: string;
  readonly caption: string;
}

const FIRST_LOOK_MS = 1_000;

export function Media({ message: { content, media }, type, caption }: Props) {
  const part = partOf(content, type);
  const own = previewOf(part["id"]);
  const label = texts.content[type] ?? texts.media.unnamed;
  const name = nameIn(part, media ?? null) ?? own?.name ?? null;
  // Files sent from this tab are shown from memory, without waiting for the server.
  const element = own ? <File src={own.url} type={type} name={name} size={own.size} /> : media ? <Received file={media} type={type} name={name} /> : <Unseen label={label} name={name} />;
  if (caption === "") return element;
  return (
    <>
      <div>{element}</div>
      <Words label={null} text={caption} />
    </>
  );
}

function nameIn(part: Readonly<Record<string, unknown>>, media: MessageFile | null): string | null {
  const found = media?.filename ?? part["filename"];
  return typeof found === "string" && found !== "" ? found : null;
}

/** Sent from elsewhere: only the provider has the file. */
const Unseen = ({ label, name }: { readonly label: string; readonly name: string | null }) => (
  <span className={styles["body"]}>
    <em className={styles["label"]}>{label}</em>
    {name !== null && <bdi>{name}</bdi>}
  </span>
);

function Received({ file, type, name }: { readonly file: MessageFile; readonly type: string; readonly name: string | null }) {
  const { data: state } = useQuery({
    queryKey: ["media", file.id],
    queryFn: () => stateOf(file.id),
    enabled: file.state === "pending",
    refetchInterval: ({ state: { data, dataUpdateCount, errorUpdateCount } }) =>
      data === undefined || data === "pending" ? backoffDelay(dataUpdateCount + errorUpdateCount, FIRST_LOOK_MS) : false,
    initialData: file.state,
    retry: false,
  });
  if (state === "pending") return <span className={styles["soft"]}>{texts.media.pending}</span>;
  if (state === "stored") return <File src={`/api/v1/media/${file.id}`} type={type} name={name} size={file.size} />;
  return <span className={styles["soft"]}>{state === "failed" ? texts.media.failed : texts.media.gone}</span>;
}

interface FileProps {
  readonly src: string;
  readonly type: string;
  readonly name: string | null;
  readonly size: number | null;
}

function File({ src, type, name, size }: FileProps) {
  const [isOdd, setOdd] = useState(false);
  switch (isOdd ? "document" : type) {
    case "image":
      return <Photo src={src} alt={name ?? texts.media.photo} onOdd={() => setOdd(true)} />;
    case "sticker":
      return <img className={styles["sticker"]} src={src} alt={texts.media.sticker} loading="lazy" onError={() => setOdd(true)} />;
    case "video":
      return <video className={styles["video"]} src={src} controls preload="metadata" aria-label={texts.content["video"]} />;
    case "audio":
      return <audio className={styles["audio"]} src={src} controls preload="metadata" aria-label={texts.content["audio"]} />;
    default:
      return (
        <a className={styles["file"]} href={src} download={name ?? ""} title={texts.media.save(name ?? texts.media.unnamed)}>
          <Paper size={26} />
          <span className={styles["fileText"]}>
            <bdi>{name ?? texts.content[type] ?? texts.media.unnamed}</bdi>
            {size !== null && <span className={styles["soft"]}>{sizeOf(size)}</span>}
          </span>
        </a>
      );
  }
}

/** If the browser cannot display the image, it can still be downloaded. */
function Photo({ src, alt, onOdd }: { readonly src: string; readonly alt: string; readonly onOdd: () => void }) {
  const [large, setLarge] = useState(false);
  return (
    <>
      <button type="button" className={styles["photo"]} aria-label={`${texts.media.enlarge}: ${alt}`} onClick={() => setLarge(true)}>
        <img src={src} alt="" loading="lazy" onError={onOdd} />
      </button>
      {large && (
        <Dialog title={alt} onClose={() => setLarge(false)} wide>
          <img className={styles["large"]} src={src} alt={alt} />
        </Dialog>
      )}
    </>
  );
}
