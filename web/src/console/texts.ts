/** Every word that the console shows. */

export const words = {
  title: "Console",
  label: "Pages of the console",
};
