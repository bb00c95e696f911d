/** Copy to clipboard. */

import { Button, UnstyledButton } from "@mantine/core";
import { useEffect, useState } from "react";

import { words } from "../texts";
import styles from "./kit.module.css";

const SHOWN_MS = 1_500;

/** True for a moment after copying. */
function useCopied(): readonly [boolean, (text: string) => void] {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  return [copied, (text) => void toClipboard(text).then(setCopied)];
}

/** The clipboard API is not available on plain HTTP pages. */
async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    (document.querySelector("[role=dialog]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** A short text, such as an ID, that is copied on click. */
export function Copyable({ text, shown = text }: { readonly text: string; readonly shown?: string }) {
  const [copied, copy] = useCopied();
  return (
    <UnstyledButton className={styles["copyable"]} title={words.copy.do} aria-label={copied ? words.copy.done : words.copy.label(text)} onClick={() => copy(text)}>
      {copied ? words.copy.done : shown}
    </UnstyledButton>
  );
}

export function CopyButton({ text }: { readonly text: string }) {
  const [copied, copy] = useCopied();
  return (
    <Button size="compact-sm" variant="default" onClick={() => copy(text)}>
      {copied ? words.copy.done : words.copy.do}
    </Button>
  );
}
