/** Why a message did not get there, what to do about it, and the ways to do it. */

import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";

import { retry } from "../live/asking";
import { useDesk, useShown } from "../live/use-desk";
import type { Message } from "../model";
import { linkTo } from "../path";
import { texts } from "../texts";
import { failureOf, textOf } from "../words";
import { isOnItsWay } from "./again";
import styles from "./bubble.module.css";
import { setDraft } from "./drafts";

/** Nothing is to be done: somebody else answers, or it was taken back. */
const ENDED = ["TAKEN_OVER", "TAKEN_BACK"];

export function Failure({ message }: { readonly message: Message }) {
  const desk = useDesk();
  const { error, outbound_id: id, conversation_id: where, content } = message;
  const again = useMutation({ mutationFn: (sent: Message) => retry(desk.client, Number(sent.outbound_id)) });
  const code = error?.code ?? null;
  const row = useShown((shown) => shown.conversations.get(where));
  const isOver = row?.window_expires_at != null && Date.parse(row.window_expires_at) <= Date.now();
  const mayWrite = desk.me.role !== "readonly" && !ENDED.includes(code ?? "") && (!isOver || content["type"] === "template");
  const edit = () => {
    setDraft(desk.me.user_id, where, textOf(content));
    document.getElementById("composer")?.focus();
  };
  return (
    <span className={styles["failure"]}>
      {failureOf(code, error?.title ?? null)}
      {error != null && <span className={styles["remedy"]}>{texts.remedy[error.code] ?? error.remedy}</span>}
      <span className={styles["choices"]}>
        {mayWrite && id != null && (
          <Button size="compact-xs" variant="default" loading={isOnItsWay(again, message)} onClick={() => again.mutate(message)}>
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
      {again.isError && <span role="alert">{texts.failure["retryFailed"]}</span>}
    </span>
  );
}
