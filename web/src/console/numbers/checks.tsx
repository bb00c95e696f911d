/** Step 3: the checks that run in the browser, and the CLI command for the others. */

import { Button, Loader } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { useInboxStore } from "../../live/use-inbox-store";
import { ask, call, Problem } from "../api";
import { Status } from "../kit";
import type { NewNumber } from "./enter";
import { gatesOf } from "./health";
import styles from "./numbers.module.css";
import { usePublicUrl, WEBHOOK } from "./public-url";
import { wizard } from "./texts";
import type { Trial } from "./trial";
import { InlineTrial } from "./try-number";
import { Given } from "./webhook";

interface Finding {
  readonly mood: "good" | "busy" | "bad";
  readonly text: string;
}

const { checks } = wizard;
/** Other server processes notice a new number within two seconds. */
const TRIES = 4;
const BETWEEN_MS = 700;

interface Props {
  readonly number: NewNumber;
  readonly onTried: (trial: Trial) => void;
  readonly onDone: () => void;
}

export function Checks({ number, onTried, onDone }: Props) {
  const { me } = useInboxStore();
  const { isPublic } = usePublicUrl();
  const found = useQuery({ queryKey: ["checks", number.phone_number_id], queryFn: () => examine(number, me.org_id), gcTime: 0, retry: false });
  const findings = [...(found.data ?? []), { mood: isPublic ? "good" : "busy", text: isPublic ? checks.public : wizard.notPublic } as const];
  return (
    <div className={styles["form"]}>
      <InlineTrial id={number.phone_number_id} onTried={onTried} />
      {found.isFetching ? (
        <p className={styles["text"]}>
          <Loader size="xs" aria-hidden="true" /> {wizard.checking}
        </p>
      ) : (
        <ul className={styles["findings"]} aria-live="polite">
          {findings.map(({ mood, text }) => (
            <li key={text}>
              <Status mood={mood}>{text}</Status>
            </li>
          ))}
        </ul>
      )}
      <p className={styles["text"]}>{wizard.doctor}</p>
      <Given name="" value="waypost doctor" />
      <div className={styles["foot"]}>
        <Button variant="default" loading={found.isFetching} onClick={() => void found.refetch()}>
          {wizard.again}
        </Button>
        <Button onClick={onDone}>{wizard.done}</Button>
      </div>
    </div>
  );
}

const examine = (number: NewNumber, org: string): Promise<readonly Finding[]> =>
  Promise.all([handshake(number.verify_token), templates(number.waba_id), gates(number, org)]);

/** The verification request that Meta sends when the webhook is saved. */
async function handshake(token: string): Promise<Finding> {
  const challenge = String(crypto.getRandomValues(new Uint32Array(1))[0]);
  const query = new URLSearchParams({ "hub.mode": "subscribe", "hub.verify_token": token, "hub.challenge": challenge });
  let status = 0;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answer = await fetch(`${WEBHOOK}?${query.toString()}`, { cache: "no-store", credentials: "omit" }).catch(() => null);
    if (answer?.ok && (await answer.text()) === challenge) return { mood: "good", text: checks.handshake };
    status = answer?.status ?? 0;
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
  }
  return { mood: "bad", text: status === 403 ? checks.handshakeWrong : checks.handshakeAway };
}

/** Whether the token has access to the account. */
async function templates(account: string): Promise<Finding> {
  try {
    const accounts = await ask(call("post", "/api/v1/outbound/templates/sync"));
    const found = accounts.find(({ wabaId }) => wabaId === account);
    if (found?.error == null && found !== undefined) return { mood: "good", text: checks.templates(found.templates) };
    return { mood: "bad", text: checks.templatesWrong(found?.error ?? "") };
  } catch (error) {
    return { mood: "bad", text: checks.templatesWrong(error instanceof Problem ? error.message : String(error)) };
  }
}

async function gates({ phone_number_id, waba_id }: NewNumber, org_id: string): Promise<Finding> {
  const { content } = await ask(call("get", "/api/v1/outbound/gates"));
  const [closed] = gatesOf({ phone_number_id, waba_id, org_id }, content);
  return closed === undefined ? { mood: "good", text: checks.open } : { mood: "busy", text: checks.closed([closed.code, closed.reason].join(" ")) };
}
