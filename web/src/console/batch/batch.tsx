/** Many messages from a file. */

import { Page } from "../kit";
import { words } from "../texts";

export default function Batch() {
  return <Page title={words.pages.batch}>{null}</Page>;
}
