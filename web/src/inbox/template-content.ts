/** Converts a template and its parameters to message content, and back to text. Pure. */

import type { Content } from "@waypost/client";

import { partOf } from "../live/references";
import type { Template, TemplateParameter } from "../model";

/** Keyed by `keyOf` of the parameter. */
export type Values = Readonly<Record<string, string>>;

export const keyOf = ({ component, index, name }: TemplateParameter): string => `${component}:${index ?? ""}:${name}`;

const FILES = ["image", "video", "document"];

export const canBeFilled = ({ kind }: TemplateParameter): boolean => kind === "text" || kind === "coupon_code" || FILES.includes(kind);

export const isFilled = ({ parameters }: Template, values: Values): boolean => parameters.every((each) => (values[keyOf(each)] ?? "").trim() !== "");

/** Approved templates only; each language is a separate template. */
export function sendable(templates: readonly Template[], words: string): readonly Template[] {
  const wanted = words.trim().toLowerCase();
  const seen = new Set<string>();
  return templates.filter((template) => {
    const name = `${template.name} ${template.language}`;
    if (template.status !== "APPROVED" || seen.has(name)) return false;
    seen.add(name);
    return wanted === "" || `${name} ${textIn(template, "BODY")}`.toLowerCase().includes(wanted);
  });
}

/** The `components` of a message: one for each part with parameters. */
export function componentsOf(template: Template, values: Values): readonly object[] {
  const groups = new Map<string, TemplateParameter[]>();
  for (const each of template.parameters) groups.set(`${each.component}:${each.index ?? ""}`, [...(groups.get(`${each.component}:${each.index ?? ""}`) ?? []), each]);
  return [...groups.values()].map((places) => {
    const { component, index, kind } = places[0] as TemplateParameter;
    const parameters = places.map((each) => valueOf(each, template, (values[keyOf(each)] ?? "").trim()));
    if (component !== "button") return { type: component, parameters };
    return { type: "button", sub_type: kind === "coupon_code" ? "copy_code" : "url", index: String(index ?? 0), parameters };
  });
}

function valueOf({ kind, name, component }: TemplateParameter, { parameterFormat }: Template, value: string): object {
  if (kind === "coupon_code") return { type: kind, coupon_code: value };
  if (FILES.includes(kind)) return { type: kind, [kind]: { link: value } };
  const named = parameterFormat === "NAMED" && component !== "button";
  return { type: "text", text: value, ...(named && { parameter_name: name }) };
}

export function contentOf(template: Template, values: Values): Content {
  const components = componentsOf(template, values);
  const { name, language } = template;
  return { type: "template", template: { name, language: { code: language }, ...(components.length > 0 && { components }) } };
}

/** The template text with its parameters; null for an unknown template. */
export function wordsOfTemplate(sent: Readonly<Record<string, unknown>>, known: readonly Template[]): string | null {
  const language = typeof sent["language"] === "string" ? sent["language"] : partOf(sent, "language")["code"];
  const template = known.find((each) => each.name === sent["name"] && each.language === language);
  if (template === undefined) return null;
  const lines = [filled(template, sent, "HEADER"), filled(template, sent, "BODY"), textIn(template, "FOOTER")];
  return lines.filter((line) => line !== "").join("\n");
}

function filled(template: Template, sent: Readonly<Record<string, unknown>>, part: "HEADER" | "BODY"): string {
  const parameters = parametersOf(sent, part.toLowerCase());
  return textIn(template, part).replace(/\{\{\s*(\w+)\s*\}\}/g, (whole, name: string) => {
    const given = parameters.find((each) => each["parameter_name"] === name) ?? parameters[Number(name) - 1];
    return typeof given?.["text"] === "string" ? given["text"] : whole;
  });
}

function parametersOf(sent: Readonly<Record<string, unknown>>, type: string): readonly Readonly<Record<string, unknown>>[] {
  const components = Array.isArray(sent["components"]) ? (sent["components"] as readonly Record<string, unknown>[]) : [];
  const found = components.find((each) => String(each["type"]).toLowerCase() === type)?.["parameters"];
  return Array.isArray(found) ? (found as readonly Record<string, unknown>[]) : [];
}

export function textIn({ components }: Template, part: string): string {
  const parts = Array.isArray(components) ? (components as readonly Record<string, unknown>[]) : [];
  const text = parts.find(({ type }) => type === part)?.["text"];
  return typeof text === "string" ? text : "";
}
