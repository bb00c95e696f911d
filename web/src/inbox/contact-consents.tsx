/** The customer's consent for each channel; changes are recorded in the audit log. */

import { NativeSelect } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";

import { putConsent } from "../live/requests";
import { useInboxStore } from "../live/use-inbox-store";
import type { Consent, Conversation } from "../model";
import { texts } from "../texts";
import { dayAndTime } from "../time";
import styles from "./contact.module.css";
import { useConsents } from "./use-consents";

const CHANNELS = ["WHATSAPP", "WHATSAPP_MARKETING", "EMAIL"] as const;
const STATUSES = ["GRANTED", "REVOKED", "PENDING"] as const;

export function ContactConsents({ conversation, dossierId }: { readonly conversation: Conversation; readonly dossierId: number }) {
  const { client, me } = useInboxStore();
  const queries = useQueryClient();
  const data = useConsents(conversation);
  const put = useMutation({
    mutationFn: (change: Pick<Consent, "channel" | "status">) => putConsent(client, { dossierId, ...change }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["consents", dossierId] }),
  });
  return (
    <section className={styles["section"]}>
      <h4 className={styles["heading"]}>{texts.contact.consents}</h4>
      {CHANNELS.map((channel) => {
        const known = data?.find((each) => each.channel === channel);
        return (
          <div key={channel} className={styles["consent"]} data-status={known?.status}>
            <NativeSelect
              size="sm"
              label={texts.contact.channels[channel]}
              description={known ? texts.contact.since(dayAndTime(known.updatedAt, new Date())) : undefined}
              value={known?.status ?? ""}
              disabled={me.role === "readonly" || data === undefined || put.isPending}
              data={[...(known ? [] : [{ value: "", label: texts.contact.notSet }]), ...STATUSES.map((value) => ({ value, label: texts.contact.consent[value] ?? value }))]}
              onChange={(event) => put.mutate({ channel, status: event.currentTarget.value as Consent["status"] })}
            />
          </div>
        );
      })}
      {put.isError && (
        <p className={styles["bad"]} role="alert">
          {texts.contact.failed}
        </p>
      )}
    </section>
  );
}
