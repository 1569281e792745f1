// Notices calls that a handler makes outside the ledger, by what Node itself publishes about requests and sockets. Whose
// call it is, and whether an effect is under way, is known from the asynchronous context in which it is made.
//
// It does not see: child processes, files, native clients, UDP, sockets that were open before (a database pool's), a raw
// socket beside an HTTP request, and what a handler hands to something that runs in another asynchronous context. Requests
// that only read (GET, HEAD, OPTIONS) are none of its business.
import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";

interface Scope {
  readonly found: OutsideCalls;
  readonly inEffect: boolean;
}

const scopes = new AsyncLocalStorage<Scope>();
const reading: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** What was noticed in one run of a handler. */
export class OutsideCalls {
  readonly #calls = new Set<string>();
  #requests = 0;
  readonly #sockets = new Set<string>();

  /** Runs a handler: what it calls is noticed, but for what runs `inEffect`. */
  inHandler<T>(run: () => T): T {
    return scopes.run({ found: this, inEffect: false }, run);
  }

  inEffect<T>(run: () => T): T {
    return scopes.run({ found: this, inEffect: true }, run);
  }

  note(what: string): void {
    this.#calls.add(what);
  }

  noteRequest(method: string, what: string): void {
    this.#requests += 1;
    if (!reading.has(method.toUpperCase())) this.#calls.add(`${method.toUpperCase()} ${what}`);
  }

  noteSocket(): void {
    this.#sockets.add("a network connection");
  }

  /** Each once, for people. A connection counts where no request explains it. */
  get all(): readonly string[] {
    return [...this.#calls, ...(this.#requests === 0 ? this.#sockets : [])];
  }
}

/**
 * Tells the harness of a side effect that it cannot see: call it where a stand-in of a test does what the real one would do
 * outside. Outside a run of the harness it does nothing.
 */
export function sideEffect(name: string): void {
  const scope = scopes.getStore();
  if (scope !== undefined && !scope.inEffect) scope.found.note(name);
}

const noticed = (note: (found: OutsideCalls, message: Record<string, unknown>) => void) => (message: unknown) => {
  const scope = scopes.getStore();
  if (scope !== undefined && !scope.inEffect) note(scope.found, message as Record<string, unknown>);
};

interface SeenRequest {
  readonly method?: string;
  readonly origin?: unknown;
  readonly host?: string;
}

const listeners: readonly (readonly [channel: string, listener: (message: unknown) => void])[] = [
  [
    "undici:request:create",
    noticed((found, { request }) => {
      const { method = "", origin } = request as SeenRequest;
      found.noteRequest(method, String(origin));
    }),
  ],
  [
    "http.client.request.start",
    noticed((found, { request }) => {
      const { method = "", host = "" } = request as SeenRequest;
      found.noteRequest(method, host);
    }),
  ],
  ["net.client.socket", noticed((found) => found.noteSocket())],
];

let watchers = 0;

/** Listens until the returned function is called. */
export function watchOutsideCalls(): () => void {
  watchers += 1;
  if (watchers === 1) for (const [channel, listener] of listeners) subscribe(channel, listener);
  return () => {
    watchers -= 1;
    if (watchers === 0) for (const [channel, listener] of listeners) unsubscribe(channel, listener);
  };
}
