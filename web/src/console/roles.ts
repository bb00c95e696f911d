/** Who may read and do what, as the server has it; it refuses by itself, this only spares people the refusal. */

import { useDesk } from "../live/use-desk";
import type { Me } from "../model";

export type Needs = "readonly" | "sender" | "admin";

const RANK: Readonly<Record<Me["role"], number>> = { readonly: 0, sender: 1, agent: 1, admin: 2 };

export const may = (role: Me["role"], needs: Needs): boolean => RANK[role] >= RANK[needs];

/** Whether the one who is signed in may. */
export const useMay = (needs: Needs): boolean => may(useDesk().me.role, needs);
