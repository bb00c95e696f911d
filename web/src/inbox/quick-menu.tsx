/** The quick reply menu above the composer; the composer handles its keys. */

import { Button, Loader } from "@mantine/core";
import { useEffect } from "react";

import type { QuickReply } from "../model";
import { texts } from "../texts";
import type { Offer } from "./quick-choice";
import { QuickSuggestions } from "./quick-suggestions";
import styles from "./quick.module.css";

interface Props {
  readonly offer: Offer;
  readonly chosen: number;
  readonly onChoose: (reply: QuickReply) => void;
  readonly onEdit: () => void;
}

export const QUICK_MENU = "quick-menu";
export const isInQuickMenu = (target: EventTarget | null): boolean => target instanceof Element && target.closest(`.${styles["menu"]}`) !== null;
export const optionId = (index: number): string => `${QUICK_MENU}-${index}`;

export function QuickMenu({ offer, chosen, onChoose, onEdit }: Props) {
  return (
    <div className={styles["menu"]} onMouseDown={(event) => event.preventDefault() /* keeps the focus in the text field */}>
      {offer.is === "waiting" && <Loader size="sm" aria-label={texts.quick.loading} />}
      {offer.is === "failed" && <p className={styles["bad"]}>{texts.quick.unread}</p>}
      {offer.is === "none" && <QuickSuggestions replies={[]} />}
      {offer.is === "some" && <Options replies={offer.replies} chosen={chosen} onChoose={onChoose} />}
      <Button size="compact-xs" variant="subtle" onClick={onEdit}>
        {texts.quick.edit}
      </Button>
    </div>
  );
}

function Options({ replies, chosen, onChoose }: Pick<Props, "chosen" | "onChoose"> & { readonly replies: readonly QuickReply[] }) {
  useEffect(() => {
    document.getElementById(optionId(chosen))?.scrollIntoView({ block: "nearest" }); // newer browsers return a promise
  }, [chosen]);
  if (replies.length === 0) return <p className={styles["soft"]}>{texts.quick.noneFits}</p>;
  return (
    <div role="listbox" id={QUICK_MENU} aria-label={texts.quick.title} className={styles["list"]}>
      {replies.map((reply, index) => (
        <div key={reply.name} id={optionId(index)} role="option" aria-selected={index === chosen} className={styles["one"]} onClick={() => onChoose(reply)}>
          <strong>
            <bdi>/{reply.name}</bdi>
          </strong>
          <bdi className={styles["text"]}>{reply.text}</bdi>
        </div>
      ))}
    </div>
  );
}
