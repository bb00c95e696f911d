/** The console's pages: path, required role and component. */

import type { ComponentType } from "react";

import Audit from "./audit/audit";
import Batch from "./batch/batch";
import DeadLetters from "./dead-letters/dead-letters";
import Keys from "./keys/keys";
import Limits from "./limits/limits";
import MessagePage from "./message/message";
import Numbers from "./numbers/numbers";
import Outbox from "./outbox/outbox";
import Overview from "./overview/overview";
import type { Needs } from "./roles";
import Settings from "./settings/settings";
import Templates from "./templates/templates";
import { words } from "./texts";
import Turns from "./turns/turns";
import Users from "./users/users";

export interface PageProps {
  /** The part of the URL after the page, such as a message ID; usually "". */
  readonly id: string;
}

export interface PageEntry {
  /** After `/console/`; a path that ends with `/` takes an ID. */
  readonly path: string;
  readonly title: string;
  readonly needs: Needs;
  /** Null: not in the navigation. */
  readonly group: keyof typeof words.groups | null;
  readonly component: ComponentType<PageProps>;
}

const { pages } = words;

export const PAGES: readonly PageEntry[] = [
  { path: "overview", title: pages.overview, needs: "readonly", group: "now", component: Overview },
  { path: "turns", title: pages.turns, needs: "readonly", group: "now", component: Turns },
  { path: "limits", title: pages.limits, needs: "readonly", group: "now", component: Limits },
  { path: "outbox", title: pages.outbox, needs: "readonly", group: "messages", component: Outbox },
  { path: "outbox/", title: pages.message, needs: "readonly", group: null, component: MessagePage },
  { path: "batch", title: pages.batch, needs: "sender", group: "messages", component: Batch },
  { path: "dead-letters", title: pages.deadLetters, needs: "readonly", group: "messages", component: DeadLetters },
  { path: "templates", title: pages.templates, needs: "readonly", group: "messages", component: Templates },
  { path: "audit", title: pages.audit, needs: "readonly", group: "messages", component: Audit },
  { path: "numbers", title: pages.numbers, needs: "admin", group: "setup", component: Numbers },
  { path: "keys", title: pages.keys, needs: "admin", group: "setup", component: Keys },
  { path: "users", title: pages.users, needs: "admin", group: "setup", component: Users },
  { path: "settings", title: pages.settings, needs: "admin", group: "setup", component: Settings },
];

/** The page for a path such as `/console/outbox/12`; the first one for `/console`. */
export function pageAt(pathname: string, pages: readonly PageEntry[] = PAGES): { readonly page: PageEntry | null; readonly id: string } {
  const rest = pathname.replace(/^\/console\/?/, "").replace(/\/$/, "");
  if (rest === "") return { page: pages[0] ?? null, id: "" };
  const exact = pages.find(({ path }) => path === rest);
  if (exact !== undefined) return { page: exact, id: "" };
  const page = pages.find(({ path }) => path.endsWith("/") && rest.startsWith(path)) ?? null;
  return { page, id: page === null ? "" : decodeURIComponent(rest.slice(page.path.length)) };
}
