/** The quick reply editor: a row is saved when it loses focus, and closing saves all rows. */

import { Button, Loader } from "@mantine/core";
import { useRef, useState } from "react";

import type { QuickReply } from "../model";
import { texts } from "../texts";
import { Dialog } from "./dialog";
import { useQuickReplies } from "./quick-reply-requests";
import { QuickLine, type Save } from "./quick-line";
import { QuickSuggestions } from "./quick-suggestions";
import styles from "./quick.module.css";

export default function QuickEditor({ onClose }: { readonly onClose: () => void }) {
  const { data, isError, isFetchedAfterMount, refetch } = useQuickReplies();
  const saves = useRef(new Map<number, Save>());
  const [isStuck, setStuck] = useState(false);
  const leave = async () => {
    if (isStuck) return onClose(); // the warning was shown, and the user closes anyway
    const done = await Promise.all([...saves.current.values()].map((save) => save()));
    if (done.every(Boolean)) onClose();
    else setStuck(true);
  };
  const close = () => void leave();
  return (
    <Dialog title={texts.quick.title} onClose={close}>
      <p className={styles["hint"]}>{texts.quick.hint}</p>
      {data !== undefined && isFetchedAfterMount ? (
        <Lines replies={data} saves={saves.current} onType={() => setStuck(false)} />
      ) : isError ? (
        <p>
          {texts.quick.unread} <Button size="compact-sm" onClick={() => void refetch()}>{texts.thread.again}</Button>
        </p>
      ) : (
        <Loader size="sm" aria-label={texts.quick.loading} />
      )}
      <div className={styles["end"]}>
        {isStuck && (
          <p className={styles["bad"]} role="alert">
            {texts.quick.stuck}
          </p>
        )}
        <Button onClick={close}>{texts.quick.done}</Button>
      </div>
    </Dialog>
  );
}

interface Line {
  readonly id: number;
  readonly reply: QuickReply | null;
}

interface LinesProps {
  readonly replies: readonly QuickReply[];
  readonly saves: Map<number, Save>;
  readonly onType: () => void;
}

/** A snapshot from when the editor was opened, so that changes by others do not move rows while editing. */
function Lines({ replies, saves, onType }: LinesProps) {
  const [lines, setLines] = useState<readonly Line[]>(() => replies.map((reply, id) => ({ id, reply })));
  const next = useRef(lines.length);
  const add = (reply: QuickReply | null) => setLines((known) => [...known, { id: next.current++, reply }]);
  return (
    <>
      {lines.map(({ id, reply }) => (
        <QuickLine
          key={id}
          reply={reply}
          onReady={(save) => void (save === null ? saves.delete(id) : saves.set(id, save))}
          onType={onType}
          onGone={() => setLines((known) => known.filter((line) => line.id !== id))}
        />
      ))}
      <QuickSuggestions replies={replies} onTaken={add} />
      <div>
        <Button variant="default" onClick={() => add(null)}>
          {texts.quick.add}
        </Button>
      </div>
    </>
  );
}
