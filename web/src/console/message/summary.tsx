/** The status of a message, advice for its error, and its fields. */

import { Alert } from "@mantine/core";

import { linkTo } from "../../path";
import { call, useApiQuery } from "../api";
import { Copyable, Fact, Facts, Marked, MessageStatus, Moment, Panel, Verbatim } from "../kit";
import { adviceOn } from "./advice";
import styles from "./message.module.css";
import { providerMessage, statusOf, summaryOf, type OutboundMessage } from "./model";
import { errors, words } from "./texts";

interface Props {
  readonly message: OutboundMessage;
  readonly why: string | null;
  readonly nextAt: string | null;
}

export function Summary({ message, why, nextAt }: Props) {
  return (
    <Panel title={words.state}>
      <div className={styles["state"]}>
        <MessageStatus status={statusOf(message)} />
        {why !== null && <p><Marked text={why} /></p>}
        {nextAt !== null && (
          <p>
            {words.next} <Moment at={nextAt} />
          </p>
        )}
      </div>
      {message.errorCode !== null && <ErrorAdvice message={message} code={message.errorCode} />}
      <MessageFacts message={message} />
    </Panel>
  );
}

/** Emails have the SMTP catalogue; numbers have their own. */
function ErrorAdvice({ message, code }: { readonly message: OutboundMessage; readonly code: string }) {
  const catalogue = useApiQuery(call("get", "/api/v1/outbound/error-codes", { query: { catalogue: message.channel === "EMAIL" ? "smtp" : null } }));
  const { title, remedy } = adviceOn(code, catalogue.data ?? [], message.status === "QUEUED");
  const detail = providerMessage(code, message.errorMessage);
  return (
    <Alert color={message.status === "FAILED" ? "red" : "yellow"} variant="light" title={`${code}: ${title}`} className={styles["advice"] ?? ""}>
      {detail !== "" && detail !== title && <p>{detail}</p>}
      <p>
        <strong>{errors.doing}:</strong> {remedy}
      </p>
    </Alert>
  );
}

function MessageFacts({ message }: { readonly message: OutboundMessage }) {
  const { id, to, from, dossierId, providerMessageId, scheduledAt, expiresAt, sentAt, deliveredAt, readAt, ordered } = message;
  const moments = [
    [words.created, message.createdAt],
    [words.scheduled, scheduledAt],
    [words.expires, expiresAt],
    [words.sent, sentAt],
    [words.delivered, deliveredAt],
    [words.read, readAt],
  ] as const;
  return (
    <Facts>
      <Fact name={words.what}>{summaryOf(message)}</Fact>
      <Fact name={words.to}>
        <Copyable text={to} />
      </Fact>
      {message.channel === "WHATSAPP" && <ConversationLink to={to} from={from} />}
      <Fact name={words.from}>{from}</Fact>
      {dossierId !== null && <DossierFact id={dossierId} />}
      <Fact name={words.tries}>{words.triesOf(message.attemptCount, message.maxAttempts + 1)}</Fact>
      <Fact name={words.priority}>{message.priority}</Fact>
      {ordered && <Fact name={words.ordered}>{words.orderedHint}</Fact>}
      {moments.map(([name, at]) => at !== null && (
        <Fact key={name} name={name}>
          <Moment at={at} />
        </Fact>
      ))}
      {providerMessageId !== null && (
        <Fact name={words.providerId}>
          <Copyable text={providerMessageId} />
        </Fact>
      )}
      <Fact name={words.key}>
        <Copyable text={message.idempotencyKey} />
      </Fact>
      <Fact name={words.audit}>
        <a className={styles["link"]} {...linkTo(`/console/audit?type=OUTBOUND_MESSAGE&id=${id}`)}>{words.auditLink}</a>
      </Fact>
    </Facts>
  );
}

/** Shown only if a conversation exists: the customer may never have answered. */
function ConversationLink({ to, from }: { readonly to: string; readonly from: string }) {
  const isPhone = to.startsWith("+");
  const found = useApiQuery(call("get", "/api/v1/conversations", { query: isPhone ? { phone: to } : { user_id: to } })).data?.conversations ?? [];
  const conversation = found.find(({ phone_number_id }) => phone_number_id === from) ?? found[0];
  if (conversation === undefined) return null;
  return (
    <Fact name={words.conversation}>
      <a className={styles["link"]} {...linkTo(`/inbox/${conversation.conversation_id}`)}>{words.openConversation}</a>
    </Fact>
  );
}

function DossierFact({ id }: { readonly id: number }) {
  const dossier = useApiQuery(call("get", "/api/v1/dossiers/{dossier_id}", { path: { dossier_id: id } })).data;
  const name = dossier?.name ?? dossier?.externalRef ?? dossier?.phone;
  return (
    <Fact name={words.dossier}>
      {id}
      {name ? `, ${name}` : ""} (<a className={styles["link"]} {...linkTo(`/console/outbox?dossier=${id}`)}>{words.dossierMessages}</a>)
    </Fact>
  );
}

export function Content({ message }: { readonly message: OutboundMessage }) {
  return (
    <Panel title={words.payload} intro={words.payloadIntro}>
      <Verbatim>{JSON.stringify(message.payloadJson, null, 2)}</Verbatim>
    </Panel>
  );
}
