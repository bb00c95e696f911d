/** One message on the phone. Content is rendered as text nodes, never as markup. */

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { OneTick, TwoTicks } from "../icons";
import { clockTime } from "../time";
import { sendMessage } from "./sandbox-api";
import { choicesOf, type Choice, type Choices } from "./choices";
import { Content } from "./content";
import type { Line } from "./model";
import styles from "./phones.module.css";
import { words } from "./texts";

interface Props {
  readonly line: Line;
  readonly phone: string;
  /** The message it replies to. */
  readonly quoted: Line | null;
  /** Its buttons were already used. */
  readonly answered: boolean;
}

export function Bubble({ line, phone, quoted, answered }: Props) {
  const mine = line.from === "customer";
  const choices = choicesOf(line);
  const tap = useMutation({ mutationFn: (answer: object) => sendMessage(phone, { message: answer }) });
  return (
    <div className={styles["line"]} data-from={line.from}>
      <div className={styles["bubble"]}>
        {quoted !== null && (
          <blockquote className={styles["quoted"]} dir="auto">
            {quoted.text || words.kinds[quoted.type] || words.shown.unknown}
          </blockquote>
        )}
        <Content line={line} />
        <span className={styles["meta"]}>
          <time dateTime={line.at}>{clockTime(line.at)}</time>
          {mine && <Ticks status={line.status} />}
        </span>
      </div>
      <Taps choices={choices} disabled={answered || tap.isPending} onTap={(answer) => tap.mutate(answer)} />
    </div>
  );
}

function Ticks({ status }: { readonly status: Line["status"] }) {
  const Tick = status === "sent" ? OneTick : TwoTicks;
  const label = words.ticks[status] ?? "";
  return (
    <span className={styles["ticks"]} data-status={status} role="img" aria-label={label} title={label}>
      <Tick size={15} />
    </span>
  );
}

interface TapsProps {
  readonly choices: Choices;
  readonly disabled: boolean;
  readonly onTap: (answer: object) => void;
}

function Taps({ choices: { buttons, list }, disabled, onTap }: TapsProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      {buttons.map((choice) => (
        <Tap key={choice.title} choice={choice} disabled={disabled} onTap={onTap} />
      ))}
      {list !== null && (
        <button type="button" className={styles["tap"]} aria-expanded={open} disabled={disabled} onClick={() => setOpen(!open)}>
          {list.button || words.shown.choose}
        </button>
      )}
      {list !== null && open && !disabled && (
        <div className={styles["choices"]}>
          {list.sections.map(({ title, rows }, place) => (
            <div key={place} role="group" aria-label={title || list.button}>
              {title !== "" && <p className={styles["choicesTitle"]}>{title}</p>}
              {rows.map((choice, at) => (
                <Tap key={at} choice={choice} disabled={disabled} onTap={onTap} />
              ))}
            </div>
          ))}
        </div>
      )}
    </>
  );
}

function Tap({ choice: { title, description, answer, url }, disabled, onTap }: { readonly choice: Choice } & Omit<TapsProps, "choices">) {
  if (url !== undefined)
    return (
      <a className={styles["tap"]} href={url} target="_blank" rel="noopener noreferrer">
        {title}
      </a>
    );
  return (
    <button type="button" className={styles["tap"]} disabled={disabled || answer === undefined} onClick={() => answer && onTap(answer)}>
      {title}
      {description !== undefined && <span className={styles["tapMore"]}>{description}</span>}
    </button>
  );
}
