/** Whether the demo's phone panel is visible: on wide screens, unless hidden. */

import { useMediaQuery } from "@mantine/hooks";
import { useState } from "react";

const KEY = "waypost.phone";
const WIDE = "(min-width: 1200px)";

export interface PhonePanelState {
  readonly shown: boolean;
  readonly toggle: () => void;
}

export function usePhonePanel(isDemo: boolean): PhonePanelState {
  const [wanted, setWanted] = useState(() => localStorage.getItem(KEY) !== "hidden");
  const isWide = useMediaQuery(WIDE, false, { getInitialValueInEffect: false });
  const toggle = () => {
    localStorage.setItem(KEY, wanted ? "hidden" : "shown");
    setWanted(!wanted);
  };
  return { shown: isDemo && isWide && wanted, toggle };
}
