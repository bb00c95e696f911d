/** Where Meta's webhooks go: the address that the server was told, else the one of this page. */

import { call, useAnswer } from "../api";

export const WEBHOOK = "/api/v1/webhooks/whatsapp/inbound";

export interface PublicUrl {
  readonly url: string;
  /** The server was told none. */
  readonly isGuess: boolean;
  /** Meta could call it: by https, and not on this machine only. */
  readonly isPublic: boolean;
}

const HERE = /^(localhost|127\.|0\.0\.0\.0|\[::1\]|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)/;

export function publicUrl(told: string | null, origin: string): PublicUrl {
  const url = (told ?? origin).replace(/\/+$/, "");
  const { protocol, hostname } = new URL(url);
  return { url, isGuess: told === null, isPublic: protocol === "https:" && !HERE.test(hostname) };
}

export function usePublicUrl(): PublicUrl {
  const settings = useAnswer(call("get", "/api/v1/settings")).data?.content ?? [];
  const told = settings.find(({ name }) => name === "WAYPOST_PUBLIC_URL")?.value;
  return publicUrl(typeof told === "string" && URL.canParse(told) ? told : null, location.origin);
}
