/** One message: where it stands, what happened to it, and what can be done. */

import { Page } from "../kit";
import type { PageProps } from "../pages";
import { words } from "../texts";

export default function MessagePage({ id }: PageProps) {
  return <Page title={`${words.pages.message} ${id}`}>{null}</Page>;
}
