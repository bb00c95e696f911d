/** Search results: customers by name or number, then messages, newest first. */

import { Loader, Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMemo, type MouseEvent } from "react";

import { numberIn, customersMatching } from "../live/customer-search";
import { useInboxStore, useInboxState } from "../live/use-inbox-store";
import type { Conversation, Found } from "../model";
import { piecesOf } from "../snippet";
import { texts } from "../texts";
import { shortMoment } from "../time";
import { nameOf } from "../display-text";
import styles from "./inbox.module.css";
import { goTo, pathTo } from "./path";

const PAUSE_MS = 250;
const MOST_PEOPLE = 20;

export function SearchResults({ words, open }: { readonly words: string; readonly open: string | null }) {
  const store = useInboxStore();
  const [asked] = useDebouncedValue(words, PAUSE_MS);
  const { data, isError, isPending } = useQuery({ queryKey: ["search", asked], queryFn: () => store.search(asked), staleTime: 5_000 });
  const people = usePeople(words, asked);
  const hasPeople = people.length > 0;
  return (
    <div className={styles["scroll"]} aria-live="polite" aria-busy={isPending}>
      {hasPeople && (
        <>
          <h3 className={styles["foundHead"]}>{texts.search.people}</h3>
          <ul className={styles["results"]} aria-label={texts.search.people}>
            {people.slice(0, MOST_PEOPLE).map((person) => (
              <li key={person.conversation_id}>
                <Person conversation={person} isOpen={person.conversation_id === open} />
              </li>
            ))}
          </ul>
          {people.length > MOST_PEOPLE && <p className={styles["foundMore"]}>{texts.search.morePeople}</p>}
          <h3 className={styles["foundHead"]}>{texts.search.messages}</h3>
        </>
      )}
      {isPending && (
        <div className={styles["empty"]}>
          <Loader size="sm" />
        </div>
      )}
      {isError && <Text className={styles["empty"]}>{texts.search.failed}</Text>}
      {data?.length === 0 && (hasPeople ? <p className={styles["foundMore"]}>{texts.search.noMessages}</p> : <Text className={styles["empty"]}>{texts.search.nothing(asked)}</Text>)}
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

/** From the loaded conversations, one more than displayed. A full number is also requested from the server. */
function usePeople(words: string, asked: string): readonly Conversation[] {
  const store = useInboxStore();
  const number = numberIn(asked);
  useQuery({ queryKey: ["person", number], queryFn: () => store.seek(number ?? "").then(() => true), enabled: number !== null, staleTime: 5_000, retry: false });
  const conversations = useInboxState((state) => state.conversations);
  return useMemo(() => customersMatching(words, conversations.values(), MOST_PEOPLE + 1), [words, conversations]);
}

function Person({ conversation, isOpen }: { readonly conversation: Conversation; readonly isOpen: boolean }) {
  const { conversation_id: id, contact, active_at: at } = conversation;
  const go = (event: MouseEvent) => {
    event.preventDefault();
    goTo(id);
  };
  return (
    <a href={pathTo(id)} className={`${styles["row"]} ${styles["found"]}`} onClick={go} aria-current={isOpen ? "page" : undefined}>
      <span className={styles["rowText"]}>
        <span className={styles["rowTop"]}>
          <bdi className={styles["rowName"]}>{nameOf(conversation)}</bdi>
          <time className={styles["rowTime"]} dateTime={at}>
            {shortMoment(at, new Date())}
          </time>
        </span>
        <bdi className={styles["rowLast"]}>{contact?.phone ?? contact?.username}</bdi>
      </span>
    </a>
  );
}

function Result({ found: { conversation_id: id, message, snippet }, isOpen }: { readonly found: Found; readonly isOpen: boolean }) {
  const conversation = useInboxState((state) => state.conversations.get(id));
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
