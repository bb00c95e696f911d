/** A modal dialog; the native element traps the focus and handles Escape. */

import { ActionIcon } from "@mantine/core";
import { useEffect, useRef, type MouseEvent, type ReactNode } from "react";

import { Cross } from "../icons";
import { texts } from "../texts";
import styles from "./dialog.module.css";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

/** Focuses the first input instead of the close button. */
export const focusWithin = (frame: Element | null): void => frame?.querySelector<HTMLElement>("[data-autofocus]")?.focus();

export function Dialog({ title, onClose, wide, children }: Props) {
  const frame = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = frame.current;
    dialog?.showModal();
    focusWithin(dialog);
    return () => dialog?.close();
  }, []);
  const press = (event: MouseEvent) => {
    if (event.target === frame.current) onClose(); // a click on the backdrop
  };
  return (
    <dialog
      ref={frame}
      className={styles["dialog"]}
      data-wide={wide || undefined}
      aria-label={title}
      onClick={press}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onKeyDown={(event) => event.stopPropagation()} // keeps the inbox shortcuts from firing
    >
      <div className={styles["inside"]}>
        <header className={styles["top"]}>
          <h2 className={styles["title"]}>
            <bdi>{title}</bdi>
          </h2>
          <ActionIcon variant="subtle" color="gray" size="lg" aria-label={texts.keys.close} onClick={onClose}>
            <Cross />
          </ActionIcon>
        </header>
        {children}
      </div>
    </dialog>
  );
}
