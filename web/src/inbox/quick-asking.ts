/** The team's quick replies on the server: read anew whenever somebody looks at them, so that nobody has to be told. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { WaypostError } from "@waypost/client";

import { putQuickReply, quickReplies, removeQuickReply } from "../live/asking";
import { useDesk } from "../live/use-desk";
import type { QuickReply } from "../model";
import type { Words } from "./quick-replies";

const QUICK = ["quick-replies"] as const;

export function useQuickReplies(enabled = true) {
  const { client } = useDesk();
  return useQuery({ queryKey: QUICK, queryFn: () => quickReplies(client), enabled, refetchOnMount: "always" });
}

export interface Keeping {
  /** In place of the one of this name; null of a new one. */
  readonly put: (words: Words, replaces: string | null) => Promise<QuickReply>;
  readonly remove: (name: string) => Promise<void>;
}

export function useKeeping(): Keeping {
  const { client } = useDesk();
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
        if (!(error instanceof WaypostError) || error.status !== 404) throw error; // else somebody else was first
      }
      changed();
    },
  };
}
