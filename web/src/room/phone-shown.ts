/** Whether a demo's phone stands beside the inbox: there is room for it on a wide screen, and somebody may have hidden it. */

import { useMediaQuery } from "@mantine/hooks";
import { useState } from "react";

const KEY = "waypost.phone";
const WIDE = "(min-width: 1200px)";

export interface PhoneBeside {
  readonly shown: boolean;
  readonly toggle: () => void;
}

export function usePhoneBeside(isDemo: boolean): PhoneBeside {
  const [wanted, setWanted] = useState(() => localStorage.getItem(KEY) !== "hidden");
  const isWide = useMediaQuery(WIDE, false, { getInitialValueInEffect: false });
  const toggle = () => {
    localStorage.setItem(KEY, wanted ? "hidden" : "shown");
    setWanted(!wanted);
  };
  return { shown: isDemo && isWide && wanted, toggle };
}
