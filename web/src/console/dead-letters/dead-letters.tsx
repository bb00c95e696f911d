/** Messages that failed, by their error. */

import { Page } from "../kit";
import { words } from "../texts";

export default function DeadLetters() {
  return <Page title={words.pages.deadLetters}>{null}</Page>;
}
