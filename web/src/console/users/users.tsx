/** The people of the org. */

import { Page } from "../kit";
import { words } from "../texts";

export default function Users() {
  return <Page title={words.pages.users}>{null}</Page>;
}
