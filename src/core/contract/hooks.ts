import type { ErrorRecord } from '../values/errors.ts';
import type { Json } from '../values/json.ts';
import type { Label } from '../values/label.ts';
import type { AssistantPart, Message, Part } from '../values/message.ts';
import type { ModelSettings, ToolChoice, ToolDefinition } from '../values/model.ts';
import type { Status } from '../values/status.ts';
import type { StopReason } from '../values/stop-reason.ts';
import type { CallUsage } from '../values/usage.ts';
import type { Access } from './access.ts';

/** Where a hook fires. */
export interface HookContext<Deps = unknown> {
  readonly deps: Deps;
  readonly shared: { readonly [key: string]: unknown };
  readonly agent: string;
  /** Of the invocation, at whatever depth. */
  readonly path: string;
  readonly step: number;
  /** The address of the call, or of the invocation. */
  readonly key: string;
  readonly runId: string;
  /** The join of all that the invocation has seen. */
  readonly label: Label;
  /** Aborted when the invocation is stopped. A hook that has not resolved after 60 s has failed. */
  readonly signal: AbortSignal;
}

/** A request that is about to be sent, whatever it is for: a step, a repair, a wrap-up, a summary. */
export interface HookRequest {
  readonly model: string;
  readonly instructions: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice | undefined;
  readonly settings: ModelSettings;
}

/** A turn that came back, before it enters the transcript. */
export interface HookTurn {
  readonly model: string;
  readonly content: readonly AssistantPart[];
  readonly stop: StopReason;
  readonly usage?: CallUsage | undefined;
}

/** A call whose arguments fit their schema, before the permission step judges it. */
export interface HookCall {
  readonly tool: string;
  readonly callId: string;
  readonly args: Json;
  readonly access: Access;
}

/** The result of a call, as the model would see it; also where it was denied. */
export interface HookResult extends HookCall {
  readonly content: string | readonly Part[];
  readonly isError: boolean;
}

/** How an invocation ends. */
export interface HookOutcome {
  readonly status: Status;
  readonly text: string;
  readonly output?: unknown;
  readonly error?: ErrorRecord | undefined;
}

/** It does not happen, or does not count. The model reads the reason for a call, the caller of the agent for all else. */
export interface HookBlock {
  readonly block: string;
}

/** What a hook may give where what it was asked about continues. */
export interface HookRemark {
  /** Makes the label worse, never better: of the invocation; of a call and its result. */
  readonly label?: Partial<Label> | undefined;
  /** JSON for the record and the step log alone. */
  readonly annotate?: Json | undefined;
}

type Answer<Remark extends HookRemark> = Remark | HookBlock | undefined;
type Hook<About, Deps, Remark extends HookRemark = HookRemark> = (
  about: About,
  context: HookContext<Deps>,
) => Answer<Remark> | Promise<Answer<Remark>>;

/**
 * Functions at the boundaries of the loop. Each is decided once: what it gave is recorded, and a resume or replay has the same. They
 * fail closed: one that throws, gives what it may not, or has not resolved after 60 s blocks.
 *
 * @example
 * const hooks: Hooks = {
 *   beforeTool: ({ tool, args }) => (tool === 'send' && !isOurs(args) ? { block: 'only to our own addresses' } : undefined),
 *   afterTool: ({ content }) => (hasSecrets(content) ? { label: { confidentiality: 'secret' } } : undefined),
 * };
 */
export interface Hooks<Deps = unknown> {
  /** Blocked, the model is not asked: the invocation ends with `model_error`, kind `content_filter`. */
  readonly beforeModel?: Hook<HookRequest, Deps> | undefined;
  /** Blocked, the turn enters no transcript and none of its calls runs; the end is the same. */
  readonly afterModel?: Hook<HookTurn, Deps> | undefined;
  /** Blocked, the call is refused: the model reads why. Other `args` are validated like a model's, before anybody is asked. */
  readonly beforeTool?: Hook<HookCall, Deps, HookRemark & { readonly args?: Json | undefined }> | undefined;
  /** Blocked, the model reads that the result is withheld, and why. A `note` is added to what it reads. */
  readonly afterTool?: Hook<HookResult, Deps, HookRemark & { readonly note?: string | undefined }> | undefined;
  /** Blocked, the caller of the agent gets no text and no output: `model_error`, kind `content_filter`. */
  readonly onEnd?: Hook<HookOutcome, Deps> | undefined;
}

export type HookName = keyof Hooks;

export const HOOK_NAMES: readonly HookName[] = ['beforeModel', 'afterModel', 'beforeTool', 'afterTool', 'onEnd'];
