/** Step 1: IDs and secrets from Meta's settings. */

import { Button, NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { useState } from "react";

import type { components } from "../../api/schema";
import { useInboxStore } from "../../live/use-inbox-store";
import { call, useApiMutation } from "../api";
import { quoted } from "../curl";
import { Commands, Failed } from "../kit";
import { madeUp, withoutSecrets } from "./form";
import type { Number_ } from "./health";
import styles from "./numbers.module.css";
import { words, wizard } from "./texts";

/** The data for the next steps; of the secrets, only the verify token. */
export type NewNumber = Pick<Number_, "phone_number_id" | "waba_id"> & { readonly verify_token: string };

const EMPTY = { phone_number_id: "", waba_id: "", token: "", app_secret: "", verify_token: "", graph_url: "", error_catalogue: "meta" };
type Entered = typeof EMPTY;

export function EnterNumber({ onConnected }: { readonly onConnected: (number: NewNumber) => void }) {
  const { me } = useInboxStore();
  const [entered, setEntered] = useState<Entered>(() => ({ ...EMPTY, verify_token: madeUp() }));
  const mutation = useApiMutation<Number_>(({ phone_number_id, waba_id }) => onConnected({ phone_number_id, waba_id, verify_token: body.verify_token }));
  const body = bodyOf(entered);
  const of = (name: keyof Entered) => ({
    label: words.fields[name],
    value: entered[name],
    onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) => setEntered((now) => ({ ...now, [name]: value })),
  });
  const needed = (name: Exclude<keyof Entered, "error_catalogue">) => ({ ...of(name), description: words.hints[name], required: true, autoComplete: "off" });
  return (
    <form
      className={styles["form"]}
      onSubmit={(event) => {
        event.preventDefault();
        mutation.mutate(call("post", "/api/v1/numbers", { body }));
      }}
    >
      <p className={styles["text"]}>{wizard.enter}</p>
      <div className={styles["fields"]}>
        <TextInput {...needed("phone_number_id")} pattern="[0-9A-Za-z_\-]{1,64}" />
        <TextInput {...needed("waba_id")} maxLength={64} />
        <PasswordInput {...needed("token")} autoComplete="new-password" />
        <PasswordInput {...needed("app_secret")} autoComplete="new-password" />
        <div className={styles["verify"]}>
          <TextInput {...needed("verify_token")} />
          <Button variant="default" onClick={() => setEntered((now) => ({ ...now, verify_token: madeUp() }))}>
            {words.another}
          </Button>
        </div>
      </div>
      <details className={styles["more"]}>
        <summary>{words.more}</summary>
        <div className={styles["fields"]}>
          <TextInput {...of("graph_url")} description={words.hints.graph_url} placeholder="https://graph.facebook.com/v25.0" />
          <NativeSelect {...of("error_catalogue")} data={Object.entries(words.catalogues).map(([value, label]) => ({ value, label }))} />
        </div>
        <Commands call={call("post", "/api/v1/numbers", { body: withoutSecrets(body) })} cli={cliFor(me.org_id, body)} />
      </details>
      {mutation.error !== null && <Failed error={mutation.error} />}
      <div className={styles["foot"]}>
        <Button type="submit" loading={mutation.isPending}>
          {wizard.connect}
        </Button>
      </div>
    </form>
  );
}

type Body = components["schemas"]["ConnectNumber"];

function bodyOf(entered: Entered): Body {
  const { graph_url, error_catalogue, ...needed } = Object.fromEntries(Object.entries(entered).map(([name, value]) => [name, value.trim()])) as Entered;
  return { ...needed, error_catalogue: error_catalogue as Body["error_catalogue"], enabled: true, ...(graph_url !== "" && { graph_url }) };
}

function cliFor(org: string, body: Body): string {
  const { phone_number_id, waba_id, token, app_secret, verify_token, graph_url } = withoutSecrets(body);
  const named = { phone_number_id, waba_id, token, app_secret, verify_token, ...(graph_url != null && { graph_url }) };
  const options = Object.entries(named).map(([name, value]) => `--${name.replaceAll("_", "-")} ${quoted(value)}`);
  return ["waypost admin connect-whatsapp", org, ...options].join(" ");
}
