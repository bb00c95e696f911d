/** Shows that the bot is about to answer. Polled only while the thread is open and the customer's message is the last one. */

import { useThrottledValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";

import { conversation as ask } from "../live/requests";
import { BOT } from "../live/filters";
import { useInboxStore } from "../live/use-inbox-store";
import type { Conversation } from "../model";
import { pollInterval } from "../poll-interval";
import { texts } from "../texts";
import { isFromCustomer } from "../display-text";
import styles from "./inbox.module.css";

const LOOK_EVERY_MS = 700;

export function BotTurn({ conversation }: { readonly conversation: Conversation }) {
  const store = useInboxStore();
  const { conversation_id: id, floor, last_message: last } = conversation;
  const isAsked = floor === BOT && last !== null && isFromCustomer(last.sender_id);
  const position = useThrottledValue(last?.position, LOOK_EVERY_MS);
  const { data } = useQuery({
    queryKey: ["turn", id, position],
    queryFn: () => ask(store.client, id),
    enabled: isAsked,
    refetchInterval: ({ state }) => (state.data?.turn === null ? false : pollInterval(state, LOOK_EVERY_MS)),
    retry: false,
    gcTime: 0,
  });
  const turn = isAsked && data?.floor === BOT ? data.turn : null;
  if (turn === null) return null;
  return (
    <div className={styles["typing"]} aria-live="polite" data-turn={turn}>
      {turn === "thinking" ? texts.thread.botThinks : texts.thread.botWaits}
      <span className={styles["dots"]} aria-hidden="true">
        <span />
        <span />
        <span />
      </span>
    </div>
  );
}
