/** The Mantine theme; colour values are in page.css. */

import { createTheme } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "teal",
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
});
