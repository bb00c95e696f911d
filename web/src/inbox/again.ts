/** When the button that sends a message again waits: the message itself tells what became of it. */

import type { Message } from "../model";

interface Sending {
  readonly isPending: boolean;
  readonly isSuccess: boolean;
  /** What was sent again. */
  readonly variables: Message | undefined;
}

/** A message that changed since has been sent, and failed once more: both may come within one frame. */
export const isOnItsWay = ({ isPending, isSuccess, variables }: Sending, message: Message): boolean =>
  isPending || (isSuccess && variables === message);
