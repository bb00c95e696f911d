/** The inbox by keyboard. Nothing while somebody writes, and nothing behind a dialog. */

import { useEffect } from "react";

/** What each key does here; several parts of the page may each know some. */
export type Keys = Readonly<Record<string, () => void>>;

export function useKeys(keys: Keys): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const deed = keys[event.key];
      if (deed === undefined || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector("dialog[open]") !== null) return;
      if (isWriting(event.target)) {
        if (event.key === "Escape") (event.target as HTMLElement).blur();
        return;
      }
      event.preventDefault();
      deed();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [keys]);
}

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
