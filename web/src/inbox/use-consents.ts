/** The customer's consents; reloaded after new messages, since one may be a STOP. */

import { useThrottledValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";

import { consents } from "../live/requests";
import { useInboxStore } from "../live/use-inbox-store";
import type { Consent, Conversation } from "../model";

/** The shortest interval between reloads. */
export const SETTLES_MS = 1_500;

/** Undefined until loaded, and for a customer without a dossier. */
export function useConsents({ contact, last_message: last }: Conversation): readonly Consent[] | undefined {
  const { client } = useInboxStore();
  const dossierId = contact?.dossier_id ?? null;
  const stamp = useThrottledValue(last?.position ?? 0, SETTLES_MS);
  const { data } = useQuery({
    queryKey: ["consents", dossierId, stamp],
    queryFn: () => consents(client, dossierId ?? 0),
    enabled: dossierId !== null,
    staleTime: 10_000,
    placeholderData: (before, query) => (query?.queryKey[1] === dossierId ? before : undefined),
  });
  return data;
}

export const wantsNothing = (known: readonly Consent[] | undefined): boolean =>
  known?.some(({ channel, status }) => channel === "WHATSAPP" && status === "REVOKED") ?? false;
