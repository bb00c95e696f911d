/** Requests for quick replies; the list is reloaded whenever it is opened. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { WaypostError } from "@waypost/client";

import { putQuickReply, quickReplies, removeQuickReply } from "../live/requests";
import { useInboxStore } from "../live/use-inbox-store";
import type { QuickReply } from "../model";
import type { Words } from "./quick-replies";

const QUICK = ["quick-replies"] as const;

export function useQuickReplies(enabled = true) {
  const { client } = useInboxStore();
  return useQuery({ queryKey: QUICK, queryFn: () => quickReplies(client), enabled, refetchOnMount: "always" });
}

export interface QuickReplyMutations {
  /** Replaces the one with this name; null for a new one. */
  readonly put: (words: Words, replaces: string | null) => Promise<QuickReply>;
  readonly remove: (name: string) => Promise<void>;
}

export function useQuickReplyMutations(): QuickReplyMutations {
  const { client } = useInboxStore();
  const queries = useQueryClient();
  const changed = () => void queries.invalidateQueries({ queryKey: QUICK });
  return {
    put: async ({ name, text }, replaces) => {
      const stored = await putQuickReply(client, name, text, replaces);
      changed();
      return stored;
    },
    remove: async (name) => {
      try {
        await removeQuickReply(client, name);
      } catch (error) {
        if (!(error instanceof WaypostError) || error.status !== 404) throw error; // otherwise another user removed it first
      }
      changed();
    },
  };
}
