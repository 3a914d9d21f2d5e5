import type { Hooks } from '../contract/hooks.ts';
import type { Limits } from '../values/limits.ts';
import type { Redact } from '../values/redact-message.ts';
import type { Usage } from '../values/usage.ts';
import type { CallPermissions } from './call-permissions.ts';
import type { Cancellation } from './cancellation.ts';
import type { ChildStarter } from './child-starter.ts';
import type { ContextWindows } from './context-windows.ts';
import type { Inbox } from './inbox.ts';
import type { Journal } from './journal.ts';
import type { ModelCatalog } from './model-catalog.ts';
import type { NodeActivity } from './node-activity.ts';
import type { Observers } from './observers.ts';
import type { Questions } from './questions.ts';
import type { Stops } from './stops.ts';
import type { ToolCatalog } from './tool-catalog.ts';

/** What loops and procedures use of their run: its facts, and one collaborator for each concern. The orchestration composes it. */
export interface RunContext {
  readonly id: string;
  readonly traceId: string;
  readonly deps: unknown;
  readonly graceMs: number;
  readonly limits: Limits;
  /** True where nothing new may happen. */
  readonly isReplay: boolean;
  /** Of the whole tree. */
  readonly count: { steps: number; toolCalls: number; agents: number; usage: Usage };
  /** Of the whole tree; they fire before the agent's own. */
  readonly hooks: Hooks<never> | undefined;
  /** Removes from a text what models and workers must not see; undefined where nothing is removed. */
  readonly redact: Redact | undefined;
  readonly journal: Journal;
  readonly stops: Stops;
  readonly cancellation: Cancellation;
  /** What came for its nodes and has not entered their transcripts. */
  readonly inbox: Inbox;
  readonly models: ModelCatalog;
  readonly context: ContextWindows;
  readonly tools: ToolCatalog;
  readonly permissions: CallPermissions;
  readonly questions: Questions;
  readonly children: ChildStarter;
  readonly activity: NodeActivity;
  readonly observers: Observers;
}
