/** Why a message failed, what to do about it, and the available actions. */

import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";

import { retry } from "../live/requests";
import { useInboxStore, useInboxState } from "../live/use-inbox-store";
import type { Message } from "../model";
import { linkTo } from "../path";
import { texts } from "../texts";
import { failureOf, textOf } from "../display-text";
import { isRetrying } from "./retry-button";
import styles from "./bubble.module.css";
import { setDraft } from "./drafts";

/** Nothing to do: someone else took over, or the message was withdrawn. */
const ENDED = ["TAKEN_OVER", "TAKEN_BACK"];

export function Failure({ message }: { readonly message: Message }) {
  const store = useInboxStore();
  const { error, outbound_id: id, conversation_id: where, content } = message;
  const retrying = useMutation({ mutationFn: (sent: Message) => retry(store.client, Number(sent.outbound_id)) });
  const code = error?.code ?? null;
  const row = useInboxState((state) => state.conversations.get(where));
  const isOver = row?.window_expires_at != null && Date.parse(row.window_expires_at) <= Date.now();
  const mayWrite = store.me.role !== "readonly" && !ENDED.includes(code ?? "") && (!isOver || content["type"] === "template");
  const edit = () => {
    setDraft(store.me.user_id, where, textOf(content));
    document.getElementById("composer")?.focus();
  };
  return (
    <span className={styles["failure"]}>
      {failureOf(code, error?.title ?? null)}
      {error != null && <span className={styles["remedy"]}>{texts.remedy[error.code] ?? error.remedy}</span>}
      <span className={styles["choices"]}>
        {mayWrite && id != null && (
          <Button size="compact-xs" variant="default" loading={isRetrying(retrying, message)} onClick={() => retrying.mutate(message)}>
            {texts.failure["retry"]}
          </Button>
        )}
        {mayWrite && content["type"] === "text" && (
          <Button size="compact-xs" variant="subtle" onClick={edit}>
            {texts.failure["edit"]}
          </Button>
        )}
        {id != null && (
          <a className={styles["why"]} {...linkTo(`/console/outbox/${id}`)}>
            {texts.failure["details"]}
          </a>
        )}
      </span>
      {retrying.isError && <span role="alert">{texts.failure["retryFailed"]}</span>}
    </span>
  );
}
