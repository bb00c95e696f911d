/** The accounts' templates, read once and shared by whoever shows or sends one. */

import { useQuery } from "@tanstack/react-query";

import { templates } from "../live/asking";
import { useDesk } from "../live/use-desk";
import { wordsOfTemplate } from "./template-content";

export function useTemplates() {
  const { client } = useDesk();
  return useQuery({ queryKey: ["templates"], queryFn: () => templates(client), staleTime: 5 * 60_000 });
}

/** What a customer read of a template that was sent; null where the account's own words are not known. */
export function useTemplateWords(sent: Readonly<Record<string, unknown>>): string | null {
  const { data } = useTemplates();
  return data === undefined ? null : wordsOfTemplate(sent, data);
}
