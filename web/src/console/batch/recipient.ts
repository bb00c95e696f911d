/** Validates recipients by the server's rules; national numbers are left to the server. */

export type WrongRecipient = "missing" | "characters" | "length" | "email";

const USER_ID = /^[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}$/;
const EMAIL = /^[^\s@]{1,64}@[^\s@]+\.[^\s@]+$/;
const [FEWEST, MOST] = [7, 15];

export function wrongRecipient(to: string, channel: string): WrongRecipient | null {
  if (to.trim() === "") return "missing";
  if (channel === "EMAIL") return EMAIL.test(to) ? null : "email";
  if (USER_ID.test(to)) return null;
  const digits = plain(to);
  if (!/^\+?\d*$/.test(digits)) return "characters";
  const count = digits.replace("+", "").length;
  return count < FEWEST || count > MOST ? "length" : null;
}

/** Normalizes digits of any script and variants of plus and dash, as the server does. */
export function plain(to: string): string {
  return to
    .normalize("NFKC")
    .replace(/\p{Nd}/gu, (digit) => (/\d/.test(digit) ? digit : "0"))
    .replace(/[\p{Zs}\p{Pd}\p{Cf}\u2212.·()[\]]/gu, "");
}
