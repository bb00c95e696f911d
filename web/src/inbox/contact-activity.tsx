/** The activity of a dossier, newest first. */

import { useThrottledValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";

import { activities } from "../live/requests";
import { useInboxStore } from "../live/use-inbox-store";
import type { Activity } from "../model";
import { texts } from "../texts";
import { dayAndTime } from "../time";
import styles from "./contact.module.css";
import { SETTLES_MS } from "./use-consents";

export function ContactActivity({ dossierId, stamp }: { readonly dossierId: number; readonly stamp: number }) {
  const { client } = useInboxStore();
  const settled = useThrottledValue(stamp, SETTLES_MS);
  const { data } = useQuery({
    queryKey: ["activities", dossierId, settled],
    queryFn: () => activities(client, dossierId),
    placeholderData: (before, query) => (query?.queryKey[1] === dossierId ? before : undefined),
  });
  if (data === undefined) return null;
  return (
    <section className={styles["section"]}>
      <h4 className={styles["heading"]}>{texts.contact.activity}</h4>
      {data.length === 0 && <p className={styles["soft"]}>{texts.contact.noActivity}</p>}
      <ol className={styles["activities"]}>
        {data.map((each) => (
          <li key={each.id}>
            <span>{activityText(each)}</span>
            <time className={styles["soft"]} dateTime={each.at}>
              {dayAndTime(each.at, new Date())}
            </time>
          </li>
        ))}
      </ol>
    </section>
  );
}

function activityText({ type, payload }: Activity): string {
  const label = texts.contact.activities[type] ?? type;
  const status = (payload as Readonly<Record<string, unknown>> | null)?.["status"];
  return typeof status === "string" ? `${label}: ${status.toLowerCase()}` : label;
}
