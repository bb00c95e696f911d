/** One message: status, timeline, attempts and actions. */

import { linkTo } from "../../path";
import { call, Problem, useApiQuery } from "../api";
import { QueryState, Curl, ActionButton, Page } from "../kit";
import type { PageProps } from "../pages";
import { useMay } from "../roles";
import { Attempts } from "./attempts";
import styles from "./message.module.css";
import { canBeRetried, isParked, wayBack, type OutboundMessage, type TimelineEvent } from "./model";
import { Content, Summary } from "./summary";
import { words } from "./texts";
import { TimelinePanel } from "./timeline";

const EVERY_MS = 2_000;
/** For an invalid ID, the server responds that the message does not exist. */
const pathOf = (id: string) => ({ path: { message_id: /^\d{1,15}$/.test(id) ? Number(id) : 0 } });

export default function MessagePage({ id }: PageProps) {
  const message = useApiQuery(call("get", "/api/v1/outbound/messages/{message_id}", pathOf(id)), { everyMs: EVERY_MS });
  const isThere = message.data !== undefined;
  const life = call("get", "/api/v1/outbound/messages/{message_id}/timeline", pathOf(id));
  const timeline = useApiQuery(life, { everyMs: EVERY_MS, enabled: isThere });
  const attempts = useApiQuery(call("get", "/api/v1/outbound/messages/{message_id}/attempts", pathOf(id)), { everyMs: EVERY_MS, enabled: isThere });
  const isMissing = message.error instanceof Problem && message.error.status === 404;
  return (
    <Page
      title={words.title(id)}
      intro={<a className={styles["back"]} {...linkTo(wayBack())}>← {words.back}</a>}
      actions={
        <>
          <Curl call={life} cli={`waypost why ${id}`} />
          {message.data !== undefined && <RowActions message={message.data} events={timeline.data?.events ?? []} />}
        </>
      }
    >
      {isMissing ? (
        <p className={styles["missing"]}>{words.unknown}</p>
      ) : (
        <QueryState query={message}>
          {(found) => (
            <>
              <Summary message={found} why={timeline.data?.why ?? null} nextAt={timeline.data?.nextAt ?? null} />
              <QueryState query={timeline}>{({ events }) => <TimelinePanel events={events} />}</QueryState>
              <QueryState query={attempts}>{(all) => <Attempts attempts={all} />}</QueryState>
              <Content message={found} />
            </>
          )}
        </QueryState>
      )}
    </Page>
  );
}

function RowActions({ message, events }: { readonly message: OutboundMessage; readonly events: readonly TimelineEvent[] }) {
  const maySend = useMay("sender");
  if (!maySend) return null;
  const path = { path: { message_id: message.id } };
  return (
    <>
      {message.status === "QUEUED" && (
        <ActionButton
          label={words.cancel}
          title={words.cancelTitle}
          call={call("post", "/api/v1/outbound/messages/{message_id}/cancel", path)}
          cli={`waypost admin cancel ${message.orgId} ${message.id}`}
          danger
          done={words.cancelled}
        >
          {words.cancelText}
        </ActionButton>
      )}
      {canBeRetried(message, events) && (
        <ActionButton
          label={words.retry}
          title={words.retryTitle}
          call={call("post", "/api/v1/outbound/messages/{message_id}/retry", path)}
          cli={`waypost admin retry ${message.orgId} ${message.id}`}
          variant="filled"
          done={words.retried}
        >
          {message.status === "SENDING" && isParked(events) ? words.retryParked : words.retryText}
        </ActionButton>
      )}
    </>
  );
}
