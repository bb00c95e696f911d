/** The org's quota; admins can change it. */

import { Button, NumberInput, Progress } from "@mantine/core";
import { useState } from "react";

import type { components } from "../../api/schema";
import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiQuery, useApiMutation } from "../api";
import { QueryState, Commands, Curl, Dialog, Fact, Facts, Failed, Moment, Panel, useToast } from "../kit";
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
  const { org_id } = useInboxStore().me;
  const request = call("get", "/api/v1/outbound/quota");
  const result = useApiQuery(request, { everyMs: EVERY_MS });
  const [changing, setChanging] = useState(false);
  const mayChange = useMay("admin");
  const limit = result.data?.quotaLimit ?? null;
  return (
    <Panel
      title={quota.title}
      actions={
        <>
          {mayChange && result.data !== undefined && (
            <Button size="compact-sm" variant="default" onClick={() => setChanging(true)}>
              {quota.change}
            </Button>
          )}
          <Curl call={request} cli={`waypost admin quota ${org_id}`} />
        </>
      }
    >
      <QueryState query={result}>{(found) => <Used quota={found} />}</QueryState>
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
  const { org_id } = useInboxStore().me;
  const toast = useToast();
  const [wanted, setWanted] = useState<number | string>(limit ?? "");
  const isWrong = wanted !== "" && !isLimit(wanted);
  const request = call("put", "/api/v1/outbound/quota", { body: { quotaLimit: isLimit(wanted) ? wanted : null } });
  const mutation = useApiMutation<View>(() => {
    onClose();
    toast(quota.done);
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
      {mutation.error !== null && <Failed error={mutation.error} />}
      {!isWrong && <Commands call={request} cli={`waypost admin set-quota ${org_id} ${wanted === "" ? "none" : wanted}`} />}
      <div className={styles["foot"]}>
        <Button variant="default" onClick={onClose}>
          {words.action.cancel}
        </Button>
        <Button loading={mutation.isPending} disabled={isWrong} onClick={() => mutation.mutate(request)}>
          {quota.save}
        </Button>
      </div>
    </Dialog>
  );
}
