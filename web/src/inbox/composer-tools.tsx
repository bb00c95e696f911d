/** The toolbar below the message field. */

import { ActionIcon, Button } from "@mantine/core";
import { useRef } from "react";

import { Bolt, Clip, Form } from "../icons";
import { texts } from "../texts";
import styles from "./composer.module.css";
import { EmojiButton } from "./emoji";

interface Props {
  readonly withCustomer: boolean;
  readonly isNote: boolean;
  readonly isClosed: boolean;
  readonly onNote: () => void;
  readonly onEmoji: (emoji: string) => void;
  readonly onFiles: (files: Iterable<File>) => void;
  readonly onQuick: () => void;
  readonly onTemplate: () => void;
}

export function ComposerTools({ withCustomer, isNote, isClosed, onNote, onEmoji, onFiles, onQuick, onTemplate }: Props) {
  const chooser = useRef<HTMLInputElement>(null);
  return (
    <div className={styles["tools"]}>
      <EmojiButton onChoose={onEmoji} />
      {withCustomer && !isNote && (
        <>
          <Tool label={texts.composer.attach} onClick={() => chooser.current?.click()}>
            <Clip />
          </Tool>
          <input
            ref={chooser}
            type="file"
            multiple
            hidden
            aria-label={texts.composer.attach}
            onChange={(event) => {
              onFiles(event.currentTarget.files ?? []);
              event.currentTarget.value = "";
            }}
          />
          <Tool label={texts.composer.quick} onClick={onQuick}>
            <Bolt />
          </Tool>
        </>
      )}
      {withCustomer && (
        <Button size="compact-sm" variant={isClosed ? "filled" : "subtle"} color={isClosed ? "teal" : "gray"} leftSection={<Form size={16} />} title={texts.composer.templateHint} onClick={onTemplate}>
          {texts.composer.template}
        </Button>
      )}
      <span className={styles["space"]} />
      {withCustomer && (
        <Button size="compact-sm" radius="xl" variant={isNote ? "filled" : "default"} aria-pressed={isNote} title={texts.composer.noteHint} disabled={isClosed} onClick={onNote}>
          {texts.composer.note}
        </Button>
      )}
    </div>
  );
}

function Tool({ label, onClick, children }: { readonly label: string; readonly onClick: () => void; readonly children: React.ReactNode }) {
  return (
    <ActionIcon variant="subtle" color="gray" size={34} aria-label={label} title={label} onClick={onClick}>
      {children}
    </ActionIcon>
  );
}
