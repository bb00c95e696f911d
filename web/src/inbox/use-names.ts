/** Display names for user IDs. */

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { team } from "../live/requests";
import { BOT } from "../live/filters";
import { useInboxStore } from "../live/use-inbox-store";
import type { Colleague } from "../model";
import { texts } from "../texts";

const NOBODY: readonly Colleague[] = [];

export function useTeam(): readonly Colleague[] {
  const { client } = useInboxStore();
  return useQuery({ queryKey: ["team"], queryFn: () => team(client), staleTime: 60_000 }).data ?? NOBODY;
}

/** Maps an actor ID to a name; the function is stable while the team does not change. */
export type Names = (id: string) => string;

export function useNames(): Names {
  const { me } = useInboxStore();
  const people = useTeam();
  return useMemo(() => {
    const known = new Map(people.map(({ user_id, name }) => [user_id, name]));
    return (id) => {
      if (id === me.user_id) return texts.thread.you;
      if (id === BOT) return texts.thread.bot;
      if (id === "cli") return texts.events.operator;
      if (id === "system" || id === "provider") return texts.events.system;
      return known.get(id) ?? (id.startsWith("key_") ? texts.thread.program : texts.thread.colleague);
    };
  }, [people, me]);
}
