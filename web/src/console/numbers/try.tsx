/** A number is tried: the provider is asked whether it knows it with its token, and what it says is shown. */

import { Button, Loader } from "@mantine/core";
import { useEffect, useRef } from "react";

import { useDesk } from "../../live/use-desk";
import { call, useDeed } from "../api";
import { Commands, Curl, Dialog, Fact, Facts, Failed, Marked, Status } from "../kit";
import styles from "./numbers.module.css";
import { trial as words } from "./texts";
import { asSentence, moodOf, onFile, type Trial } from "./trial";

const asking = (id: string) => call("post", "/api/v1/numbers/{phone_number_id}/try", { path: { phone_number_id: id } });
const cliFor = (org: string, id: string): string => `waypost admin try-number ${org} ${id}`;

interface Props {
  readonly id: string;
  readonly onTried: (trial: Trial) => void;
}

/** In the wizard: a button, and below it the answer. */
export function TryHere({ id, onTried }: Props) {
  const { me } = useDesk();
  const deed = useDeed<Trial>(onTried);
  return (
    <div className={styles["try"]}>
      <div className={styles["tryHead"]}>
        <p className={styles["text"]}>{words.intro}</p>
        <Curl call={asking(id)} cli={cliFor(me.org_id, id)} />
        <Button size="compact-sm" loading={deed.isPending} onClick={() => deed.mutate(asking(id))}>
          {deed.data === undefined ? words.button : words.again}
        </Button>
      </div>
      <Answer deed={deed} />
    </div>
  );
}

/** From the list: asked when it is opened. */
export function TryNumber({ id, onTried, onClose }: Props & { readonly onClose: () => void }) {
  const { me } = useDesk();
  const deed = useDeed<Trial>(onTried);
  const { mutate } = deed;
  const isAsked = useRef(false);
  useEffect(() => {
    if (!isAsked.current) mutate(asking(id));
    isAsked.current = true;
  }, [mutate, id]);
  return (
    <Dialog title={words.title(id)} onClose={onClose}>
      <p className={styles["text"]}>{words.intro}</p>
      <Answer deed={deed} />
      <Commands call={asking(id)} cli={cliFor(me.org_id, id)} />
      <div className={styles["foot"]}>
        <Button variant="default" loading={deed.isPending} onClick={() => mutate(asking(id))}>
          {words.again}
        </Button>
        <Button onClick={onClose}>{words.close}</Button>
      </div>
    </Dialog>
  );
}

function Answer({ deed: { data, error, isPending } }: { readonly deed: ReturnType<typeof useDeed<Trial>> }) {
  return (
    <div aria-live="polite">
      {isPending && (
        <p className={styles["text"]}>
          <Loader size="xs" aria-hidden="true" /> {words.asking}
        </p>
      )}
      {error !== null && <Failed error={error} />}
      {data !== undefined && !isPending && <Told trial={data} />}
    </div>
  );
}

function Told({ trial }: { readonly trial: Trial }) {
  const { said, remedy } = trial;
  return (
    <div className={styles["told"]}>
      <Status mood={moodOf(trial)}>{moodOf(trial) === "good" ? words.works : asSentence(said)}</Status>
      {remedy !== null && (
        <p className={styles["text"]}>
          <strong>{words.doing}:</strong> <Marked text={remedy} />
        </p>
      )}
      <Facts>
        {onFile(trial).map(([name, value]) => (
          <Fact key={name} name={name}>
            {value}
          </Fact>
        ))}
      </Facts>
    </div>
  );
}
