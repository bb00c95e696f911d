/** Fills in template parameters in the message format. */

import type { components } from "../../api/schema";
import { words } from "./texts";

export type Template = components["schemas"]["TemplateView"];
export type Place = components["schemas"]["ParameterView"];

/** Unique and stable for each parameter. */
export const keyOf = ({ component, index, name }: Place): string => `${component}${index ?? ""}.${name}`;

const partOf = ({ component, index }: Place): string => `${component}${index ?? ""}`;

export function labelOf({ component, index, kind, name }: Place): string {
  const where = component === "button" ? words.place.button(index ?? 0) : component === "header" ? words.place.header : words.place.body;
  const what = kind === "text" ? words.placeholder(name) : (words.kinds[kind] ?? kind);
  return `${where}: ${what}`;
}

/** Empty parameters show their placeholder, so that the rest can be previewed. */
export function componentsOf({ parameters, parameterFormat, components }: Template, values: Readonly<Record<string, string>>): readonly object[] {
  const names = [...new Set(parameters.map(partOf))];
  return names.map((name) => {
    const places = parameters.filter((place) => partOf(place) === name);
    const [first] = places;
    const isNamed = parameterFormat === "NAMED" && first?.component !== "button";
    const filled = places.map((place) => parameterOf(place, values[keyOf(place)] ?? "", isNamed));
    if (first?.component !== "button") return { type: first?.component, parameters: filled };
    return { type: "button", sub_type: first.kind === "coupon_code" ? "copy_code" : subTypeOf(components, first.index ?? 0), index: String(first.index ?? 0), parameters: filled };
  });
}

function parameterOf({ kind, name }: Place, value: string, isNamed: boolean): object {
  const given = value === "" ? words.placeholder(name) : value;
  if (kind === "text") return { type: "text", ...(isNamed && { parameter_name: name }), text: given };
  if (kind === "coupon_code") return { type: "coupon_code", coupon_code: given };
  if (kind !== "location") return { type: kind, [kind]: { link: value === "" ? "https://example.com/file" : value } };
  const [latitude = "0", longitude = "0"] = value.split(",").map((part) => part.trim());
  return { type: "location", location: { latitude, longitude } };
}

/** One-time codes are sent as URL buttons. */
function subTypeOf(components: unknown, index: number): string {
  const all = Array.isArray(components) ? (components as { readonly type?: string; readonly buttons?: readonly { readonly type?: string }[] }[]) : [];
  const kind = all.find(({ type }) => type?.toUpperCase() === "BUTTONS")?.buttons?.[index]?.type?.toLowerCase();
  return kind === undefined || kind === "otp" ? "url" : kind;
}

export interface Chosen {
  readonly account: string;
  readonly name: string;
  readonly language: string;
}

export function chosenIn(search: string): Chosen | null {
  const params = new URLSearchParams(search);
  const [account, name, language] = ["account", "name", "language"].map((each) => params.get(each));
  return account && name && language ? { account, name, language } : null;
}

export const addressOf = ({ wabaId, name, language }: Template): string =>
  `/console/templates?${new URLSearchParams({ account: wabaId, name, language }).toString()}`;
