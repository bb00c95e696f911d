/** A toast at the bottom of the page, announced to screen readers. */

import { createContext, useCallback, useContext, useEffect, useState, type ReactNode } from "react";

import styles from "./kit.module.css";

const SHOWN_MS = 6_000;
const ToastContext = createContext<(text: string) => void>(() => undefined);

export const useToast = (): ((text: string) => void) => useContext(ToastContext);

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [current, setToast] = useState<{ readonly text: string } | null>(null);
  useEffect(() => {
    if (current === null) return;
    const timer = setTimeout(() => setToast(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [current]);
  const show = useCallback((text: string) => setToast({ text }), []);
  return (
    <ToastContext value={show}>
      {children}
      <div className={styles["toast"]} aria-live="polite">
        {current !== null && <span>{current.text}</span>}
      </div>
    </ToastContext>
  );
}
