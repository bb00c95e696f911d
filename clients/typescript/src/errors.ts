/** Errors thrown by the client. */

/** The server refused the request, or the client cannot continue; `code` is stable. */
export class WaypostError extends Error {
  readonly code: string;
  /** The HTTP status, if there was a response. */
  readonly status: number | null;

  constructor(code: string, detail?: string, status: number | null = null) {
    super(detail ?? code);
    this.name = "WaypostError";
    this.code = code;
    this.status = status;
  }
}

/** No response, or a response that is not from Waypost; the same request may succeed later. */
export class Unreachable extends WaypostError {
  /** The server's `Retry-After`. */
  readonly retryAfterMs: number;

  constructor(detail: string, status: number | null = null, retryAfterMs = 0) {
    super("unreachable", detail, status);
    this.name = "Unreachable";
    this.retryAfterMs = retryAfterMs;
  }
}
