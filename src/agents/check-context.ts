import type { ContextOptions } from '../core/agent.ts';
import { ConfigurationError } from '../core/errors.ts';
import { isPlainObject } from '../core/json.ts';
import { checkOptions, checkPositive, checkText, shown } from '../core/options.ts';

/** Refuses what is no {@link ContextOptions}. */
export function checkContext(field: string, context: unknown): asserts context is ContextOptions {
  checkOptions(field, context, ['maxTokens', 'compact']);
  const { maxTokens, compact } = context as ContextOptions;
  checkPositive(`${field}.maxTokens`, maxTokens);
  checkCompact(`${field}.compact`, compact);
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
