/** The attachments of the next message, with their upload progress and a remove button. */

import { ActionIcon, Button, Progress } from "@mantine/core";

import { Cross } from "../icons";
import { texts } from "../texts";
import { mayRetry } from "./attachments";
import styles from "./composer.module.css";
import { sizeOf } from "./parts";
import type { Attachments } from "./use-attachments";

export function AttachmentList({ files: { list, cancel, again } }: { readonly files: Attachments }) {
  if (list.length === 0) return null;
  return (
    <ul className={styles["files"]} aria-label={texts.attachments.label}>
      {list.map(({ key, file, kind, progress, id, problem }) => (
        <li key={key} className={styles["file"]} data-bad={problem !== null || undefined}>
          <span className={styles["fileText"]}>
            <bdi className={styles["fileName"]}>{file.name}</bdi>
            <span className={styles["fileState"]} role={problem === null ? undefined : "alert"}>
              {sizeOf(file.size)} · {problem ?? (id !== null ? texts.attachments.ready : texts.attachments.uploading(progress))}
            </span>
            {problem === null && id === null && <Progress value={progress} size="xs" aria-label={file.name} transitionDuration={0} />}
          </span>
          {mayRetry({ file, kind, problem }) && (
            <Button size="compact-xs" variant="light" onClick={() => again(key)}>
              {texts.attachments.again}
            </Button>
          )}
          <ActionIcon variant="subtle" color="gray" size="md" aria-label={texts.attachments.cancel(file.name)} onClick={() => cancel(key)}>
            <Cross size={16} />
          </ActionIcon>
        </li>
      ))}
    </ul>
  );
}
