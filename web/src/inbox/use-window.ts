/** Whether the customer may be answered freely: for 24 hours after they wrote, and only templates later. */

import { useQuery } from "@tanstack/react-query";

import type { components } from "../api/schema";
import { useDesk } from "../live/use-desk";
import type { Conversation } from "../model";

export type Window = components["schemas"]["WindowView"];

const LOOK_EVERY_MS = 60_000;

/** Undefined while it is not known, and where there is none: a missing answer never keeps anybody from writing. */
export function useWindow({ contact, kind, last_message }: Conversation): Window | undefined {
  const desk = useDesk();
  const address = contact?.phone ?? contact?.user_id;
  const { data } = useQuery({
    queryKey: ["window", address, last_message?.position],
    queryFn: async () => (await desk.client.request(`/outbound/session-windows/${encodeURIComponent(address ?? "")}`)) as Window,
    enabled: kind === "customer" && address != null,
    refetchInterval: LOOK_EVERY_MS,
    placeholderData: (before, question) => (question?.queryKey[1] === address ? before : undefined),
  });
  return data;
}
