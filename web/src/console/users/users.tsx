/** The org's users: add, renew tokens, remove; a token is shown only once. */

import { Button, TextInput } from "@mantine/core";
import { useState } from "react";

import type { components } from "../../api/schema";
import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiQuery, useApiMutation } from "../api";
import { quoted } from "../curl";
import styles from "../keys/keys.module.css";
import { RoleChoice, RoleInWords } from "../keys/role-choice";
import { SecretOnce } from "../keys/secret-once";
import { QueryTable, Commands, Copyable, Curl, ActionButton, Dialog, Failed, Page, type Column } from "../kit";
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
  const { me } = useInboxStore();
  const listing = call("get", "/api/v1/users");
  const result = useApiQuery(listing);
  const isLast = result.data?.some(({ user_id, role }) => role === "admin" && user_id !== me.user_id) === false;
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
      <QueryTable
        query={result}
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

/** `isLast`: there is no other admin. */
function columnsFor(me: { readonly user_id: string; readonly org_id: string }, isLast: boolean, onRenewed: (user: User) => void): readonly Column<User>[] {
  const { columns } = words;
  const isMe = ({ user_id }: User): boolean => user_id === me.user_id;
  return [
    { head: columns.name, cell: (user) => (isMe(user) ? `${user.name} (${words.you})` : user.name), wide: true },
    { head: columns.id, cell: ({ user_id }) => <Copyable text={user_id} /> },
    { head: columns.role, cell: ({ role }) => <RoleInWords role={role} /> },
    {
      head: columns.actions,
      cell: (user) => (
        <div className={styles["actions"]}>
          <ActionButton
            label={words.renew}
            title={words.renewTitle(user.name)}
            call={call("post", "/api/v1/users/{user_id}/token", { path: { user_id: user.user_id } })}
            cli={`waypost admin renew-token ${me.org_id} ${user.user_id}`}
            onDone={onRenewed}
          >
            {isMe(user) ? `${words.renewText} ${words.removeSelf}` : words.renewText}
          </ActionButton>
          <ActionButton
            label={words.remove}
            title={words.removeTitle(user.name)}
            call={call("delete", "/api/v1/users/{user_id}", { path: { user_id: user.user_id } })}
            cli={`waypost admin remove-user ${me.org_id} ${user.user_id}`}
            danger
            done={words.removed}
          >
            {[words.removeText, isMe(user) && words.removeSelf, isMe(user) && isLast && words.removeLast].filter(Boolean).join(" ")}
          </ActionButton>
        </div>
      ),
    },
  ];
}

function AddUser({ onAdded, onClose }: { readonly onAdded: (user: User) => void; readonly onClose: () => void }) {
  const { me } = useInboxStore();
  const [name, setName] = useState("");
  const [role, setRole] = useState<UserRole>("agent");
  const mutation = useApiMutation<User>(onAdded);
  const request = call("post", "/api/v1/users", { body: { name: name.trim(), role } });
  return (
    <Dialog title={words.addTitle} onClose={onClose}>
      <form
        className={styles["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          mutation.mutate(request);
        }}
      >
        <TextInput label={words.name} value={name} maxLength={255} required data-autofocus onChange={(event) => setName(event.currentTarget.value)} />
        <RoleChoice label={words.role} roles={ROLES} value={role} onChange={setRole} />
        {mutation.error !== null && <Failed error={mutation.error} />}
        <Commands call={request} cli={`waypost admin create-user ${me.org_id} ${quoted(name.trim())} --role ${role}`} />
        <div className={styles["foot"]}>
          <Button variant="default" onClick={onClose}>
            {words.cancel}
          </Button>
          <Button type="submit" loading={mutation.isPending} disabled={name.trim() === ""}>
            {words.add}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
