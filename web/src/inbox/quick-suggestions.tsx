/** Suggested quick replies for a team that has none. */

import { useMutation } from "@tanstack/react-query";

import type { QuickReply } from "../model";
import { texts } from "../texts";
import { useQuickReplyMutations } from "./quick-reply-requests";
import { faultOf, suggestionsFor, type Words } from "./quick-replies";
import styles from "./quick.module.css";

interface Props {
  /** The team's quick replies. */
  readonly replies: readonly Words[];
  readonly onTaken?: (reply: QuickReply) => void;
}

export function QuickSuggestions({ replies, onTaken }: Props) {
  const { put } = useQuickReplyMutations();
  const take = useMutation({ mutationFn: (words: Words) => put(words, null), onSuccess: (stored) => onTaken?.(stored) });
  const offered = suggestionsFor(replies);
  if (offered.length === 0) return null;
  return (
    <div>
      <p className={styles["soft"]}>{replies.length === 0 ? texts.quick.empty : texts.quick.more}</p>
      {offered.map((words) => (
        <button key={words.name} type="button" className={styles["suggestion"]} disabled={take.isPending} onClick={() => take.mutate(words)}>
          <strong>{texts.quick.take(words.name)}</strong>
          <span className={styles["text"]}>{words.text}</span>
        </button>
      ))}
      {take.isError && (
        <p className={styles["bad"]} role="alert">
          {faultOf(take.error).words}
        </p>
      )}
    </div>
  );
}
