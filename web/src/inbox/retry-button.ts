/** Whether the "Send again" button shows a loading state; the message itself shows the result. */

import type { Message } from "../model";

interface RetryMutation {
  readonly isPending: boolean;
  readonly isSuccess: boolean;
  /** The message that was sent again. */
  readonly variables: Message | undefined;
}

/** A different message object means that the retry has ended, even if it failed again within one frame. */
export const isRetrying = ({ isPending, isSuccess, variables }: RetryMutation, message: Message): boolean =>
  isPending || (isSuccess && variables === message);
