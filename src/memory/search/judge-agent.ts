import type { ModelAgent } from '../../core/contract/agent.ts';
import { compileSchema } from '../../core/schema/compile-schema.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import { checkLimits } from '../../core/values/limits.ts';
import type { Model } from '../../core/values/model.ts';
import { type OptionFields, stringOf } from '../file/memory-options.ts';

type JsonSchema = { readonly [keyword: string]: Json };

interface JudgeOptions {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  /** Added to the instructions, in the user's words. */
  readonly more?: string | undefined;
  /** Properties of what it is shown, and of what it answers; all are required. */
  readonly input: { readonly [name: string]: JsonSchema };
  readonly output: { readonly [name: string]: JsonSchema };
  /** Default: the run's. */
  readonly model: Model | undefined;
}

/** Checks the options that all judges share. */
export function checkJudge({ model, instructions, limits }: OptionFields, at: string): void {
  if (model !== undefined && !(typeof model === 'object' && model !== null && 'generate' in model)) {
    throw new ConfigurationError(`${at}.model`, 'expected a Model', "Pass for example openai('…').");
  }
  if (instructions !== undefined) stringOf({ instructions }, 'instructions', at);
  checkLimits(`${at}.limits`, limits, 'agent');
}

/** A model that reads data and answers one question in a fixed form: it has no tools and no memory. */
export function judgeAgent<Input, Verdict>(options: JudgeOptions): ModelAgent<Input, Verdict> {
  const { name, description, instructions, more, model } = options;
  const schema = (side: 'input' | 'output', root: 'object' | 'any') => {
    const properties: JsonSchema = options[side];
    const required = Object.keys(properties);
    return compileSchema({ type: 'object', properties, required, additionalProperties: false }, `${name}.${side}`, {
      root,
    });
  };
  return Object.freeze({
    type: 'model',
    name,
    description,
    input: schema('input', 'object'),
    ownInput: true,
    output: schema('output', 'any'),
    instructions: more === undefined ? instructions : `${instructions}\n${more}`,
    model,
    settings: Object.freeze({}),
    tools: Object.freeze([]),
    sources: Object.freeze([]),
    context: Object.freeze({}),
    limits: Object.freeze({}),
    permissions: Object.freeze({}),
    wrapUp: false,
    quarantined: false,
    memory: Object.freeze([]),
    concurrency: undefined,
    continueWorkers: false,
    mailbox: false,
    fanOut: 'collect',
    readResult: false,
    builtin: true,
  } as const);
}
