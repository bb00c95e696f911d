/** Whether a customer's file has been downloaded. */

/** Only an explicit response means that the file is gone; a busy or unreachable server says nothing about it. */
export async function stateOf(id: number): Promise<string> {
  const answer = await fetch(`/api/v1/media/${id}`, { headers: { range: "bytes=0-0" } }); // one byte is enough to check
  if (answer.ok) return "stored";
  const problem = (await answer.json().catch(() => ({}))) as { readonly code?: string };
  if (problem.code === "media_failed") return "failed";
  return answer.status === 404 || answer.status === 410 ? "gone" : "pending";
}
