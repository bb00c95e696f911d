/** The operator's part of the page: what the machine is doing, and what to do about it. Loaded when it is first opened. */

import { words } from "./texts";

export default function Console() {
  return (
    <main>
      <h2>{words.title}</h2>
    </main>
  );
}
