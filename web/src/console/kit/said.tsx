/** What was just done, said for a few seconds at the bottom of the page; also to who does not see it. */

import { createContext, useCallback, useContext, useEffect, useState, type ReactNode } from "react";

import styles from "./kit.module.css";

const SHOWN_MS = 6_000;
const Say = createContext<(text: string) => void>(() => undefined);

export const useSay = (): ((text: string) => void) => useContext(Say);

export function Saying({ children }: { readonly children: ReactNode }) {
  const [said, setSaid] = useState<{ readonly text: string } | null>(null);
  useEffect(() => {
    if (said === null) return;
    const timer = setTimeout(() => setSaid(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const say = useCallback((text: string) => setSaid({ text }), []);
  return (
    <Say value={say}>
      {children}
      <div className={styles["said"]} aria-live="polite">
        {said !== null && <span>{said.text}</span>}
      </div>
    </Say>
  );
}
