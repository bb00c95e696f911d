/** A call as a command for a shell. */

import type { Call } from "./api";

/** The key is named, never shown: the page has none, it has a cookie. */
const KEY = '-H "Authorization: Bearer $WAYPOST_KEY"';

export function curlOf({ method, path, body }: Call<unknown>, origin: string): string {
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}${quoted(origin + path)}`, KEY];
  if (body !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  return lines.join(" \\\n  ");
}

/** Within single quotes a shell leaves everything as it is, but the single quote. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
