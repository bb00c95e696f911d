/** A button for something that changes the world: it says what will happen and how to do the same by command, and asks first. */

import { Button, Modal } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { useDeed, type Call } from "../api";
import { words } from "../texts";
import { Failed } from "./answered";
import { Commands } from "./curl";
import styles from "./kit.module.css";
import { useSay } from "./said";

interface Props<Answer> {
  readonly label: string;
  /** The question, as a heading; and what will happen. */
  readonly title: string;
  readonly children?: ReactNode;
  readonly call: Call<Answer>;
  readonly cli?: string | undefined;
  /** What cannot be undone is red. */
  readonly danger?: boolean;
  readonly disabled?: boolean;
  /** Said at the bottom of the page when it was done. */
  readonly done?: string | ((answer: Answer) => string);
  readonly onDone?: (answer: Answer) => void;
  readonly size?: "compact-sm" | "sm";
  readonly variant?: "default" | "light" | "filled";
}

export function Deed<Answer>(props: Props<Answer>) {
  const { label, danger = false, disabled = false, size = "compact-sm", variant = "default" } = props;
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button size={size} variant={variant} {...(danger && { color: "red" })} disabled={disabled} onClick={() => setOpen(true)}>
        {label}
      </Button>
      {open && <Question {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

function Question<Answer>({ label, title, children, call, cli, danger = false, done, onDone, onClose }: Props<Answer> & { readonly onClose: () => void }) {
  const say = useSay();
  const deed = useDeed<Answer>((answer) => {
    onClose();
    if (done !== undefined) say(typeof done === "string" ? done : done(answer));
    onDone?.(answer);
  });
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      {deed.error !== null && <Failed error={deed.error} />}
      <Commands call={call} cli={cli} />
      <div className={styles["dialogFoot"]}>
        <Button variant="default" onClick={onClose}>
          {words.deed.cancel}
        </Button>
        <Button {...(danger && { color: "red" })} loading={deed.isPending} onClick={() => deed.mutate(call)} data-autofocus>
          {label}
        </Button>
      </div>
    </Dialog>
  );
}

/** A dialog for anything else; it is there while it is drawn. */
export function Dialog({ title, onClose, children }: { readonly title: string; readonly onClose: () => void; readonly children: ReactNode }) {
  return (
    // Locking the page's scrolling would need a style element, which the page's policy forbids.
    <Modal opened onClose={onClose} title={title} classNames={{ title: styles["dialogTitle"] ?? "" }} centered lockScroll={false} transitionProps={{ duration: 0 }} closeButtonProps={{ "aria-label": words.deed.cancel }}>
      <div className={styles["dialog"]}>{children}</div>
    </Modal>
  );
}
