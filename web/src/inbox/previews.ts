/** Files uploaded in this tab, shown from memory: the provider does not return them. */

export interface OwnFile {
  readonly url: string;
  readonly name: string;
  readonly size: number;
}

const MOST = 50;
const previews = new Map<string, OwnFile>();

export function keepPreview(id: string, file: File): void {
  previews.set(id, { url: URL.createObjectURL(file), name: file.name, size: file.size });
  const oldest = previews.entries().next().value;
  if (previews.size <= MOST || oldest === undefined) return;
  URL.revokeObjectURL(oldest[1].url);
  previews.delete(oldest[0]);
}

export const previewOf = (id: unknown): OwnFile | undefined => (typeof id === "string" ? previews.get(id) : undefined);
