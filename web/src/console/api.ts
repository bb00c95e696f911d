/** One way to ask the server: a call is made once, typed by the OpenAPI document, and is both what is sent and what is shown as curl. */

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
  /** With its parameters and its query. */
  readonly path: string;
  readonly body?: unknown;
  /** Never there: it only carries the type. */
  readonly answer?: Answer;
}

type Parameter = string | number | boolean | null | undefined;
interface Loose {
  readonly path?: Readonly<Record<string, Parameter>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly body?: unknown;
}

/** `call("post", "/api/v1/outbound/gates/{gate_id}/release", { path: { gate_id: 3 } })`. What is null, undefined or "" is left out of a query. */
export function call<M extends Method, P extends PathOf<M>>(method: M, path: P, ...given: Arguments<paths[P][M]>): Call<AnswerOf<paths[P][M]>> {
  const { path: named = {}, query = {}, body } = (given as unknown as readonly Loose[])[0] ?? {};
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(named[name] ?? "")));
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined && value !== "") asked.set(name, String(value));
  const all = asked.size > 0 ? `${filled}?${asked.toString()}` : filled;
  return { method: method.toUpperCase() as Uppercase<M>, path: all, ...(body !== undefined && { body }) };
}

/** What the server said no with; its message is made for people. */
export class Problem extends Error {
  /** Zero: nobody answered. */
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

export async function ask<Answer>({ method, path, body }: Call<Answer>): Promise<Answer> {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  let answer: Response;
  try {
    answer = await fetch(path, { method, headers, cache: "no-store", ...(body !== undefined && { body: JSON.stringify(body) }) });
  } catch {
    throw new Problem(0, words.failed.unreachable);
  }
  const said: unknown = await answer.json().catch(() => undefined);
  if (!answer.ok) throw problemOf(answer.status, said);
  return said as Answer;
}

function problemOf(status: number, said: unknown): Problem {
  const { title, detail, code, field } = (said ?? {}) as Partial<Record<"title" | "detail" | "code" | "field", string>>;
  return new Problem(status, detail ?? title ?? words.failed.status(status), code ?? null, field ?? null);
}

interface How {
  /** Asked anew so often, while the page can be seen. */
  readonly everyMs?: number;
  readonly enabled?: boolean;
  /** Show the last answer while the next is on its way, though the call is another one: a filter does not blink. */
  readonly keep?: boolean;
}

const ALL = "api";
const TRIES = 2;

/** What the server answers, kept current. */
export function useAnswer<Answer>(of: Call<Answer>, { everyMs, enabled = true, keep = false }: How = {}): UseQueryResult<Answer> {
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

/** Something to be done; afterwards everything that is shown is asked anew. */
export function useDeed<Answer>(onDone?: (answer: Answer) => void) {
  const queries = useQueryClient();
  return useMutation<Answer, Error, Call<Answer>>({
    mutationFn: ask,
    onSuccess: async (answer) => {
      onDone?.(answer);
      await queries.invalidateQueries({ queryKey: [ALL] });
    },
  });
}
