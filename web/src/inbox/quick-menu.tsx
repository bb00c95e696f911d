/** Quick replies to choose from, above what is being written; the keys are the composer's. */

import { Button } from "@mantine/core";

import { texts } from "../texts";
import styles from "./composer.module.css";
import type { QuickReply } from "./quick-replies";

interface Props {
  readonly replies: readonly QuickReply[];
  readonly chosen: number;
  readonly onChoose: (reply: QuickReply) => void;
  readonly onEdit: () => void;
}

export const QUICK_MENU = "quick-menu";
export const optionId = (index: number): string => `${QUICK_MENU}-${index}`;

export function QuickMenu({ replies, chosen, onChoose, onEdit }: Props) {
  return (
    <div className={styles["quick"]}>
      {replies.length === 0 ? (
        <p className={styles["quickEmpty"]}>{texts.quick.empty}</p>
      ) : (
        <div role="listbox" id={QUICK_MENU} aria-label={texts.quick.title} className={styles["quickList"]}>
          {replies.map((reply, index) => (
            <div
              key={`${index}:${reply.name}`}
              id={optionId(index)}
              role="option"
              aria-selected={index === chosen}
              className={styles["quickOne"]}
              onMouseDown={(event) => event.preventDefault()} // the box keeps the focus
              onClick={() => onChoose(reply)}
            >
              <strong>
                <bdi>/{reply.name}</bdi>
              </strong>
              <bdi className={styles["quickText"]}>{reply.text}</bdi>
            </div>
          ))}
        </div>
      )}
      <Button size="compact-xs" variant="subtle" onMouseDown={(event) => event.preventDefault()} onClick={onEdit}>
        {texts.quick.edit}
      </Button>
    </div>
  );
}
