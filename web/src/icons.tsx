/** The page's icons; each uses the current text colour. */

import type { ReactNode } from "react";

interface Props {
  readonly size?: number;
}

function Drawing({ size = 18, children }: Props & { readonly children: ReactNode }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      {children}
    </svg>
  );
}

export const Mark = ({ size = 28 }: Props) => (
  <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect width="32" height="32" rx="8" fill="#0b7a75" />
    <path d="M8 9h10l6 4.5-6 4.5H8z" fill="#fff" />
    <rect x="11" y="18" width="3" height="7" rx="1" fill="#fff" />
  </svg>
);
export const Back = (props: Props) => (
  <Drawing {...props}>
    <path d="M15 5l-7 7 7 7" />
  </Drawing>
);
export const Down = (props: Props) => (
  <Drawing {...props}>
    <path d="M6 9l6 6 6-6" />
  </Drawing>
);
export const Plane = (props: Props) => (
  <Drawing {...props}>
    <path d="M5 12L3.500 4.500 21 12 3.500 19.500z" />
    <path d="M5 12h8" />
  </Drawing>
);
export const Sun = (props: Props) => (
  <Drawing {...props}>
    <circle cx="12" cy="12" r="4" />
    <path d="M12 3v1.500M12 19.500V21M3 12h1.500M19.500 12H21M5.600 5.600l1.100 1.100M17.300 17.300l1.100 1.100M5.600 18.400l1.100-1.100M17.300 6.700l1.100-1.100" />
  </Drawing>
);
export const Moon = (props: Props) => (
  <Drawing {...props}>
    <path d="M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z" />
  </Drawing>
);
export const Robot = (props: Props) => (
  <Drawing {...props}>
    <rect x="4" y="8" width="16" height="11" rx="3" />
    <path d="M12 8V4M9 13v1M15 13v1M2 13v2M22 13v2" />
  </Drawing>
);
export const Person = (props: Props) => (
  <Drawing {...props}>
    <circle cx="12" cy="8" r="4" />
    <path d="M5 20a7 7 0 0 1 14 0" />
  </Drawing>
);
export const Chats = (props: Props) => (
  <Drawing {...props}>
    <path d="M4 5h16v11H10l-4 4v-4H4z" />
  </Drawing>
);
export const ClockFace = (props: Props) => (
  <Drawing {...props}>
    <circle cx="12" cy="12" r="8" />
    <path d="M12 8v4l2.500 1.500" />
  </Drawing>
);
export const OneTick = (props: Props) => (
  <Drawing {...props}>
    <path d="M5 12.500l4.500 4.500L19 7.500" />
  </Drawing>
);
export const TwoTicks = (props: Props) => (
  <Drawing {...props}>
    <path d="M1.500 12.500L6 17l9.500-9.500M10.500 16l1 1L21 7.500" />
  </Drawing>
);
export const Cross = (props: Props) => (
  <Drawing {...props}>
    <path d="M6 6l12 12M18 6L6 18" />
  </Drawing>
);
export const Paper = (props: Props) => (
  <Drawing {...props}>
    <path d="M6 3h8l4 4v14H6zM14 3v4h4" />
  </Drawing>
);
export const Reply = (props: Props) => (
  <Drawing {...props}>
    <path d="M10 7l-5 5 5 5M5 12h9a5 5 0 0 1 5 5v1" />
  </Drawing>
);
export const Smile = (props: Props) => (
  <Drawing {...props}>
    <circle cx="12" cy="12" r="9" />
    <path d="M8.500 14.500a4.500 4.500 0 0 0 7 0M9 9.500v.1M15 9.500v.1" />
  </Drawing>
);
export const Clip = (props: Props) => (
  <Drawing {...props}>
    <path d="M19 11.500l-7 7a4.600 4.600 0 0 1-6.500-6.500l7.500-7.500a3 3 0 0 1 4.300 4.300L10 16a1.400 1.400 0 0 1-2-2l6.500-6.500" />
  </Drawing>
);
export const Bolt = (props: Props) => (
  <Drawing {...props}>
    <path d="M13 3L5 13.500h6L10.500 21 19 10.500h-6z" />
  </Drawing>
);
export const Form = (props: Props) => (
  <Drawing {...props}>
    <rect x="4" y="4" width="16" height="16" rx="2" />
    <path d="M8 9h8M8 13h8M8 17h4" />
  </Drawing>
);
export const Card = (props: Props) => (
  <Drawing {...props}>
    <rect x="3" y="5" width="18" height="14" rx="2" />
    <circle cx="8.500" cy="11" r="2" />
    <path d="M5.500 16a3 3 0 0 1 6 0M14.500 10h3.500M14.500 14h3.500" />
  </Drawing>
);
export const Check = (props: Props) => (
  <Drawing {...props}>
    <circle cx="12" cy="12" r="9" />
    <path d="M8 12.500l3 3 5.500-6" />
  </Drawing>
);
export const Warning = (props: Props) => (
  <Drawing {...props}>
    <circle cx="12" cy="12" r="9" />
    <path d="M12 7.500v5.500M12 16.200v.1" />
  </Drawing>
);
export const Handset = (props: Props) => (
  <Drawing {...props}>
    <rect x="7" y="2.500" width="10" height="19" rx="2.500" />
    <path d="M11 18.500h2" />
  </Drawing>
);
export const Plus = (props: Props) => (
  <Drawing {...props}>
    <path d="M12 5v14M5 12h14" />
  </Drawing>
);
