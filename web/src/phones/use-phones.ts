/** Whose phone is in the hand, what it shows, and what this browser keeps of it. */

import { useState } from "react";

import { keep, recall, type Kept } from "./kept";
import type { Line, Person, PersonWithPost } from "./model";
import { everybody } from "./people";
import { useLook, type Watched } from "./use-look";

export interface PhonesShown {
  readonly person: PersonWithPost;
  readonly people: readonly PersonWithPost[];
  readonly reads: boolean;
  readonly watched: Watched;
  /** Null until the chosen phone was looked at. */
  readonly lines: readonly Line[] | null;
  readonly choose: (phone: string) => void;
  readonly add: (person: Person) => void;
  readonly setReads: (reads: boolean) => void;
}

export function usePhones(): PhonesShown {
  const [kept, setKept] = useState(recall);
  const watched = useLook(kept.chosen);
  const become = (change: Partial<Kept>): void => {
    const next = { ...kept, ...change };
    keep(next);
    setKept(next);
  };
  const { look } = watched;
  const people = everybody(kept.added, look?.phones ?? [], kept.chosen);
  return {
    person: people.find(({ phone }) => phone === kept.chosen) ?? { phone: kept.chosen, name: `+${kept.chosen}`, unread: 0 },
    people,
    reads: kept.reads,
    watched,
    lines: look?.phone === kept.chosen ? look.messages : null,
    choose: (chosen) => become({ chosen }),
    add: (person) => become({ chosen: person.phone, added: [...kept.added.filter(({ phone }) => phone !== person.phone), person] }),
    setReads: (reads) => become({ reads }),
  };
}
