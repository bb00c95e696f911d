/** The content of a message by type. Files are loaded from the sandbox; external links are only shown. */

import type { ReactNode } from "react";

import { fileAt } from "./sandbox-api";
import { inside, listIn, textIn, type Line } from "./model";
import styles from "./phones.module.css";
import { words } from "./texts";

const named = (kind: string): string => words.kinds[kind] ?? words.shown.unknown;

export function Content({ line }: { readonly line: Line }) {
  const { type, text } = line;
  return (
    <>
      <Beside line={line} />
      {type === "template" && text === null && <em>{named("template")}</em>}
      {text !== null && text !== "" && type !== "location" && (
        <span className={styles["text"]} dir="auto">
          {text}
        </span>
      )}
      {type === "interactive" && <Small>{textIn(line.message, "interactive", "footer", "text")}</Small>}
    </>
  );
}

/** Everything except the text. */
function Beside({ line: { type, message, text } }: { readonly line: Line }): ReactNode {
  switch (type) {
    case "text":
    case "template":
    case "button":
      return null;
    case "image":
    case "sticker":
      return <Picture file={message[type]} label={named(type)} />;
    case "audio":
    case "video":
    case "document":
      return <File file={message[type]} kind={type} />;
    case "location":
      return <Place place={message["location"]} />;
    case "interactive":
      return <Heading header={inside(message, "interactive", "header")} />;
    case "contacts":
      return <em>{`${named("contacts")}: ${listIn(message, "contacts").map((card) => textIn(card, "name", "formatted_name")).join(", ")}`}</em>;
    case "reaction":
      return <Small>{named("reaction")}</Small>;
    default:
      return text === null ? <em>{words.shown.unknown}</em> : null;
  }
}

const Small = ({ children }: { readonly children: string }) => (children === "" ? null : <span className={styles["small"]}>{children}</span>);

function Picture({ file, label }: { readonly file: unknown; readonly label: string }) {
  const id = textIn(file, "id");
  if (id === "") return <Elsewhere label={label} file={file} />;
  return <img className={styles["picture"]} src={fileAt(id)} alt={label} />;
}

function File({ file, kind }: { readonly file: unknown; readonly kind: "audio" | "video" | "document" }) {
  const [id, label] = [textIn(file, "id"), named(kind)];
  if (id === "") return <Elsewhere label={label} file={file} />;
  if (kind === "audio") return <audio className={styles["sound"]} controls preload="metadata" src={fileAt(id)} aria-label={label} />;
  if (kind === "video") return <video className={styles["picture"]} controls preload="metadata" src={fileAt(id)} aria-label={label} />;
  return (
    <a className={styles["paper"]} href={fileAt(id)} download={textIn(file, "filename") || true}>
      {textIn(file, "filename") || label}
    </a>
  );
}

/** An external file: the page loads nothing from other origins. */
const Elsewhere = ({ label, file }: { readonly label: string; readonly file: unknown }) => (
  <span className={styles["elsewhere"]}>
    <em>{label}</em>
    <Small>{textIn(file, "link")}</Small>
  </span>
);

function Place({ place }: { readonly place: unknown }) {
  const degrees = ["latitude", "longitude"].map((name) => Number(inside(place, name)).toFixed(4)).join(", ");
  return (
    <span className={styles["elsewhere"]}>
      <em>{textIn(place, "name") || named("location")}</em>
      <Small>{textIn(place, "address")}</Small>
      <Small>{degrees}</Small>
    </span>
  );
}

function Heading({ header }: { readonly header: unknown }) {
  const kind = textIn(header, "type");
  if (kind === "text") return <strong>{textIn(header, "text")}</strong>;
  return kind === "image" ? <Picture file={inside(header, "image")} label={named("image")} /> : null;
}
