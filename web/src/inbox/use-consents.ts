/** What a customer said to being written to; read again when something was said, since a STOP may be among it. */

import { useThrottledValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";

import { consents } from "../live/asking";
import { useDesk } from "../live/use-desk";
import type { Consent, Conversation } from "../model";

/** However much is said, no more often than this. */
export const SETTLES_MS = 1_500;

/** Undefined while it is not known, and of who has no dossier. */
export function useConsents({ contact, last_message: last }: Conversation): readonly Consent[] | undefined {
  const { client } = useDesk();
  const dossierId = contact?.dossier_id ?? null;
  const stamp = useThrottledValue(last?.position ?? 0, SETTLES_MS);
  const { data } = useQuery({
    queryKey: ["consents", dossierId, stamp],
    queryFn: () => consents(client, dossierId ?? 0),
    enabled: dossierId !== null,
    staleTime: 10_000,
    placeholderData: (before, question) => (question?.queryKey[1] === dossierId ? before : undefined),
  });
  return data;
}

export const wantsNothing = (known: readonly Consent[] | undefined): boolean =>
  known?.some(({ channel, status }) => channel === "WHATSAPP" && status === "REVOKED") ?? false;
