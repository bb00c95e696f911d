/** The inbox by keyboard: j and k go through the list, r answers, / searches, Escape leaves. Nothing while somebody writes. */

import { useEffect } from "react";

export interface Deeds {
  readonly next: () => void;
  readonly previous: () => void;
  readonly answer: () => void;
  readonly search: () => void;
  readonly leave: () => void;
}

const DEEDS: Readonly<Record<string, keyof Deeds>> = { j: "next", k: "previous", r: "answer", "/": "search", Escape: "leave" };

export function useKeys(deeds: Deeds): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const deed = DEEDS[event.key];
      if (deed === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isWriting(event.target)) {
        if (event.key === "Escape") (event.target as HTMLElement).blur();
        return;
      }
      event.preventDefault();
      deeds[deed]();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [deeds]);
}

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
