/** A button for an action: its dialog explains the effect, shows the equivalent commands, and asks for confirmation. */

import { Button, Modal } from "@mantine/core";
import { useState, type ReactNode } from "react";

import { useApiMutation, type Call } from "../api";
import { words } from "../texts";
import { Failed } from "./query-state";
import { Commands } from "./curl";
import styles from "./kit.module.css";
import { useToast } from "./toast";

interface Props<Answer> {
  readonly label: string;
  /** The title of the dialog, and its text. */
  readonly title: string;
  readonly children?: ReactNode;
  readonly call: Call<Answer>;
  readonly cli?: string | undefined;
  /** Red, for actions that cannot be undone. */
  readonly danger?: boolean;
  readonly disabled?: boolean;
  /** The toast after success. */
  readonly done?: string | ((answer: Answer) => string);
  readonly onDone?: (answer: Answer) => void;
  readonly size?: "compact-sm" | "sm";
  readonly variant?: "default" | "light" | "filled";
}

export function ActionButton<Answer>(props: Props<Answer>) {
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
  const toast = useToast();
  const mutation = useApiMutation<Answer>((answer) => {
    onClose();
    if (done !== undefined) toast(typeof done === "string" ? done : done(answer));
    onDone?.(answer);
  });
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      {mutation.error !== null && <Failed error={mutation.error} />}
      <Commands call={call} cli={cli} />
      <div className={styles["dialogFoot"]}>
        <Button variant="default" onClick={onClose}>
          {words.action.cancel}
        </Button>
        <Button {...(danger && { color: "red" })} loading={mutation.isPending} onClick={() => mutation.mutate(call)} data-autofocus>
          {label}
        </Button>
      </div>
    </Dialog>
  );
}

/** A general dialog. */
export function Dialog({ title, onClose, children }: { readonly title: string; readonly onClose: () => void; readonly children: ReactNode }) {
  return (
    // Locking the scroll position would need a style element, which the content security policy forbids.
    <Modal opened onClose={onClose} title={title} classNames={{ title: styles["dialogTitle"] ?? "" }} centered lockScroll={false} transitionProps={{ duration: 0 }} closeButtonProps={{ "aria-label": words.action.cancel }}>
      <div className={styles["dialog"]}>{children}</div>
    </Modal>
  );
}
