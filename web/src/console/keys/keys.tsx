/** The keys of the API. */

import { Page } from "../kit";
import { words } from "../texts";

export default function Keys() {
  return <Page title={words.pages.keys}>{null}</Page>;
}
