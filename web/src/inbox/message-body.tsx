/** The body of a message. User input is rendered as text nodes, never as markup. */

import type { ReactNode } from "react";

import { partOf } from "../live/references";
import type { Message } from "../model";
import { texts } from "../texts";
import { labelOf, textOf } from "../display-text";
import styles from "./bubble.module.css";
import { Media } from "./media";
import { cardsIn, choicesIn, mapOf, placeIn } from "./parts";
import { useTemplateWords } from "./use-templates";

type Content = Message["content"];
type Shown = Pick<Message, "content"> & Partial<Pick<Message, "media">>;

const FILES = ["image", "video", "audio", "document", "sticker"];

export function Body({ message }: { readonly message: Shown }) {
  const { content } = message;
  const type = String(content["type"]);
  if (FILES.includes(type)) return <Media message={message} type={type} caption={textOf(content)} />;
  switch (type) {
    case "location":
      return <Place content={content} />;
    case "contacts":
      return <Cards content={content} />;
    case "template":
      return <FromTemplate content={content} />;
    case "interactive":
      return (
        <Words label={labelOf(content)} text={textOf(content)}>
          <Choices content={content} />
        </Words>
      );
    default:
      return <Words label={labelOf(content)} text={textOf(content)} />;
  }
}

export function Words({ label, text, children }: { readonly label: string | null; readonly text: string; readonly children?: ReactNode }) {
  return (
    <span className={styles["body"]} dir="auto">
      {label !== null && <em className={styles["label"]}>{label}</em>}
      {text}
      {children}
    </span>
  );
}

function Place({ content }: { readonly content: Content }) {
  const place = placeIn(content);
  return (
    <Words label={labelOf(content)} text={textOf(content)}>
      {place !== null && (
        <span className={styles["extra"]}>
          <span className={styles["soft"]}>
            {place.latitude}, {place.longitude}
          </span>{" "}
          <a href={mapOf(place)} target="_blank" rel="noopener noreferrer">
            {texts.media.map}
          </a>
        </span>
      )}
    </Words>
  );
}

function Cards({ content }: { readonly content: Content }) {
  return (
    <Words label={labelOf(content)} text="">
      {cardsIn(content).map(({ name, numbers }, index) => (
        <span key={index} className={styles["card"]}>
          <strong>
            <bdi>{name}</bdi>
          </strong>
          {numbers.map((number, nth) => (
            <span key={nth} className={styles["soft"]}>
              <bdi>{number}</bdi>
            </span>
          ))}
        </span>
      ))}
    </Words>
  );
}

function Choices({ content }: { readonly content: Content }) {
  const choices = choicesIn(content);
  if (choices.length === 0) return null;
  return (
    <span className={styles["offers"]}>
      {choices.map((choice, index) => (
        <span key={index} className={styles["offer"]}>
          <bdi>{choice}</bdi>
        </span>
      ))}
    </span>
  );
}

function FromTemplate({ content }: { readonly content: Content }) {
  const template = partOf(content, "template");
  const words = useTemplateWords(template);
  if (words === null) return <Words label={labelOf(content)} text={textOf(content)} />;
  return (
    <Words label={null} text={words}>
      <span className={styles["extra"]}>
        <em className={styles["soft"]}>
          {labelOf(content)}: <bdi>{textOf(content)}</bdi>
        </em>
      </span>
    </Words>
  );
}
