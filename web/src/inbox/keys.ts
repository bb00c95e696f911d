/** The inbox by keyboard. Nothing while somebody writes, and nothing behind a dialog, a menu or a palette. */

import { useEffect } from "react";

/** What each key does here; several parts of the page may each know some. */
export type Keys = Readonly<Record<string, () => void>>;

/** What lies over the page, and takes the keys while it does. */
const OVER = 'dialog[open], [role="menu"], [role="dialog"]';

export function useKeys(keys: Keys): void {
  useEffect(() => {
    let isOver = false;
    // Before anybody hears of it: what Escape closes is gone by the time that the key comes here.
    const look = (): void => {
      isOver = document.querySelector(OVER) !== null;
    };
    const press = (event: KeyboardEvent): void => {
      const deed = keys[event.key];
      if (deed === undefined || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isOver) return;
      if (isWriting(event.target)) {
        if (event.key === "Escape") (event.target as HTMLElement).blur();
        return;
      }
      event.preventDefault();
      deed();
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
