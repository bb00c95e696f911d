/** What was found, the newest first. */

import { Loader, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import type { MouseEvent } from "react";

import { useDesk, useShown } from "../live/use-desk";
import type { Found } from "../model";
import { piecesOf } from "../snippet";
import { texts } from "../texts";
import { shortMoment } from "../time";
import { nameOf } from "../words";
import styles from "./inbox.module.css";
import { goTo, pathTo } from "./path";

const PAUSE_MS = 250;

export function SearchResults({ words, open }: { readonly words: string; readonly open: string | null }) {
  const desk = useDesk();
  const [asked] = useDebouncedValue(words, PAUSE_MS);
  const { data, isError, isPending } = useQuery({ queryKey: ["search", asked], queryFn: () => desk.search(asked), staleTime: 5_000 });
  return (
    <div className={styles["scroll"]} aria-live="polite" aria-busy={isPending}>
      {isPending && (
        <div className={styles["empty"]}>
          <Loader size="sm" />
        </div>
      )}
      {isError && <Text className={styles["empty"]}>{texts.search.failed}</Text>}
      {data?.length === 0 && <Text className={styles["empty"]}>{texts.search.nothing}</Text>}
      {data !== undefined && data.length > 0 && (
        <ul className={styles["results"]} aria-label={texts.search.results}>
          {data.map((found) => (
            <li key={found.message.message_id}>
              <Result found={found} isOpen={found.conversation_id === open} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Result({ found: { conversation_id: id, message, snippet }, isOpen }: { readonly found: Found; readonly isOpen: boolean }) {
  const conversation = useShown((shown) => shown.conversations.get(id));
  const go = (event: MouseEvent) => {
    event.preventDefault();
    goTo(id, message.position);
  };
  return (
    <a href={pathTo(id, message.position)} className={`${styles["row"]} ${styles["found"]}`} onClick={go} aria-current={isOpen ? "page" : undefined}>
      <span className={styles["rowText"]}>
        <span className={styles["rowTop"]}>
          <bdi className={styles["rowName"]}>{conversation ? nameOf(conversation) : ""}</bdi>
          <time className={styles["rowTime"]} dateTime={message.timestamp}>
            {shortMoment(message.timestamp, new Date())}
          </time>
        </span>
        <bdi className={styles["rowLast"]}>
          {piecesOf(snippet).map(({ text, found }, index) => (found ? <mark key={index}>{text}</mark> : text))}
        </bdi>
      </span>
    </a>
  );
}
