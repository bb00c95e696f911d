/** Mantine's own look, with one colour of ours; its values are in page.css. */

import { createTheme } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "teal",
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
});
