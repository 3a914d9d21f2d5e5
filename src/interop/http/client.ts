/** The client of a request, on which the options of its runs may depend. It never contains a token. */
export interface Client {
  /** The name of its token; `client` with a single `token`, `local` without tokens. The ids of its runs begin with it. */
  readonly name: string;
  /** Where the connection comes from. */
  readonly address: string;
}
