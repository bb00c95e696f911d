/** Tries a number: asks the provider whether it recognizes the number and token. */

import { Button, Loader } from "@mantine/core";
import { useEffect, useRef } from "react";

import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiMutation } from "../api";
import { Commands, Curl, Dialog, Fact, Facts, Failed, Marked, Status } from "../kit";
import styles from "./numbers.module.css";
import { trial as words } from "./texts";
import { asSentence, moodOf, onFile, type Trial } from "./trial";

const request = (id: string) => call("post", "/api/v1/numbers/{phone_number_id}/try", { path: { phone_number_id: id } });
const cliFor = (org: string, id: string): string => `waypost admin try-number ${org} ${id}`;

interface Props {
  readonly id: string;
  readonly onTried: (trial: Trial) => void;
}

/** In the wizard: a button with the result below it. */
export function InlineTrial({ id, onTried }: Props) {
  const { me } = useInboxStore();
  const mutation = useApiMutation<Trial>(onTried);
  return (
    <div className={styles["try"]}>
      <div className={styles["tryHead"]}>
        <p className={styles["text"]}>{words.intro}</p>
        <Curl call={request(id)} cli={cliFor(me.org_id, id)} />
        <Button size="compact-sm" loading={mutation.isPending} onClick={() => mutation.mutate(request(id))}>
          {mutation.data === undefined ? words.button : words.again}
        </Button>
      </div>
      <Answer mutation={mutation} />
    </div>
  );
}

/** From the list: runs when opened. */
export function TryNumberDialog({ id, onTried, onClose }: Props & { readonly onClose: () => void }) {
  const { me } = useInboxStore();
  const mutation = useApiMutation<Trial>(onTried);
  const { mutate } = mutation;
  const isAsked = useRef(false);
  useEffect(() => {
    if (!isAsked.current) mutate(request(id));
    isAsked.current = true;
  }, [mutate, id]);
  return (
    <Dialog title={words.title(id)} onClose={onClose}>
      <p className={styles["text"]}>{words.intro}</p>
      <Answer mutation={mutation} />
      <Commands call={request(id)} cli={cliFor(me.org_id, id)} />
      <div className={styles["foot"]}>
        <Button variant="default" loading={mutation.isPending} onClick={() => mutate(request(id))}>
          {words.again}
        </Button>
        <Button onClick={onClose}>{words.close}</Button>
      </div>
    </Dialog>
  );
}

function Answer({ mutation: { data, error, isPending } }: { readonly mutation: ReturnType<typeof useApiMutation<Trial>> }) {
  return (
    <div aria-live="polite">
      {isPending && (
        <p className={styles["text"]}>
          <Loader size="xs" aria-hidden="true" /> {words.asking}
        </p>
      )}
      {error !== null && <Failed error={error} />}
      {data !== undefined && !isPending && <TrialDetails trial={data} />}
    </div>
  );
}

function TrialDetails({ trial }: { readonly trial: Trial }) {
  const { said: text, remedy } = trial;
  return (
    <div className={styles["trialDetails"]}>
      <Status mood={moodOf(trial)}>{moodOf(trial) === "good" ? words.works : asSentence(text)}</Status>
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
