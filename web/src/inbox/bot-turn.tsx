/** That the bot is about to answer. Asked of the server only while this thread is open and a customer's word is the last. */

import { useThrottledValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";

import { conversation as ask } from "../live/asking";
import { BOT } from "../live/filters";
import { useDesk } from "../live/use-desk";
import type { Conversation } from "../model";
import { everyUnlessFailing } from "../patience";
import { texts } from "../texts";
import { isFromCustomer } from "../words";
import styles from "./inbox.module.css";

const LOOK_EVERY_MS = 700;

export function BotTurn({ conversation }: { readonly conversation: Conversation }) {
  const desk = useDesk();
  const { conversation_id: id, floor, last_message: last } = conversation;
  const isAsked = floor === BOT && last !== null && isFromCustomer(last.sender_id);
  const told = useThrottledValue(last?.position, LOOK_EVERY_MS);
  const { data } = useQuery({
    queryKey: ["turn", id, told],
    queryFn: () => ask(desk.client, id),
    enabled: isAsked,
    refetchInterval: ({ state }) => (state.data?.turn === null ? false : everyUnlessFailing(state, LOOK_EVERY_MS)),
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
