/** The dead letters with one error. */

import { useInboxStore } from "../../live/use-inbox-store";
import { linkTo } from "../../path";
import { call, useApiQuery } from "../api";
import { quoted } from "../curl";
import { ActionButton, Moment, Panel, Table, type Column } from "../kit";
import { adviceOn } from "../message/advice";
import { providerMessage, summaryOf, type OutboundMessage } from "../message/model";
import type { Replay } from "./replay-results";
import styles from "./dead-letters.module.css";
import type { Group } from "./groups";
import { words } from "./texts";

const SHOWN = 20;
const NAMED_AT_MOST = 1_000;

interface Props {
  readonly group: Group;
  /** Not all dead letters are loaded. */
  readonly more: boolean;
  /** Null if the user may not send. */
  readonly onReplayed: ((replay: Replay) => void) | null;
}

export function GroupPanel({ group, more, onReplayed }: Props) {
  const { me } = useInboxStore();
  const { code, messages, channel } = group;
  const catalogue = useApiQuery(call("get", "/api/v1/outbound/error-codes", { query: { catalogue: channel === "EMAIL" ? "smtp" : null } }));
  const { title, remedy } = adviceOn(code, catalogue.data ?? []);
  const ids = messages.map(({ id }) => id);
  const body = code === "" ? { ids: ids.slice(0, NAMED_AT_MOST) } : { errorCode: code };
  return (
    <Panel
      title={code === "" ? words.noCode : `${code}: ${title}`}
      intro={
        <>
          {words.count(messages.length)}
          {more && "+"}, {words.newest} <Moment at={messages[0]?.updatedAt} />
        </>
      }
      actions={
        onReplayed !== null && (
          <ActionButton
            label={words.group}
            title={words.groupTitle(messages.length)}
            call={call("post", "/api/v1/outbound/dead-letters/replay", { body })}
            cli={`waypost admin replay ${me.org_id} ${code === "" ? ids.slice(0, SHOWN).join(" ") : `--error-code ${quoted(code)}`}`}
            done={({ replayed }) => words.done(replayed)}
            onDone={({ replayed }) => onReplayed({ at: Date.now(), count: replayed, ids })}
          >
            {words.groupText}
          </ActionButton>
        )
      }
    >
      <p className={styles["remedy"]}>
        <strong>{words.doing}:</strong> {remedy}
      </p>
      <details className={styles["messages"]}>
        <summary>{words.messages}</summary>
        <Table
          label={`${code} ${title}`}
          columns={columnsFor(me.org_id, onReplayed)}
          rows={messages.slice(0, SHOWN)}
          keyOf={({ id }) => id}
          linkOf={({ id }) => `/console/outbox/${id}`}
        />
        {messages.length > SHOWN && (
          <p>
            {words.more(messages.length - SHOWN)}, <a {...linkTo("/console/outbox?status=FAILED")}>{words.all}</a>
          </p>
        )}
      </details>
    </Panel>
  );
}

function columnsFor(org: string, onReplayed: Props["onReplayed"]): readonly Column<OutboundMessage>[] {
  const { columns } = words;
  const shown: readonly Column<OutboundMessage>[] = [
    { head: columns.id, cell: ({ id }) => id },
    { head: columns.to, cell: ({ to }) => to },
    { head: columns.what, cell: summaryOf, wide: true },
    { head: columns.providerMessage, cell: ({ errorCode, errorMessage }) => providerMessage(errorCode, errorMessage), wide: true },
    { head: columns.when, cell: ({ updatedAt }) => <Moment at={updatedAt} /> },
  ];
  if (onReplayed === null) return shown;
  const replay = ({ id }: OutboundMessage) => (
    <ActionButton
      label={words.one}
      title={words.oneTitle(id)}
      call={call("post", "/api/v1/outbound/dead-letters/replay", { body: { ids: [id] } })}
      cli={`waypost admin replay ${org} ${id}`}
      done={({ replayed }) => words.done(replayed)}
      onDone={({ replayed }) => onReplayed({ at: Date.now(), count: replayed, ids: [id] })}
    >
      {words.text}
    </ActionButton>
  );
  return [...shown, { head: columns.actions, cell: replay }];
}
