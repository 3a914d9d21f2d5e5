import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isAgent } from '../agents/delegate.ts';
import type { Agent } from '../core/contract/agent.ts';
import { ConfigurationError, messageOf } from '../core/values/errors.ts';
import { isPlainObject } from '../core/values/json.ts';
import { shown } from '../core/values/options.ts';
import type { RunOptions } from '../orchestration/run/run-options.ts';

/** An agent and its module's own options. */
export interface Loaded {
  readonly agent: Agent;
  readonly options: RunOptions;
  /** The arguments of the module's function; none if it exports an agent. */
  readonly words: readonly string[];
}

/** An agent with its input. */
export interface RunTask extends Loaded {
  readonly input: unknown;
}

const KEYS = ['agent', 'input', 'options'];
const FORMS =
  'Export default an agent, or a function of the words after the file that gives { agent, input?, options? }.';

/**
 * Imports a module (relative to the current folder; `.ts` where Node strips types) and takes the agent from its default export, else from its `agent`. Throws a
 * ConfigurationError if there is no file, no agent or no input; errors of the module itself are not wrapped.
 */
export async function loadModule(file: string, words: readonly string[]): Promise<RunTask> {
  const { input: given, ...loaded } = await load(file, words);
  const input = given ?? (words.join(' ').trim() || undefined);
  if (input === undefined) {
    const { name } = loaded.agent;
    throw new ConfigurationError('input', 'missing', `Write it after the file: cox run <file> "what ${name} is to do"`);
  }
  return { ...loaded, input };
}

/** Like {@link loadModule}, for a run whose input is in its records. */
export async function loadAgent(file: string, words: readonly string[]): Promise<Loaded> {
  const { input: _, ...loaded } = await load(file, words);
  return loaded;
}

async function load(file: string, words: readonly string[]): Promise<RunTask> {
  const path = resolve(file);
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts?.isFile() !== true) {
    const got = facts?.isDirectory() ? `${file} is a folder` : `there is no file ${file}`;
    throw new ConfigurationError('file', got, 'Name a module that exports an agent.');
  }
  const module = await importFile(path);
  const exported = 'default' in module ? module.default : module.agent;
  if (isAgent(exported)) {
    // Ignored permissions or limits would be noticed too late.
    if ('options' in module)
      throw new ConfigurationError('options', `${file} exports them beside an agent, where nobody reads them`, FORMS);
    return { ...check({ agent: exported }), words: [] };
  }
  return { ...check(await ask(exported, file, words)), words };
}

async function importFile(path: string): Promise<{ readonly [name: string]: unknown }> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (thrown) {
    if (!(thrown instanceof Error) || !('code' in thrown)) throw thrown;
    if (thrown.code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?ts$/.test(path)) {
      throw new ConfigurationError(
        'file',
        `Node ${process.versions.node} runs no TypeScript`,
        'Use Node 22.18 or newer, or compile the module.',
      );
    }
    if (thrown.code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
      throw new ConfigurationError(
        'file',
        messageOf(thrown),
        'Node only strips types: write it without enums, namespaces and parameter properties, or compile it.',
      );
    }
    throw thrown;
  }
}

async function ask(exported: unknown, file: string, words: readonly string[]): Promise<unknown> {
  if (typeof exported !== 'function') {
    const got = exported === undefined ? `${file} exports neither a default nor an agent` : `got ${shown(exported)}`;
    throw new ConfigurationError('file', got, FORMS);
  }
  const given: unknown = await exported([...words]);
  return isAgent(given) ? { agent: given } : given;
}

function check(given: unknown): Omit<RunTask, 'words'> {
  if (!isPlainObject(given) || !isAgent(given.agent)) {
    throw new ConfigurationError('file', `its function gave ${shown(given)}`, FORMS);
  }
  const unknown = Object.keys(given).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw new ConfigurationError('file', `its function gave an unknown ${unknown}`, FORMS);
  const { agent, options = {}, input } = given;
  if (!isPlainObject(options)) {
    throw new ConfigurationError('options', `expected an object, got ${shown(options)}`, 'Give those of startRun.');
  }
  return { agent, input, options };
}
