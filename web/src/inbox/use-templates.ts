/** The accounts' templates, loaded once and shared. */

import { useQuery } from "@tanstack/react-query";

import { templates } from "../live/requests";
import { useInboxStore } from "../live/use-inbox-store";
import { wordsOfTemplate } from "./template-content";

export function useTemplates() {
  const { client } = useInboxStore();
  return useQuery({ queryKey: ["templates"], queryFn: () => templates(client), staleTime: 5 * 60_000 });
}

/** The text of a sent template; null for an unknown template. */
export function useTemplateWords(sent: Readonly<Record<string, unknown>>): string | null {
  const { data } = useTemplates();
  return data === undefined ? null : wordsOfTemplate(sent, data);
}
