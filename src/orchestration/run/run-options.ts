import { askSupervisor } from '../../agents/ask-supervisor.ts';
import { checkHooks } from '../../agents/check-agent.ts';
import { mailboxTools } from '../../agents/mailbox-tools.ts';
import { treeFacts } from '../../agents/tree-facts.ts';
import type { Agent } from '../../core/contract/agent.ts';
import type { Hooks } from '../../core/contract/hooks.ts';
import type { Instrument } from '../../core/contract/instrument.ts';
import type { RunPermissions } from '../../core/contract/permission.ts';
import type { View } from '../../core/contract/record.ts';
import type { Tool } from '../../core/contract/tool.ts';
import { toolset } from '../../core/turn/toolset.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import { checkLimits, DEFAULTS, type Limits } from '../../core/values/limits.ts';
import { candidatesOf, type Model, modelName } from '../../core/values/model.ts';
import { checkFunction, checkOneOf, checkOptions, checkPositive, shown } from '../../core/values/options.ts';
import type { Redact } from '../../core/values/redact-message.ts';
import { checkJournal } from '../../journal/check-journal.ts';
import type { RecordStore } from '../../journal/record-store.ts';
import { memoryTools } from '../../memory/tools/memory-tools.ts';
import { worstCostOf } from '../../models/prices.ts';
import type { Level } from '../../security/decide.ts';
import type { Redaction } from '../../security/redaction/redaction.ts';
import { checkRules, parseRules, type Rule } from '../../security/rules.ts';
import type { Approve } from '../approvals/ask-approver.ts';
import { pinPlan } from '../approvals/plans.ts';
import { checkRunPermissions, permissionLevels } from '../approvals/run-permissions.ts';
import { readResult } from './read-result.ts';
import { checkRunId } from './run-id.ts';
import { copyShared, NOTHING_SHARED, sharedRead } from './shared-store.ts';

/** Options of one run. */
export interface RunOptions<Deps = unknown> {
  /** What tools and procedures reach as `ctx.deps`; never shown, logged or recorded. */
  readonly deps?: Deps | undefined;
  /** Read-only values for the whole tree: copied and deep-frozen. */
  readonly shared?: { readonly [key: string]: unknown } | undefined;
  /** Default: a new UUID. */
  readonly runId?: string | undefined;
  /** The caller's: the run then ends `aborted`. */
  readonly signal?: AbortSignal | undefined;
  /** Of the whole tree. Defaults: timeMs 600,000, depth 4, agents 64, concurrency 8. */
  readonly limits?: Limits | undefined;
  /** Rules and mode for the calls of the whole tree. Default: no rules, mode `ask`. */
  readonly permissions?: RunPermissions | undefined;
  /** Answers requests about calls in this process. Default none: see `onIdle`. */
  readonly approve?: Approve | undefined;
  /**
   * What happens, when nothing else can continue, to requests that no callback was asked for: `suspend` parks the run, `deny` denies
   * them, `wait` waits on. Default `suspend` with a journal, `deny` without.
   */
  readonly onIdle?: 'suspend' | 'deny' | 'wait' | undefined;
  /** Replaces every agent's model: for tests and trials. */
  readonly model?: Model | undefined;
  /** By agent name; before `model`. */
  readonly models?: { readonly [agent: string]: Model } | undefined;
  /** Where a throwing or rejecting listener or view ends up; its own throw is swallowed. */
  readonly onObserverError?: ((error: unknown) => void) | undefined;
  /** How long work that ignores its signal is waited for, in milliseconds; default 5,000. */
  readonly graceMs?: number | undefined;
  /** Fire for every agent of the tree, before its own. */
  readonly hooks?: Hooks<NoInfer<Deps>> | undefined;
  /** Receives spans: `otel()`. Default none. */
  readonly instrument?: Instrument | undefined;
  /** What models and workers see placeholders for. Logs and spans take it by options of their own. Default nothing. */
  readonly redaction?: Redaction | undefined;
  /** Where the records of the run are kept beyond the process: `sqlite('runs.db')`. Without one the run dies with its process. */
  readonly journal?: RecordStore | undefined;
  /** Called with each record once it is committed: logs. Default none. */
  readonly views?: readonly View[] | undefined;
}

/** Options of a resume. */
export interface ResumeOptions<Deps = unknown> extends RunOptions<Deps> {
  /** Takes the run over from an owner that is still alive; that one then does nothing more. Default false. */
  readonly takeover?: boolean | undefined;
  /**
   * What a difference between the records and the code does: `report`, the default (an event; a changed tool or argument still stops), `stop`
   * (a DivergenceError), `fork` (continues in a new run that has the records before the first difference: `run.id` is then its id).
   */
  readonly onDivergence?: 'report' | 'stop' | 'fork' | undefined;
}

/**
 * Options are asked for only where `deps` are needed. Of an agent of which nothing is known (`Agent`, as a list of agents holds
 * it) it is not known either: the caller has to know what it needs.
 */
export type OptionsArgument<Deps> = [Deps] extends [never]
  ? [options?: RunOptions]
  : unknown extends Deps
    ? [options?: RunOptions<Deps>]
    : [options: RunOptions<Deps> & { readonly deps: Deps }];

/** What `startRun` takes. */
export const RUN_OPTIONS: readonly string[] = [
  ...['deps', 'shared', 'runId', 'signal', 'limits', 'permissions', 'approve', 'onIdle', 'model', 'models'],
  ...['onObserverError', 'graceMs', 'hooks', 'instrument', 'redaction', 'journal', 'views'],
];

const NONE: RunOptions = Object.freeze({});
const checked = new WeakSet<Agent>();

/** Refuses what is wrong before anything starts. Gives the options with their defaults. */
export function checkRunOptions(agent: Agent, options: ResumeOptions = NONE, more: readonly string[] = []) {
  if (options !== NONE) checkGiven(options, more);
  const rules = checkTree(agent, options);
  return {
    deps: options.deps,
    shared: options.shared === undefined ? NOTHING_SHARED : copyShared(options.shared, 'shared'),
    runId: options.runId,
    signal: options.signal,
    limits: options.limits === undefined ? DEFAULT_LIMITS : withDefaults(options.limits),
    permissions: options.permissions ?? NONE_GIVEN,
    rules,
    scopes:
      options.permissions === undefined
        ? NO_SCOPES
        : permissionLevels(options.permissions, () => toolsOfTree(agent, options)),
    trust: options.permissions?.trust === undefined ? NOBODY_TRUSTED : new Set(options.permissions.trust),
    approve: options.approve,
    onIdle: options.onIdle ?? (options.journal === undefined ? 'deny' : 'suspend'),
    journal: options.journal,
    takeover: options.takeover ?? false,
    onDivergence: options.onDivergence ?? 'report',
    givenLimits: options.limits,
    model: options.model,
    models: options.models,
    onObserverError: options.onObserverError,
    graceMs: options.graceMs ?? DEFAULTS.graceMs,
    hooks: options.hooks === undefined ? undefined : Object.freeze({ ...options.hooks }),
    redact: redactOf(options.redaction),
    instrument: options.instrument,
    views: options.views ?? NO_VIEWS,
  };
}

/** Only what `redaction()` made: anything else would be sent to models as it is. */
function redactOf(given: Redaction | undefined): Redact | undefined {
  if (given === undefined) return undefined;
  if (typeof given?.text !== 'function')
    throw new ConfigurationError('options.redaction', `got ${shown(given)}`, 'Make it with redaction({ … }).');
  return (text) => given.text(text);
}

/** What is `undefined` counts as not given. */
export function withDefaults(limits: Limits): RunLimits {
  const given = Object.entries(limits).filter(([, limit]) => limit !== undefined);
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(given) };
}

const NO_VIEWS: readonly View[] = [];
/** The limits that every run has. */
type RunLimits = Limits & { readonly [name in 'timeMs' | 'depth' | 'agents' | 'concurrency']: number };

const { timeMs, depth, agents, concurrency } = DEFAULTS;
const DEFAULT_LIMITS: RunLimits = Object.freeze({ timeMs, depth, agents, concurrency });
const NO_RULES: readonly Rule[] = [];
const NO_SCOPES: readonly Level[] = [];
const NOBODY_TRUSTED: ReadonlySet<string> = new Set();
const NONE_GIVEN: Limits & RunPermissions = Object.freeze({});

export type CheckedOptions = ReturnType<typeof checkRunOptions>;

function checkGiven(options: ResumeOptions, more: readonly string[]): void {
  checkOptions('options', options, [...RUN_OPTIONS, ...more], []);
  checkOneOf('onDivergence', options.onDivergence, ['report', 'stop', 'fork']);
  checkHooks('hooks', options.hooks);
  checkOneOf('takeover', options.takeover, [true, false]);
  const { runId, signal, model, models, views, journal } = options;
  if (journal !== undefined) checkJournal(journal);
  if (runId !== undefined) checkRunId(runId);
  if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
    throw new ConfigurationError(
      'signal',
      `expected an AbortSignal, got ${shown(signal)}`,
      'Pass the signal of an AbortController.',
    );
  }
  checkLimits('limits', options.limits, 'run');
  checkRunPermissions(options.permissions);
  checkOneOf('onIdle', options.onIdle, ['suspend', 'deny', 'wait']);
  if (options.graceMs !== 0) checkPositive('graceMs', options.graceMs);
  for (const name of ['approve', 'onObserverError', 'instrument'] as const) checkFunction(name, options[name]);
  if (model !== undefined) checkModel('model', model);
  if (models !== undefined && !isPlainObject(models))
    throw new ConfigurationError('models', `expected an object, got ${shown(models)}`, 'Give models by agent name.');
  if (models !== undefined) for (const [name, one] of Object.entries(models)) checkModel(`models.${name}`, one);
  if (views !== undefined && !Array.isArray(views))
    throw new ConfigurationError('views', `expected an array, got ${shown(views)}`, 'List functions of a record.');
  views?.forEach((view, index) => {
    checkFunction(`views[${index}]`, view);
  });
}

function checkModel(field: string, model: unknown): void {
  if (typeof model === 'object' && model !== null && 'generate' in model && typeof model.generate === 'function')
    return;
  throw new ConfigurationError(field, `expected a Model, got ${shown(model)}`, 'Pass an object with generate().');
}

/** A cap in USD holds only where the worst case has a price. Agents that appear later get an error result instead. */
function checkPrices(root: Agent, { limits, model, models }: RunOptions, agents: Iterable<Agent>): void {
  const ofTree = limits?.costUsd ?? root.limits.costUsd;
  for (const agent of agents) {
    if (agent.type !== 'model' || (ofTree ?? agent.limits.costUsd) === undefined) continue;
    const chosen = models?.[agent.name] ?? model ?? agent.model;
    if (chosen === undefined) continue;
    for (const candidate of candidatesOf(chosen)) {
      if (worstCostOf(candidate, 0, 0) !== undefined) continue;
      throw new ConfigurationError(
        `agent ${agent.name}.model`,
        `limits.costUsd holds and the price of ${modelName(candidate)} is not known`,
        'Give the model a price: { inputPerMTok, outputPerMTok } in USD per million tokens, or cap tokens instead.',
      );
    }
  }
}

/** Schemas that no model can be shown, agents without a model, rules that name no tool: all before the first call. */
function checkTree(root: Agent, options: RunOptions): readonly Rule[] {
  const { model, models, permissions, shared } = options;
  const { agents, tools, sources, open } = treeFacts(root);
  for (const name of Object.keys(models ?? NONE_GIVEN)) {
    if (!agents.has(name) && !open) {
      throw new ConfigurationError(
        `models.${name}`,
        'no agent of this tree has that name',
        `Agents are ${[...agents.keys()].join(', ')}.`,
      );
    }
  }
  for (const agent of agents.values()) {
    if (
      agent.type === 'model' &&
      model === undefined &&
      (models === undefined || !Object.hasOwn(models, agent.name)) &&
      agent.model === undefined
    ) {
      throw new ConfigurationError(
        `agent ${agent.name}.model`,
        'missing',
        'Give the agent a model, or the run: startRun(agent, input, { model }).',
      );
    }
  }
  checkPrices(root, options, agents.values());
  const rules = permissions?.rules === undefined ? NO_RULES : parseRules(permissions.rules, 'permissions.rules');
  const own = withPlans(tools, permissions);
  const known = checked.has(root) && rules.length === 0 ? NO_TOOLS : allTools(agents, own, shared !== undefined);
  const check = (given: readonly Rule[], field: string) => {
    if (!open) checkRules(given, known, field, [...sources.keys()]);
  };
  check(rules, 'permissions.rules');
  if (checked.has(root)) return rules;
  const checkOwn = (given: readonly string[] | undefined, field: string) => {
    check(parseRules(given ?? [], field), field);
  };
  for (const agent of agents.values()) {
    if (Array.isArray(agent.tools)) toolset(agent.tools);
    void agent.output?.jsonSchema;
    checkOwn(agent.permissions.rules, `agent ${agent.name}.permissions.rules`);
  }
  for (const tool of tools) {
    if (tool.type !== 'procedure' || tool.delegate === undefined) continue;
    checkOwn(tool.delegate.permissions.rules, `delegate ${tool.delegate.agent.name}.permissions.rules`);
  }
  checked.add(root);
  return rules;
}

const NO_TOOLS: readonly Tool[] = [];

/** With the tool that makes plans, where the run has them. */
function withPlans(tools: readonly Tool[], permissions: RunPermissions | undefined): readonly Tool[] {
  return permissions?.plans === true ? [...tools, pinPlan] : tools;
}

/** Undefined where code or a function gives tools that are not known yet. */
function toolsOfTree(root: Agent, { shared, permissions }: RunOptions): readonly Tool[] | undefined {
  const { agents, tools, open } = treeFacts(root);
  return open ? undefined : allTools(agents, withPlans(tools, permissions), shared !== undefined);
}

/** Those that agents list, and those that follow from grants, shared values, and what delegates and supervisors say. */
function allTools(agents: ReadonlyMap<string, Agent>, tools: readonly Tool[], shared: boolean): readonly Tool[] {
  const granted = [...agents.values()].flatMap((agent) =>
    agent.type === 'model' && agent.memory.length > 0
      ? memoryTools(
          agent.memory.map(({ store, read = true, write = false }) => ({ store, namespace: '', read, write })),
        )
      : [],
  );
  const isShared = shared || tools.some((tool) => tool.type === 'procedure' && tool.delegate?.shared !== undefined);
  const reads = [...agents.values()].some((agent) => agent.type === 'model' && agent.readResult);
  const asks = tools.some((tool) => tool.type === 'procedure' && tool.delegate?.ask !== undefined);
  const writes = [...agents.values()].some((agent) => agent.type === 'model' && agent.mailbox);
  const ofWorkers = [...(asks ? [askSupervisor] : []), ...(writes ? mailboxTools : [])];
  return [...tools, ...granted, ...(isShared ? [sharedRead] : []), ...(reads ? [readResult] : []), ...ofWorkers];
}
