/** The webhook URL: the configured public URL, otherwise the URL of this page. */

import { call, useApiQuery } from "../api";

export const WEBHOOK = "/api/v1/webhooks/whatsapp/inbound";

export interface PublicUrl {
  readonly url: string;
  /** No public URL is configured. */
  readonly isGuess: boolean;
  /** Meta can call it: https, and not a private address. */
  readonly isPublic: boolean;
}

const HERE = /^(localhost|127\.|0\.0\.0\.0|\[::1\]|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)/;

export function publicUrl(configured: string | null, origin: string): PublicUrl {
  const url = (configured ?? origin).replace(/\/+$/, "");
  const { protocol, hostname } = new URL(url);
  return { url, isGuess: configured === null, isPublic: protocol === "https:" && !HERE.test(hostname) };
}

export function usePublicUrl(): PublicUrl {
  const settings = useApiQuery(call("get", "/api/v1/settings")).data?.content ?? [];
  const configured = settings.find(({ name }) => name === "WAYPOST_PUBLIC_URL")?.value;
  return publicUrl(typeof configured === "string" && URL.canParse(configured) ? configured : null, location.origin);
}
