/** API calls as shell commands. */

import type { Call } from "./api";

/** The key is a variable: the page has a cookie, not a key. */
const KEY = '-H "Authorization: Bearer $WAYPOST_KEY"';

export function curlOf({ method, path, body }: Call<unknown>, origin: string): string {
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}${quoted(origin + path)}`, KEY];
  if (body !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  return lines.join(" \\\n  ");
}

/** Within single quotes, a shell only interprets the single quote. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
