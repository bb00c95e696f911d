/** What became of the messages that were just sent again; followed until nothing more will happen. */

import { Button } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { linkTo } from "../../path";
import { ask, call } from "../api";
import { Answered, Panel, Tile, Tiles, type Mood } from "../kit";
import styles from "./dead-letters.module.css";
import { fatesOf, isGivenUp, nextLook, type Fate } from "./groups";
import { LETTERS } from "./letters";
import { words } from "./texts";

export interface SentAgain {
  /** When; the same ones may be sent again and again. */
  readonly at: number;
  readonly count: number;
  /** Newest first. */
  readonly ids: readonly number[];
}

const LOOKED_AT = 30;
const MOODS: Readonly<Partial<Record<Fate, Mood>>> = { delivered: "good", waiting: "busy", failed: "bad" };

export function Became({ again, onClose }: { readonly again: SentAgain; readonly onClose: () => void }) {
  const ids = again.ids.slice(0, LOOKED_AT);
  const fates = useQuery({
    queryKey: ["became", again.at, ...ids],
    queryFn: () => Promise.all(ids.map((id) => ask(call("get", "/api/v1/outbound/messages/{message_id}", { path: { message_id: id } })))),
    refetchInterval: ({ state }) => nextLook(state, again.at),
    gcTime: 0,
  });
  const queries = useQueryClient();
  const failed = fates.data === undefined ? 0 : fatesOf(fates.data).failed;
  useEffect(() => {
    // What failed again is a dead letter again.
    if (failed > 0) void queries.invalidateQueries({ queryKey: LETTERS.queryKey });
  }, [queries, failed, again.at]);
  return (
    <Panel
      title={words.became}
      intro={words.becameIntro(again.count, ids.length)}
      actions={
        <Button size="compact-sm" variant="default" onClick={onClose}>
          {words.close}
        </Button>
      }
    >
      <Answered to={fates}>
        {(messages) => (
          <>
            <Tiles>
              {(Object.entries(fatesOf(messages)) as [Fate, number][]).map(
                ([fate, count]) =>
                  (count > 0 || fate !== "cancelled") && (
                    <Tile key={fate} label={words.tally[fate]} value={count} {...(count > 0 && MOODS[fate] && { mood: MOODS[fate] })} />
                  ),
              )}
            </Tiles>
            {isGivenUp(fates, again.at) && <p className={styles["note"]}>{words.stillWaiting}</p>}
            <p className={styles["ids"]}>
              {messages.map(({ id }) => (
                <a key={id} {...linkTo(`/console/outbox/${id}`)}>
                  {id}
                </a>
              ))}
            </p>
          </>
        )}
      </Answered>
    </Panel>
  );
}
