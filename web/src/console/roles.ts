/** What each role may do; the server enforces it, this only hides what it would reject. */

import { useInboxStore } from "../live/use-inbox-store";
import type { Me } from "../model";

export type Needs = "readonly" | "sender" | "admin";

const RANK: Readonly<Record<Me["role"], number>> = { readonly: 0, sender: 1, agent: 1, admin: 2 };

export const may = (role: Me["role"], needs: Needs): boolean => RANK[role] >= RANK[needs];

/** Whether the signed-in user may. */
export const useMay = (needs: Needs): boolean => may(useInboxStore().me.role, needs);
