/** The org's quota, and its change by an admin. */

import { Button, NumberInput, Progress } from "@mantine/core";
import { useState } from "react";

import type { components } from "../../api/schema";
import { useDesk } from "../../live/use-desk";
import { call, useAnswer, useDeed } from "../api";
import { Answered, Commands, Curl, Dialog, Fact, Facts, Failed, Moment, Panel, useSay } from "../kit";
import { useMay } from "../roles";
import { words } from "../texts";
import styles from "./limits.module.css";
import { texts } from "./texts";

type View = components["schemas"]["QuotaView"];

const EVERY_MS = 5_000;
const MOST = 2 ** 31 - 1;
const { quota } = texts;

const isLimit = (wanted: number | string): wanted is number => typeof wanted === "number" && Number.isInteger(wanted) && wanted >= 1 && wanted <= MOST;

export function Quota() {
  const { org_id } = useDesk().me;
  const asking = call("get", "/api/v1/outbound/quota");
  const answer = useAnswer(asking, { everyMs: EVERY_MS });
  const [changing, setChanging] = useState(false);
  const mayChange = useMay("admin");
  const limit = answer.data?.quotaLimit ?? null;
  return (
    <Panel
      title={quota.title}
      actions={
        <>
          {mayChange && answer.data !== undefined && (
            <Button size="compact-sm" variant="default" onClick={() => setChanging(true)}>
              {quota.change}
            </Button>
          )}
          <Curl call={asking} cli={`waypost admin quota ${org_id}`} />
        </>
      }
    >
      <Answered to={answer}>{(found) => <Used quota={found} />}</Answered>
      {changing && <Change limit={limit} onClose={() => setChanging(false)} />}
    </Panel>
  );
}

function Used({ quota: { messagesSent, quotaLimit, remainingQuota, resetAt, throttledUntil } }: { readonly quota: View }) {
  const part = quotaLimit === null ? 0 : Math.min(100, (100 * messagesSent) / quotaLimit);
  return (
    <>
      {quotaLimit !== null && <Progress value={part} color={remainingQuota === 0 ? "red" : "teal"} aria-label={quota.sent} className={styles["used"] ?? ""} />}
      <Facts>
        <Fact name={quota.sent}>{messagesSent.toLocaleString()}</Fact>
        <Fact name={quota.limit}>{quotaLimit === null ? quota.noLimit : `${quotaLimit.toLocaleString()} ${quota.of}`}</Fact>
        <Fact name={quota.remaining}>{remainingQuota === null ? words.none : remainingQuota.toLocaleString()}</Fact>
        <Fact name={quota.resets}>{messagesSent === 0 ? words.none : <Moment at={resetAt} />}</Fact>
        {throttledUntil !== null && (
          <Fact name={quota.throttled}>
            <Moment at={throttledUntil} />
          </Fact>
        )}
      </Facts>
    </>
  );
}

function Change({ limit, onClose }: { readonly limit: number | null; readonly onClose: () => void }) {
  const { org_id } = useDesk().me;
  const say = useSay();
  const [wanted, setWanted] = useState<number | string>(limit ?? "");
  const isWrong = wanted !== "" && !isLimit(wanted);
  const asking = call("put", "/api/v1/outbound/quota", { body: { quotaLimit: isLimit(wanted) ? wanted : null } });
  const deed = useDeed<View>(() => {
    onClose();
    say(quota.done);
  });
  return (
    <Dialog title={quota.question} onClose={onClose}>
      <NumberInput
        label={quota.label}
        description={quota.hint}
        value={wanted}
        onChange={setWanted}
        error={isWrong && quota.wrong(MOST.toLocaleString())}
        clampBehavior="none"
        allowDecimal={false}
        thousandSeparator=" "
        hideControls
        data-autofocus
      />
      {deed.error !== null && <Failed error={deed.error} />}
      {!isWrong && <Commands call={asking} cli={`waypost admin set-quota ${org_id} ${wanted === "" ? "none" : wanted}`} />}
      <div className={styles["foot"]}>
        <Button variant="default" onClick={onClose}>
          {words.deed.cancel}
        </Button>
        <Button loading={deed.isPending} disabled={isWrong} onClick={() => deed.mutate(asking)}>
          {quota.save}
        </Button>
      </div>
    </Dialog>
  );
}
