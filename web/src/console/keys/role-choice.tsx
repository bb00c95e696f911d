/** Role selection with descriptions. */

import { Radio, Stack } from "@mantine/core";

import styles from "./keys.module.css";
import { words } from "./texts";

interface Props<Role extends string> {
  readonly label: string;
  readonly roles: readonly Role[];
  readonly value: Role;
  readonly onChange: (role: Role) => void;
}

export function RoleChoice<Role extends string>({ label, roles, value, onChange }: Props<Role>) {
  return (
    <Radio.Group label={label} value={value} onChange={(chosen) => onChange(chosen as Role)}>
      <Stack gap="xs" mt="xs">
        {roles.map((role) => (
          <Radio key={role} value={role} label={words.roleNames[role] ?? role} description={words.roles[role]} />
        ))}
      </Stack>
    </Radio.Group>
  );
}

export const RoleInWords = ({ role }: { readonly role: string }) => (
  <span className={styles["role"]}>
    {words.roleNames[role] ?? role}
    <span>{words.roles[role]}</span>
  </span>
);
