/** Keyboard shortcuts of the inbox; inactive in input fields and while a dialog, menu or popover is open. */

import { useEffect } from "react";

/** Handlers by key; several components can each register some. */
export type Keys = Readonly<Record<string, () => void>>;

/** Overlays that take the keys while they are open. */
const OVER = 'dialog[open], [role="menu"], [role="dialog"]';

export function useKeys(keys: Keys): void {
  useEffect(() => {
    let isOver = false;
    // Checked in the capture phase: Escape may already have closed the overlay when the key arrives here.
    const look = (): void => {
      isOver = document.querySelector(OVER) !== null;
    };
    const press = (event: KeyboardEvent): void => {
      const action = keys[event.key];
      if (action === undefined || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isOver) return;
      if (isWriting(event.target)) {
        if (event.key === "Escape") (event.target as HTMLElement).blur();
        return;
      }
      event.preventDefault();
      action();
    };
    addEventListener("keydown", look, true);
    addEventListener("keydown", press);
    return () => {
      removeEventListener("keydown", look, true);
      removeEventListener("keydown", press);
    };
  }, [keys]);
}

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
