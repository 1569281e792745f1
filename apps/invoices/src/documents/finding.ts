// What the checks of an invoice say, and the two ways to say it.

/** `review` keeps an invoice from being accepted; a `warning` is shown and changes nothing. */
export interface Finding {
  readonly severity: "review" | "warning";
  /** Stable; EN 16931 rules under their own names ("BR-CO-15"). */
  readonly code: string;
  /** One sentence with the figures, for the person who decides. */
  readonly message: string;
}

export function review(code: string, message: string): Finding {
  return { severity: "review", code, message };
}

export function warning(code: string, message: string): Finding {
  return { severity: "warning", code, message };
}
