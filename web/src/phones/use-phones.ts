/** The selected phone, its screen, and the state saved in this browser. */

import { useState } from "react";

import { savePhones, loadPhones, type SavedPhones } from "./saved-phones";
import type { Line, Person, PersonWithUnread } from "./model";
import { allPeople } from "./people";
import { useScreen, type ScreenState } from "./use-screen";

export interface PhonesShown {
  readonly person: PersonWithUnread;
  readonly people: readonly PersonWithUnread[];
  readonly reads: boolean;
  readonly screenState: ScreenState;
  /** Null until the chosen phone is loaded. */
  readonly lines: readonly Line[] | null;
  readonly choose: (phone: string) => void;
  readonly add: (person: Person) => void;
  readonly setReads: (reads: boolean) => void;
}

export function usePhones(): PhonesShown {
  const [saved, setSaved] = useState(loadPhones);
  const screenState = useScreen(saved.chosen);
  const update = (change: Partial<SavedPhones>): void => {
    const next = { ...saved, ...change };
    savePhones(next);
    setSaved(next);
  };
  const { screen } = screenState;
  const people = allPeople(saved.added, screen?.phones ?? [], saved.chosen);
  return {
    person: people.find(({ phone }) => phone === saved.chosen) ?? { phone: saved.chosen, name: `+${saved.chosen}`, unread: 0 },
    people,
    reads: saved.reads,
    screenState,
    lines: screen?.phone === saved.chosen ? screen.messages : null,
    choose: (chosen) => update({ chosen }),
    add: (person) => update({ chosen: person.phone, added: [...saved.added.filter(({ phone }) => phone !== person.phone), person] }),
    setReads: (reads) => update({ reads }),
  };
}
