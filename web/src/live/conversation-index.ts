/** The loaded conversations, latest first; an update costs only as much as it changes. */

import type { Conversation } from "../model";
import { byActivity } from "./changes";

type Rows = readonly Conversation[];

export class ConversationIndex {
  /** Latest first. */
  readonly latest: Rows;
  /** Shared by all versions of the index: only the latest one is valid. */
  protected readonly rows: Map<string, Conversation>;

  constructor(rows: Rows = [], latest?: Rows, all?: Map<string, Conversation>) {
    this.rows = all ?? new Map(rows.map((row) => [row.conversation_id, row]));
    this.latest = latest ?? [...this.rows.values()].sort(byActivity);
  }

  get(id: string): Conversation | undefined {
    return this.rows.get(id);
  }

  has(id: string): boolean {
    return this.get(id) !== undefined;
  }

  values(): Iterable<Conversation> {
    return this.latest;
  }

  draft(): ConversationIndexDraft {
    return new ConversationIndexDraft(this);
  }

  /** Replaces rows by ID; removes those that are undefined. */
  with(changes: ReadonlyMap<string, Conversation | undefined>): ConversationIndex {
    const gone = [...changes.keys()].flatMap((id) => this.rows.get(id) ?? []);
    const come = [...changes.values()].filter((row) => row !== undefined);
    for (const [id, row] of changes) {
      if (row === undefined) this.rows.delete(id);
      else this.rows.set(id, row);
    }
    return new ConversationIndex([], reordered(this.latest, gone, come), this.rows);
  }
}

/** The changes for the next frame; not visible until committed. */
export class ConversationIndexDraft extends ConversationIndex {
  readonly #from: ConversationIndex;
  readonly #changes = new Map<string, Conversation | undefined>();

  constructor(from: ConversationIndex) {
    super([], from.latest);
    this.#from = from;
  }

  override get(id: string): Conversation | undefined {
    return this.#changes.has(id) ? this.#changes.get(id) : this.#from.get(id);
  }

  set(row: Conversation): void {
    this.#changes.set(row.conversation_id, row);
  }

  delete(id: string): void {
    this.#changes.set(id, undefined);
  }

  commit(): ConversationIndex {
    return this.#from.with(this.#changes);
  }
}

/** Finds positions by binary search and copies the ranges between them, instead of sorting everything again. */
function reordered(rows: Rows, gone: Rows, come: Rows): Rows {
  const kept = patched(rows, gone, (from, place) => [rows.slice(from, place), place + 1]);
  return patched(kept, come, (from, place, row) => [[...kept.slice(from, place), row], place]);
}

/** `piece` returns the rows up to and including a position, and where the next piece starts. */
function patched(rows: Rows, at: Rows, piece: (from: number, place: number, row: Conversation) => [Rows, number]): Rows {
  const pieces: Rows[] = [];
  let from = 0;
  for (const row of at.toSorted(byActivity)) {
    const [next, begins] = piece(from, placeOf(rows, row), row);
    pieces.push(next);
    from = begins;
  }
  return ([] as Conversation[]).concat(...pieces, rows.slice(from));
}

function placeOf(rows: Rows, row: Conversation): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = rows[middle];
    if (other !== undefined && byActivity(other, row) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
