/** What a caller of the client may have to catch. */

/** The server said no, or the client cannot go on; `code` is stable. */
export class WaypostError extends Error {
  readonly code: string;
  /** The HTTP status, where there was one. */
  readonly status: number | null;

  constructor(code: string, detail?: string, status: number | null = null) {
    super(detail ?? code);
    this.name = "WaypostError";
    this.code = code;
    this.status = status;
  }
}

/** Nothing answered, or something that is not Waypost: the same may work later. */
export class Unreachable extends WaypostError {
  /** How long the server asks to wait. */
  readonly retryAfterMs: number;

  constructor(detail: string, status: number | null = null, retryAfterMs = 0) {
    super("unreachable", detail, status);
    this.name = "Unreachable";
    this.retryAfterMs = retryAfterMs;
  }
}
