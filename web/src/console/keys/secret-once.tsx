/** Shows a secret once, with a copy button. */

import { Alert, Button } from "@mantine/core";

import { CopyButton, Dialog } from "../kit";
import styles from "./keys.module.css";
import { words } from "./texts";

interface Props {
  readonly title: string;
  readonly label: string;
  readonly hint: string;
  readonly secret: string;
  readonly onClose: () => void;
}

export function SecretOnce({ title, label, hint, secret, onClose }: Props) {
  return (
    <Dialog title={title} onClose={onClose}>
      <Alert color="yellow" variant="light">
        {hint}
      </Alert>
      <div className={styles["secret"]}>
        <code aria-label={label}>{secret}</code>
        <CopyButton text={secret} />
      </div>
      <Button onClick={onClose} className={styles["kept"] ?? ""}>
        {words.kept}
      </Button>
    </Dialog>
  );
}
