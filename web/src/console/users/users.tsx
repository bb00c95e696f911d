/** The org's people: added, given new tokens, removed; a token is shown once. */

import { Button, TextInput } from "@mantine/core";
import { useState } from "react";

import type { components } from "../../api/schema";
import { useDesk } from "../../live/use-desk";
import { call, useAnswer, useDeed } from "../api";
import { quoted } from "../curl";
import styles from "../keys/keys.module.css";
import { RoleChoice, RoleInWords } from "../keys/role-choice";
import { SecretOnce } from "../keys/secret-once";
import { AnswerTable, Commands, Copyable, Curl, Deed, Dialog, Failed, Page, type Column } from "../kit";
import { words as frame } from "../texts";
import { words } from "./texts";

type User = components["schemas"]["UserView"];
type UserRole = components["schemas"]["CreateUser"]["role"];
interface Shown {
  readonly title: string;
  readonly secret: string;
}

const ROLES: readonly UserRole[] = ["agent", "admin"];

export default function Users() {
  const { me } = useDesk();
  const listing = call("get", "/api/v1/users");
  const answer = useAnswer(listing);
  const isLast = answer.data?.some(({ user_id, role }) => role === "admin" && user_id !== me.user_id) === false;
  const [adding, setAdding] = useState(false);
  const [shown, setShown] = useState<Shown | null>(null);
  const add = ({ name, token }: User) => {
    setAdding(false);
    setShown({ title: words.added(name), secret: token ?? "" });
  };
  return (
    <Page
      title={frame.pages.users}
      intro={words.intro}
      actions={
        <>
          <Curl call={listing} cli={`waypost admin users ${me.org_id}`} />
          <Button size="compact-sm" onClick={() => setAdding(true)}>
            {words.add}
          </Button>
        </>
      }
    >
      <AnswerTable
        to={answer}
        rowsOf={(users) => users}
        label={words.label}
        columns={columnsFor(me, isLast, ({ name, token }) => setShown({ title: words.renewed(name), secret: token ?? "" }))}
        keyOf={({ user_id }) => user_id}
        empty={words.none}
      />
      {adding && <AddUser onAdded={add} onClose={() => setAdding(false)} />}
      {shown !== null && <SecretOnce title={shown.title} label={words.token} hint={words.shownOnce} secret={shown.secret} onClose={() => setShown(null)} />}
    </Page>
  );
}

/** `isLast`: nobody else is an admin. */
function columnsFor(me: { readonly user_id: string; readonly org_id: string }, isLast: boolean, onRenewed: (user: User) => void): readonly Column<User>[] {
  const { columns } = words;
  const isMe = ({ user_id }: User): boolean => user_id === me.user_id;
  return [
    { head: columns.name, cell: (user) => (isMe(user) ? `${user.name} (${words.you})` : user.name), wide: true },
    { head: columns.id, cell: ({ user_id }) => <Copyable text={user_id} /> },
    { head: columns.role, cell: ({ role }) => <RoleInWords role={role} /> },
    {
      head: columns.deeds,
      cell: (user) => (
        <div className={styles["deeds"]}>
          <Deed
            label={words.renew}
            title={words.renewTitle(user.name)}
            call={call("post", "/api/v1/users/{user_id}/token", { path: { user_id: user.user_id } })}
            cli={`waypost admin renew-token ${me.org_id} ${user.user_id}`}
            onDone={onRenewed}
          >
            {isMe(user) ? `${words.renewText} ${words.removeSelf}` : words.renewText}
          </Deed>
          <Deed
            label={words.remove}
            title={words.removeTitle(user.name)}
            call={call("delete", "/api/v1/users/{user_id}", { path: { user_id: user.user_id } })}
            cli={`waypost admin remove-user ${me.org_id} ${user.user_id}`}
            danger
            done={words.removed}
          >
            {[words.removeText, isMe(user) && words.removeSelf, isMe(user) && isLast && words.removeLast].filter(Boolean).join(" ")}
          </Deed>
        </div>
      ),
    },
  ];
}

function AddUser({ onAdded, onClose }: { readonly onAdded: (user: User) => void; readonly onClose: () => void }) {
  const { me } = useDesk();
  const [name, setName] = useState("");
  const [role, setRole] = useState<UserRole>("agent");
  const deed = useDeed<User>(onAdded);
  const asked = call("post", "/api/v1/users", { body: { name: name.trim(), role } });
  return (
    <Dialog title={words.addTitle} onClose={onClose}>
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          deed.mutate(asked);
        }}
      >
        <TextInput label={words.name} value={name} maxLength={255} required data-autofocus onChange={(event) => setName(event.currentTarget.value)} />
        <RoleChoice label={words.role} roles={ROLES} value={role} onChange={setRole} />
        {deed.error !== null && <Failed error={deed.error} />}
        <Commands call={asked} cli={`waypost admin create-user ${me.org_id} ${quoted(name.trim())} --role ${role}`} />
        <div className={styles["foot"]}>
          <Button variant="default" onClick={onClose}>
            {words.cancel}
          </Button>
          <Button type="submit" loading={deed.isPending} disabled={name.trim() === ""}>
            {words.add}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
