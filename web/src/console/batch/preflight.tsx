/** The result of the checks, before anything is sent. */

import { Alert, Button, Loader } from "@mantine/core";
import { useState } from "react";

import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiQuery } from "../api";
import { quoted } from "../curl";
import { Commands, Dialog, Panel, Tile, Tiles } from "../kit";
import { words as frame } from "../texts";
import styles from "./batch.module.css";
import type { Checked } from "./check";
import { begin } from "./current";
import { messageOf } from "./lines";
import { Lines } from "./results";
import { words } from "./texts";

interface Props {
  readonly name: string;
  /** Null while checking. */
  readonly checked: readonly Checked[] | null;
  readonly templatesKnown: boolean;
  readonly onAnother: () => void;
}

export function Preflight({ name, checked, templatesKnown, onAnother }: Props) {
  const [request, setAsking] = useState(false);
  const quota = useApiQuery(call("get", "/api/v1/outbound/quota")).data?.remainingQuota ?? null;
  if (checked === null) return <Loader aria-label={frame.loading} />;
  const good = checked.filter(({ refused }) => refused === null);
  const doubts = checked.filter(({ doubt }) => doubt !== null).length;
  const bad = checked.length - good.length;
  return (
    <>
      <Panel
        title={words.found(name, checked.length)}
        actions={
          <>
            <Button variant="default" onClick={onAnother}>
              {words.another}
            </Button>
            <Button disabled={good.length === 0} onClick={() => setAsking(true)}>
              {words.send(good.length)}
            </Button>
          </>
        }
      >
        <Tiles>
          <Tile label={words.ok} value={good.length.toLocaleString()} />
          <Tile label={words.refusedLabel} value={bad.toLocaleString()} {...(bad > 0 && { mood: "bad" })} />
          <Tile label={words.doubtLabel} value={doubts.toLocaleString()} {...(doubts > 0 && { mood: "busy" })} />
        </Tiles>
        {!templatesKnown && <Alert variant="light" color="yellow">{words.templatesUnknown}</Alert>}
        {quota !== null && quota < good.length && <Alert variant="light" color="yellow">{words.quota(quota)}</Alert>}
      </Panel>
      <Lines checked={checked} outcomes={new Map()} />
      {request && <Question name={name} good={good} bad={bad} onSend={() => begin(name, checked)} onClose={() => setAsking(false)} />}
    </>
  );
}

interface QuestionProps {
  readonly name: string;
  readonly good: readonly Checked[];
  readonly bad: number;
  readonly onSend: () => void;
  readonly onClose: () => void;
}

/** The curl command contains the first line; the CLI command contains the file name. */
function Question({ name, good, bad, onSend, onClose }: QuestionProps) {
  const { me } = useInboxStore();
  const first = good.slice(0, 1).map(({ row }) => JSON.parse(messageOf(row, name)) as never);
  return (
    <Dialog title={words.confirmTitle} onClose={onClose}>
      {words.confirm(good.length, bad)}
      <Commands call={call("post", "/api/v1/outbound/messages/batch", { body: { messages: first } })} cli={`waypost send ${me.org_id} --csv ${quoted(name)}`} />
      <div className={styles["foot"]}>
        <Button variant="default" onClick={onClose}>
          {frame.action.cancel}
        </Button>
        <Button data-autofocus onClick={onSend}>
          {words.send(good.length)}
        </Button>
      </div>
    </Dialog>
  );
}
