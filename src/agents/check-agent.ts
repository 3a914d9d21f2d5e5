import type { ContextOptions } from '../core/contract/agent.ts';
import { HOOK_NAMES, type HookName } from '../core/contract/hooks.ts';
import type { ConversationOptions } from '../core/contract/working-summary.ts';
import { checkClosed } from '../core/schema/quarantine.ts';
import type { Schema } from '../core/schema/schema.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import { checkFunction, checkOptions, checkPositive, checkText, shown } from '../core/values/options.ts';

/** Refuses what is no {@link ContextOptions}. */
export function checkContext(field: string, context: unknown): asserts context is ContextOptions {
  checkOptions(field, context, ['maxTokens', 'compact', 'conversation']);
  const { maxTokens, compact, conversation } = context as ContextOptions;
  checkPositive(`${field}.maxTokens`, maxTokens);
  checkCompact(`${field}.compact`, compact);
  if (conversation !== undefined) checkConversation(`${field}.conversation`, conversation);
}

function checkConversation(field: string, conversation: unknown): void {
  checkOptions(field, conversation, ['store', 'id']);
  const { store, id } = conversation as Partial<ConversationOptions>;
  if (typeof store?.load !== 'function' || typeof store.save !== 'function') {
    const mend = "Make one with workingSummaries({ file }) of 'coxswain/memory', or give { load, save }.";
    throw new ConfigurationError(`${field}.store`, `expected a summary store, got ${shown(store)}`, mend);
  }
  if (typeof id !== 'function') checkText(`${field}.id`, id, 'Name the conversation, or give a function of { deps }.');
}

function checkCompact(field: string, compact: unknown): void {
  if (compact === undefined || compact === 'drop' || compact === 'summarize' || typeof compact === 'function') return;
  if (!isPlainObject(compact)) {
    const mend = "Write 'drop', 'summarize', { summarize: { model } } or a Compactor.";
    throw new ConfigurationError(field, `got ${shown(compact)}`, mend);
  }
  checkOptions(field, compact, ['summarize']);
  checkOptions(`${field}.summarize`, compact.summarize, ['model', 'instructions']);
  const { model, instructions } = compact.summarize as { readonly model?: unknown; readonly instructions?: unknown };
  checkModel(`${field}.summarize.model`, model);
  if (instructions !== undefined)
    checkText(`${field}.summarize.instructions`, instructions, 'Say what a summary must keep, or leave it out.');
}

/** Also the model of an agent. */
export function checkModel(field: string, model: unknown): void {
  if (model === undefined) return;
  if (typeof model === 'object' && model !== null && 'generate' in model && typeof model.generate === 'function')
    return;
  throw new ConfigurationError(
    field,
    `expected a Model, got ${shown(model)}`,
    "Pass for example anthropic('claude-…') or an object with generate().",
  );
}

/** What a quarantined agent cannot have, and the output that it needs. */
export function checkQuarantined(
  field: string,
  output: Schema | undefined,
  options: { readonly [option: string]: unknown },
): void {
  for (const name of ['tools', 'memory', 'readResult', 'context'] as const) {
    const given = options[name];
    if (given === undefined || given === false || (Array.isArray(given) && given.length === 0)) continue;
    throw new ConfigurationError(`${field}.${name}`, 'a quarantined agent has none', 'Leave it out.');
  }
  if (output === undefined)
    throw new ConfigurationError(`${field}.output`, 'missing', 'A quarantined agent answers in a closed type only.');
  checkClosed(output, `${field}.output`);
}

/** Refuses what is no {@link Hooks}; also those of a run. */
export function checkHooks(field: string, hooks: unknown, names: readonly HookName[] = HOOK_NAMES): void {
  if (hooks === undefined) return;
  checkOptions(field, hooks, names);
  for (const name of names) checkFunction(`${field}.${name}`, (hooks as { readonly [name: string]: unknown })[name]);
}
