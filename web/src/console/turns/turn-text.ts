/** Display texts for turns. Pure. */

import type { components } from "../../api/schema";
import { texts } from "./texts";

export type Turn = components["schemas"]["TurnView"];
export type FailedTurn = components["schemas"]["FailedTurnView"];

export const nameIn = ({ contact }: Pick<Turn, "contact">): string =>
  contact?.name ?? contact?.phone ?? contact?.username ?? contact?.user_id ?? texts.unnamed;

export function stateOf({ owner, due, attempts }: Pick<Turn, "owner" | "due" | "attempts">, now: number): "thinks" | "retries" | "due" | "collects" {
  if (owner !== null) return "thinks";
  if (attempts > 0) return "retries";
  return due !== null && new Date(due).getTime() <= now ? "due" : "collects";
}

export const floorOf = (floor: string): string =>
  floor === "bot" ? texts.floor.bot : floor === "human" ? texts.floor.human : texts.floor.agent;
