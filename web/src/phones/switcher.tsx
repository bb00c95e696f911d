/** Selects a phone, or adds one. */

import { ActionIcon, Button, Popover, TextInput, VisuallyHidden } from "@mantine/core";
import { useState, type FormEvent } from "react";

import { Plus } from "../icons";
import type { Person } from "./model";
import { digitsOf } from "./people";
import styles from "./phones.module.css";
import { words } from "./texts";
import type { PhonesShown } from "./use-phones";

export function Switcher({ phones }: { readonly phones: PhonesShown }) {
  return (
    <div className={styles["switcher"]}>
      <div className={styles["people"]} role="group" aria-label={words.people.label}>
        {phones.people.map(({ phone, name, unread }) => (
          <button
            key={phone}
            type="button"
            className={styles["someone"]}
            aria-pressed={phone === phones.person.phone}
            title={`+${phone}`}
            onClick={() => phones.choose(phone)}
          >
            <bdi className={styles["someonesName"]}>{name}</bdi>
            {unread > 0 && phone !== phones.person.phone && (
              <span className={styles["unread"]}>
                <span aria-hidden="true">{unread > 99 ? "99+" : unread}</span>
                <VisuallyHidden>{words.people.unread(unread)}</VisuallyHidden>
              </span>
            )}
          </button>
        ))}
      </div>
      <Another onAdd={phones.add} />
    </div>
  );
}

function Another({ onAdd }: { readonly onAdd: (person: Person) => void }) {
  const [open, setOpen] = useState(false);
  const [name, setName] = useState("");
  const [number, setNumber] = useState("");
  const [wrong, setWrong] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const phone = digitsOf(number);
    setWrong(phone === null);
    if (phone === null) return;
    onAdd({ phone, name: name.trim() || `+${phone}` });
    setOpen(false);
    setName("");
    setNumber("");
  };
  return (
    <Popover opened={open} onChange={setOpen} position="bottom-end" width={240} trapFocus withinPortal={false} transitionProps={{ duration: 0 }}>
      <Popover.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={words.people.add} title={words.people.add} onClick={() => setOpen(!open)}>
          <Plus size={16} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown>
        <form className={styles["another"]} onSubmit={submit}>
          <TextInput label={words.people.name} value={name} onChange={(event) => setName(event.currentTarget.value)} maxLength={60} data-autofocus />
          <TextInput
            label={words.people.number}
            description={words.people.numberHint}
            error={wrong && words.people.wrong}
            value={number}
            onChange={(event) => setNumber(event.currentTarget.value)}
            inputMode="tel"
            required
            withAsterisk={false}
          />
          <Button type="submit" size="sm">
            {words.people.done}
          </Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
