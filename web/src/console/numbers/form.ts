/** The number form: its changes, and the equivalent CLI command. */

import type { components } from "../../api/schema";
import { quoted } from "../curl";
import type { Number_ } from "./health";

type Change = components["schemas"]["ChangeNumber"];

export const SECRETS = ["token", "app_secret", "verify_token"] as const;

export interface Entered {
  readonly token: string;
  readonly app_secret: string;
  readonly verify_token: string;
  readonly graph_url: string;
  readonly error_catalogue: string;
  readonly pace: string;
  readonly tier: string;
  readonly failover: string;
}

export const enteredOf = ({ graph_url, error_catalogue, pace, tier, failover }: Number_): Entered => ({
  token: "",
  app_secret: "",
  verify_token: "",
  graph_url: graph_url ?? "",
  error_catalogue,
  pace: String(pace),
  tier: tier === null ? "" : String(tier),
  failover: failover ?? "",
});

/** Only changed fields; an empty secret keeps the current one. */
export function changeOf(number: Number_, entered: Entered): Change {
  const before = enteredOf(number);
  const is = (name: keyof Entered): boolean => entered[name].trim() !== before[name] && (name === "failover" || entered[name].trim() !== "");
  const given = (name: keyof Entered) => (is(name) ? { [name]: entered[name].trim() } : {});
  return {
    ...Object.assign({}, ...[...SECRETS, "graph_url", "error_catalogue"].map((name) => given(name as keyof Entered))),
    ...(is("pace") && { pace: Number(entered.pace) }),
    ...(is("tier") && { tier: Number(entered.tier) }),
    ...(is("failover") && { failover: entered.failover === "" ? null : entered.failover }),
  } as Change;
}

/** Replaces secrets with their names, so that they are not visible on the screen. */
export const withoutSecrets = <Body extends object>(body: Body): Body =>
  Object.fromEntries(Object.entries(body).map(([name, value]) => [name, isSecret(name) && value !== "" ? name.toUpperCase() : value])) as Body;

const isSecret = (name: string): boolean => name === "password" || (SECRETS as readonly string[]).includes(name);

const BY_COMMAND = ["pace", "tier", "token", "app_secret", "graph_url", "error_catalogue"];

/** Undefined if the CLI has no equivalent. */
export function cliOf(org: string, number: string, change: Change): string | undefined {
  const shown = withoutSecrets(change);
  const options = Object.entries(shown).filter(([name]) => BY_COMMAND.includes(name));
  const lines = [
    ...(options.length > 0 ? [`waypost admin change-number ${org} ${number} ${options.map(([name, value]) => `--${name.replaceAll("_", "-")} ${quoted(String(value))}`).join(" ")}`] : []),
    ...("failover" in change ? [`waypost admin failover ${org} ${number}${change.failover == null ? "" : ` --to ${change.failover}`}`] : []),
  ];
  return lines.length > 0 ? lines.join("\n") : undefined;
}

const DEAD_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789";

/** Without characters that are easily confused. */
export const madeUp = (): string => Array.from(crypto.getRandomValues(new Uint8Array(24)), (byte) => DEAD_LETTERS[byte % DEAD_LETTERS.length]).join("");
