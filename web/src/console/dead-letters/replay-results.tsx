/** The results of sending dead letters again, polled until they are final. */

import { Button } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { linkTo } from "../../path";
import { ask, call } from "../api";
import { QueryState, Panel, Tile, Tiles, type Mood } from "../kit";
import styles from "./dead-letters.module.css";
import { fatesOf, isGivenUp, nextLook, type Fate } from "./groups";
import { DEAD_LETTERS } from "./dead-letter-query";
import { words } from "./texts";

export interface Replay {
  /** Distinguishes repeated replays of the same messages. */
  readonly at: number;
  readonly count: number;
  /** Newest first. */
  readonly ids: readonly number[];
}

const LOOKED_AT = 30;
const MOODS: Readonly<Partial<Record<Fate, Mood>>> = { delivered: "good", waiting: "busy", failed: "bad" };

export function ReplayResults({ replay, onClose }: { readonly replay: Replay; readonly onClose: () => void }) {
  const ids = replay.ids.slice(0, LOOKED_AT);
  const fates = useQuery({
    queryKey: ["became", replay.at, ...ids],
    queryFn: () => Promise.all(ids.map((id) => ask(call("get", "/api/v1/outbound/messages/{message_id}", { path: { message_id: id } })))),
    refetchInterval: ({ state }) => nextLook(state, replay.at),
    gcTime: 0,
  });
  const queries = useQueryClient();
  const failed = fates.data === undefined ? 0 : fatesOf(fates.data).failed;
  useEffect(() => {
    // A message that failed again is a dead letter again.
    if (failed > 0) void queries.invalidateQueries({ queryKey: DEAD_LETTERS.queryKey });
  }, [queries, failed, replay.at]);
  return (
    <Panel
      title={words.became}
      intro={words.becameIntro(replay.count, ids.length)}
      actions={
        <Button size="compact-sm" variant="default" onClick={onClose}>
          {words.close}
        </Button>
      }
    >
      <QueryState query={fates}>
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
            {isGivenUp(fates, replay.at) && <p className={styles["note"]}>{words.stillWaiting}</p>}
            <p className={styles["ids"]}>
              {messages.map(({ id }) => (
                <a key={id} {...linkTo(`/console/outbox/${id}`)}>
                  {id}
                </a>
              ))}
            </p>
          </>
        )}
      </QueryState>
    </Panel>
  );
}
