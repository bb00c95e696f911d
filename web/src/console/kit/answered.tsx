/** What the server answered, or that it is awaited, or why it did not. */

import { Alert, Button, Loader } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { words } from "../texts";
import styles from "./kit.module.css";

interface Props<Answer> {
  readonly to: UseQueryResult<Answer>;
  readonly children: (answer: Answer) => ReactNode;
}

/** An answer that has become old stays, with the reason why there is no newer one above it. */
export function Answered<Answer>({ to, children }: Props<Answer>) {
  const { data, error, isPending, refetch } = to;
  return (
    <>
      {error !== null && <Failed error={error} onAgain={() => void refetch()} />}
      {isPending && error === null && (
        <div className={styles["loading"]}>
          <Loader size="sm" aria-label={words.loading} />
        </div>
      )}
      {data !== undefined && children(data)}
    </>
  );
}

export function Failed({ error, onAgain }: { readonly error: Error; readonly onAgain?: () => void }) {
  return (
    <Alert color="red" variant="light" role="alert" title={words.failed.title} className={styles["failed"] ?? ""}>
      <div className={styles["failedBody"]}>
        <span>{error.message}</span>
        {onAgain !== undefined && (
          <Button size="compact-sm" variant="default" onClick={onAgain}>
            {words.again}
          </Button>
        )}
      </div>
    </Alert>
  );
}
