/** What this tab has uploaded: the provider keeps the file, and gives nothing back; so it is shown from here. */

export interface OwnFile {
  readonly url: string;
  readonly name: string;
  readonly size: number;
}

const MOST = 50;
const kept = new Map<string, OwnFile>();

export function keepPreview(id: string, file: File): void {
  kept.set(id, { url: URL.createObjectURL(file), name: file.name, size: file.size });
  const oldest = kept.entries().next().value;
  if (kept.size <= MOST || oldest === undefined) return;
  URL.revokeObjectURL(oldest[1].url);
  kept.delete(oldest[0]);
}

export const previewOf = (id: unknown): OwnFile | undefined => (typeof id === "string" ? kept.get(id) : undefined);
