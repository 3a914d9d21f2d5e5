/** The tree of agents that every contender builds, in neutral terms. */
export interface AgentSpec {
  readonly name: string;
  readonly instructions?: string;
  readonly tools?: readonly ToolSpec[];
  /** Agents that are its tools. May be filled later: a cycle is one of the rows. */
  readonly workers?: readonly AgentSpec[];
}

/** A tool with one required text, `query`. */
export interface ToolSpec {
  readonly name: string;
  /** Whether a person is asked first, with the contender's own means. */
  readonly needsApproval?: boolean;
  /** It changes something outside, and must not happen twice. */
  readonly hasEffect?: boolean;
  readonly execute: (query: unknown) => string | Promise<string>;
}

/** The next turn of a model. */
export type PlannedTurn = (
  | { readonly text: string }
  /** `to` names a tool or a worker; `raw` is JSON text as the model wrote it. */
  | { readonly calls: readonly { readonly to: string; readonly query?: string; readonly raw?: string }[] }
) & { readonly usage?: { readonly input: number; readonly output: number } };

/** One request to a model, as text: what the agent can see. */
export interface Observed {
  readonly agent: string;
  /** Everything that was sent, as JSON. */
  readonly text: string;
  /** Counts the requests of this conversation from 1. */
  readonly turn: number;
}

export interface Team {
  readonly lead: AgentSpec;
  readonly task: string;
  /** The models of all agents. What it throws is a provider's failure. */
  readonly think: (observed: Observed) => PlannedTurn | Promise<PlannedTurn>;
  /** Bounds that the caller sets on the lead; a contender uses what it has for them. */
  readonly bounds?: { readonly steps?: number; readonly tokens?: number; readonly concurrency?: number };
  /** A person: answers each question once it is shown. */
  readonly approve?: (tool: string) => Promise<boolean>;
}

/** How it went. */
export interface Ran {
  readonly text: string;
  /** Input and output tokens of the run, as the contender reports them to its caller. */
  readonly tokens?: number;
  /** How it ended, in the contender's word. */
  readonly status?: string;
}

/** A framework under test. */
export interface Contender {
  readonly name: string;
  readonly version: string;
  /** Runs a team as its documentation shows it; rejects where the framework does. */
  run(team: Team): Promise<Ran>;
  /** What there is for a bound; absent: nothing. */
  readonly has: { readonly [bound in 'tokens' | 'concurrency' | 'approval']?: string };
  /**
   * A durable run in `folder`, which resumes a run that is stored there. Absent if nothing outlives the process without another
   * service.
   */
  runDurable?(team: Team, folder: string): Promise<Ran>;
  /** What a program does so that spans go to the registered OpenTelemetry provider; nothing where there is nothing to do. */
  trace?(): Promise<void>;
}

/** What a row found. */
export interface Finding {
  readonly ok: boolean;
  /** In a few words, for the table. */
  readonly saw: string;
}

/** One failure to be better than. */
export interface Row {
  readonly id: string;
  readonly title: string;
  /** What is good. */
  readonly good: string;
  play(contender: Contender): Promise<Finding>;
}

/** What a promise came to: rejections are findings. */
export async function came<T>(promise: Promise<T>): Promise<{ value?: T; error?: string }> {
  try {
    return { value: await promise };
  } catch (thrown) {
    return { error: thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown) };
  }
}

/** The number of occurrences of a text in another. */
export function times(text: string, part: string): number {
  return text.split(part).length - 1;
}
