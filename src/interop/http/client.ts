/** Who asks: what a run's options may depend on. Never a token. */
export interface Client {
  /** Of its token; `client` where there is one token, `local` where there is none. Begins the ids of its runs. */
  readonly name: string;
  /** Where the connection comes from. */
  readonly address: string;
}
