/** The conversations that are known, the latest first: a change costs what changed, however many there are. */

import type { Conversation } from "../model";
import { byActivity } from "./changes";

type Rows = readonly Conversation[];

export class Known {
  /** The latest first. */
  readonly latest: Rows;
  /** Also of those that came of this one: only the last is to be asked. */
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

  next(): Next {
    return new Next(this);
  }

  /** With these rows in place of those of the same id; without those that are undefined. */
  with(changes: ReadonlyMap<string, Conversation | undefined>): Known {
    const gone = [...changes.keys()].flatMap((id) => this.rows.get(id) ?? []);
    const come = [...changes.values()].filter((row) => row !== undefined);
    for (const [id, row] of changes) {
      if (row === undefined) this.rows.delete(id);
      else this.rows.set(id, row);
    }
    return new Known([], reordered(this.latest, gone, come), this.rows);
  }
}

/** What the next frame shows, while it is put together: nobody sees it before. */
export class Next extends Known {
  readonly #from: Known;
  readonly #changes = new Map<string, Conversation | undefined>();

  constructor(from: Known) {
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

  done(): Known {
    return this.#from.with(this.#changes);
  }
}

/** Places are looked for by halves, and what lies between them is copied in one go: sorting all anew looks at each. */
function reordered(rows: Rows, gone: Rows, come: Rows): Rows {
  const kept = patched(rows, gone, (from, place) => [rows.slice(from, place), place + 1]);
  return patched(kept, come, (from, place, row) => [[...kept.slice(from, place), row], place]);
}

/** `piece` gives what goes before and at the place of a row, and where the next piece begins. */
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
