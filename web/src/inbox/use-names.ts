/** Who people are: ids in words. */

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { team } from "../live/asking";
import { BOT } from "../live/filters";
import { useDesk } from "../live/use-desk";
import type { Colleague } from "../model";
import { texts } from "../texts";

const NOBODY: readonly Colleague[] = [];

export function useTeam(): readonly Colleague[] {
  const { client } = useDesk();
  return useQuery({ queryKey: ["team"], queryFn: () => team(client), staleTime: 60_000 }).data ?? NOBODY;
}

/** A name for whoever did something; the same function as long as the team is the same. */
export type Names = (id: string) => string;

export function useNames(): Names {
  const { me } = useDesk();
  const people = useTeam();
  return useMemo(() => {
    const known = new Map(people.map(({ user_id, name }) => [user_id, name]));
    return (id) => {
      if (id === me.user_id) return texts.thread.you;
      if (id === BOT) return texts.thread.bot;
      if (id === "cli") return texts.happened.operator;
      if (id === "system" || id === "provider") return texts.happened.system;
      return known.get(id) ?? (id.startsWith("key_") ? texts.thread.program : texts.thread.colleague);
    };
  }, [people, me]);
}
