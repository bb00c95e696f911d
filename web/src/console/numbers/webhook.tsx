/** Step 2: the webhook configuration at Meta. */

import { Alert, Button } from "@mantine/core";

import { CopyButton } from "../kit";
import type { NewNumber } from "./enter";
import styles from "./numbers.module.css";
import { usePublicUrl, WEBHOOK } from "./public-url";
import { wizard } from "./texts";

export function Webhook({ number, onNext }: { readonly number: NewNumber; readonly onNext: () => void }) {
  const { url, isGuess, isPublic } = usePublicUrl();
  const subscribe = `curl -X POST "https://graph.facebook.com/v25.0/${number.waba_id}/subscribed_apps" -H "Authorization: Bearer $TOKEN"`;
  return (
    <div className={styles["form"]}>
      <p className={styles["text"]} role="status">
        {wizard.connected(number.phone_number_id)} {wizard.point}
      </p>
      <Given name={wizard.url} value={url + WEBHOOK} />
      {(isGuess || !isPublic) && (
        <Alert color="yellow" variant="light">
          {isPublic ? wizard.noPublicUrl : wizard.notPublic}
        </Alert>
      )}
      <Given name={wizard.verifyToken} value={number.verify_token} />
      <p className={styles["text"]}>{wizard.fields}</p>
      <p className={styles["text"]}>{wizard.subscribe}</p>
      <Given name="" value={subscribe} />
      <div className={styles["foot"]}>
        <Button onClick={onNext}>{wizard.check}</Button>
      </div>
    </div>
  );
}

export const Given = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div className={styles["given"]}>
    {name !== "" && <strong>{name}</strong>}
    <code>{value}</code>
    <CopyButton text={value} />
  </div>
);
