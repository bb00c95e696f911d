/** API calls: each is created once, typed by the OpenAPI document, and used both for the request and for the curl command. */

import { useMutation, useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";

import type { paths } from "../api/schema";
import { words } from "./texts";

type Method = "get" | "put" | "post" | "patch" | "delete";
type PathOf<M extends Method> = { [P in keyof paths]: paths[P][M] extends object ? P : never }[keyof paths];
type Good = 200 | 201 | 202 | 207;

type PathPart<Op> = Op extends { parameters: { path: infer Path } } ? { path: Path } : { path?: never };
type QueryPart<Op> = Op extends { parameters: { query: infer Query } }
  ? { query: Query }
  : Op extends { parameters: { query?: infer Query } }
    ? { query?: Query | undefined }
    : object;
type BodyPart<Op> = Op extends { requestBody: { content: { "application/json": infer Body } } }
  ? { body: Body }
  : Op extends { requestBody?: { content: { "application/json": infer Body } } }
    ? { body?: Body }
    : object;
type Given<Op> = PathPart<Op> & QueryPart<Op> & BodyPart<Op>;
type Arguments<Op> = object extends Given<Op> ? [given?: Given<Op>] : [given: Given<Op>];
type JsonIn<Response> = Response extends { content: { "application/json": infer Json } } ? Json : undefined;
type AnswerOf<Op> = Op extends { responses: infer All }
  ? [keyof All & Good] extends [never]
    ? undefined
    : JsonIn<All[keyof All & Good]>
  : never;

export interface Call<Answer> {
  readonly method: Uppercase<Method>;
  /** With its parameters and query. */
  readonly path: string;
  readonly body?: unknown;
  /** Never set: carries the type. */
  readonly answer?: Answer;
}

type Parameter = string | number | boolean | null | undefined;
interface Loose {
  readonly path?: Readonly<Record<string, Parameter>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly body?: unknown;
}

/** `call("post", "/api/v1/outbound/gates/{gate_id}/release", { path: { gate_id: 3 } })`. Omits null, undefined and "" from the query. */
export function call<M extends Method, P extends PathOf<M>>(method: M, path: P, ...given: Arguments<paths[P][M]>): Call<AnswerOf<paths[P][M]>> {
  const { path: named = {}, query = {}, body } = (given as unknown as readonly Loose[])[0] ?? {};
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(named[name] ?? "")));
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined && value !== "") asked.set(name, String(value));
  const all = asked.size > 0 ? `${filled}?${asked.toString()}` : filled;
  return { method: method.toUpperCase() as Uppercase<M>, path: all, ...(body !== undefined && { body }) };
}

/** An error response; its message is displayed. */
export class Problem extends Error {
  /** Zero: no response. */
  readonly status: number;
  readonly code: string | null;
  readonly field: string | null;

  constructor(status: number, detail: string, code: string | null = null, field: string | null = null) {
    super(detail);
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

export async function ask<Answer>({ method, path, body: sent }: Call<Answer>): Promise<Answer> {
  const headers = sent === undefined ? {} : { "content-type": "application/json" };
  let response: Response;
  try {
    response = await fetch(path, { method, headers, cache: "no-store", ...(sent !== undefined && { body: JSON.stringify(sent) }) });
  } catch {
    throw new Problem(0, words.failed.unreachable);
  }
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw problemOf(response.status, body);
  return body as Answer;
}

function problemOf(status: number, body: unknown): Problem {
  const { title, detail, code, field } = (body ?? {}) as Partial<Record<"title" | "detail" | "code" | "field", string>>;
  return new Problem(status, detail ?? title ?? words.failed.status(status), code ?? null, field ?? null);
}

interface QueryOptions {
  /** The polling interval, while the page is visible. */
  readonly everyMs?: number;
  readonly enabled?: boolean;
  /** Keeps the last response while another call is loading, so that filters do not flicker. */
  readonly keep?: boolean;
}

const ALL = "api";
const TRIES = 2;

/** A query that is kept current. */
export function useApiQuery<Answer>(of: Call<Answer>, { everyMs, enabled = true, keep = false }: QueryOptions = {}): UseQueryResult<Answer> {
  return useQuery<Answer>({
    queryKey: [ALL, of.method, of.path],
    queryFn: () => ask(of),
    enabled,
    refetchInterval: everyMs ?? false,
    refetchOnWindowFocus: true,
    retry: (failures, error) => failures < TRIES && !(error instanceof Problem && error.status >= 400 && error.status < 500),
    ...(keep && { placeholderData: (last: Answer | undefined) => last as never }),
  });
}

/** A mutation; afterwards all visible queries are reloaded. */
export function useApiMutation<Answer>(onDone?: (answer: Answer) => void) {
  const queries = useQueryClient();
  return useMutation<Answer, Error, Call<Answer>>({
    mutationFn: ask,
    onSuccess: async (answer) => {
      onDone?.(answer);
      await queries.invalidateQueries({ queryKey: [ALL] });
    },
  });
}
