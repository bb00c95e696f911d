/** Splits a search snippet at its highlights. */

import type { Found } from "./model";

export interface Piece {
  readonly text: string;
  readonly found: boolean;
}

/** Marks count Unicode code points, not UTF-16 units. */
export function piecesOf({ text, marks }: Found["snippet"]): readonly Piece[] {
  const characters = [...text];
  const pieces: Piece[] = [];
  let at = 0;
  const push = (until: number, found: boolean): void => {
    if (until > at) pieces.push({ text: characters.slice(at, until).join(""), found });
    at = Math.max(at, until);
  };
  for (const [begin, end] of marks) {
    push(begin, false);
    push(end, true);
  }
  push(characters.length, false);
  return pieces;
}
