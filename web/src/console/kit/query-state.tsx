/** Renders a query: its data, a loader, or an error. */

import { Alert, Button, Loader } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { words } from "../texts";
import styles from "./kit.module.css";

interface Props<Answer> {
  readonly query: UseQueryResult<Answer>;
  readonly children: (answer: Answer) => ReactNode;
}

/** Stale data stays visible, with the error above it. */
export function QueryState<Answer>({ query, children }: Props<Answer>) {
  const { data, error, isPending, refetch } = query;
  return (
    <>
      {error !== null && <Failed error={error} onRetry={() => void refetch()} />}
      {isPending && error === null && (
        <div className={styles["loading"]}>
          <Loader size="sm" aria-label={words.loading} />
        </div>
      )}
      {data !== undefined && children(data)}
    </>
  );
}

export function Failed({ error, onRetry }: { readonly error: Error; readonly onRetry?: () => void }) {
  return (
    <Alert color="red" variant="light" role="alert" title={words.failed.title} className={styles["failed"] ?? ""}>
      <div className={styles["failedBody"]}>
        <span>{error.message}</span>
        {onRetry !== undefined && (
          <Button size="compact-sm" variant="default" onClick={onRetry}>
            {words.again}
          </Button>
        )}
      </div>
    </Alert>
  );
}
