import type { MemoryExtract, MemoryGrant, MemorySelect } from '../core/contract/memory.ts';
import type { Tool } from '../core/contract/tool.ts';
import { ConfigurationError } from '../core/values/errors.ts';
import { checkLimits } from '../core/values/limits.ts';
import { checkOneOf, checkOptions, checkText, checkWhole, shown } from '../core/values/options.ts';

/** Refuses a memory grant that is wrong, and a tool of the agent's own with the name of one that a grant gives. */
export function checkGrants(field: string, memory: unknown, tools: readonly Tool[]): void {
  if (!Array.isArray(memory))
    throw new ConfigurationError(
      `${field}.memory`,
      `expected an array, got ${shown(memory)}`,
      'List grants { store, namespace, read, write }.',
    );
  memory.forEach((grant: unknown, index) => {
    checkGrant(`${field}.memory[${index}]`, grant);
  });
  const granted = grantedNames(memory as readonly MemoryGrant[]);
  const taken = tools.flatMap(({ name, aliases }) => [name, ...aliases]).find((name) => granted.has(name));
  if (taken === undefined) return;
  throw new ConfigurationError(
    `${field}.tools`,
    `duplicate name ${taken}: the memory grant gives that tool`,
    'Rename the tool.',
  );
}

function checkGrant(at: string, grant: unknown): void {
  checkOptions(at, grant, ['store', 'namespace', 'read', 'write', 'select', 'extract']);
  const { store, namespace, read, write, select, extract } = grant as MemoryGrant;
  if (typeof store?.search !== 'function' || typeof store.add !== 'function') {
    throw new ConfigurationError(`${at}.store`, 'expected a memory store', 'Make one with longTermMemory({ file }).');
  }
  if (typeof namespace !== 'function')
    checkText(`${at}.namespace`, namespace, 'Name the namespace, or give a function of { deps }.');
  checkOneOf(`${at}.read`, read, [true, false]);
  checkOneOf(`${at}.write`, write, [true, false]);
  if (select !== undefined) checkSelect(`${at}.select`, select, read);
  if (extract !== undefined) checkExtract(`${at}.extract`, extract, write);
}

function checkSelect(at: string, select: MemorySelect, read: boolean | undefined): void {
  checkOptions(at, select, ['model', 'candidates', 'instructions']);
  checkModel(at, select.model);
  checkWhole(`${at}.candidates`, select.candidates, 1);
  if (select.instructions !== undefined) checkText(`${at}.instructions`, select.instructions, 'Leave it out.');
  if (read === false) throw new ConfigurationError(at, 'there is nothing to pick from', 'Give read: true.');
}

function checkExtract(at: string, extract: MemoryExtract, write: boolean | undefined): void {
  checkOptions(at, extract, ['model', 'most', 'instructions', 'limits']);
  checkModel(at, extract.model);
  checkWhole(`${at}.most`, extract.most, 1);
  if (extract.instructions !== undefined) checkText(`${at}.instructions`, extract.instructions, 'Leave it out.');
  checkLimits(`${at}.limits`, extract.limits, 'agent');
  if (write !== true) throw new ConfigurationError(at, 'what it remembers may not be written', 'Give write: true.');
}

function checkModel(at: string, model: unknown): void {
  if (typeof model === 'object' && model !== null && 'generate' in model && typeof model.generate === 'function')
    return;
  throw new ConfigurationError(`${at}.model`, `expected a Model, got ${shown(model)}`, "Pass for example openai('…').");
}

/** The tools that follow from grants have their names for themselves. */
function grantedNames(grants: readonly MemoryGrant[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { store, read = true, write = false } of grants) {
    if (read) names.add('memory_search');
    if (write) names.add('memory_save');
    if (read && write && 'update' in store && 'remove' in store) names.add('memory_update').add('memory_forget');
  }
  return names;
}
