/** Whether a customer's file is here yet. */

/** Only what the server says is gone is gone: a server that is busy, or away, says nothing of the file. */
export async function stateOf(id: number): Promise<string> {
  const answer = await fetch(`/api/v1/media/${id}`, { headers: { range: "bytes=0-0" } }); // one byte is enough to know
  if (answer.ok) return "stored";
  const problem = (await answer.json().catch(() => ({}))) as { readonly code?: string };
  if (problem.code === "media_failed") return "failed";
  return answer.status === 404 || answer.status === 410 ? "gone" : "pending";
}
