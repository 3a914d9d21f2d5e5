import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { ConfigurationError } from '../../core/values/errors.ts';
import type { MemoryVersion } from '../../memory/file/versions.ts';
import type { LongTermMemory } from '../../memory/long-term-memory-type.ts';
import { EXIT } from '../exit-code.ts';
import { firstWords, visible, visibleLines } from '../visible.ts';

interface Options {
  readonly file: string;
  readonly namespace?: string;
  readonly top?: string;
  readonly limit?: string;
  readonly source?: string;
  readonly origin?: string;
  readonly vectors?: boolean;
  readonly json?: boolean;
  readonly trusted?: boolean;
  readonly organisation?: string;
}

/** `cox memory …`: what a person does with a memory file. `ended` is given the exit code. */
export function addMemoryCommand(program: Command, setCode: (code: number) => void): void {
  const memory = program.command('memory').description('Search, read and clear a long-term memory.');
  const command = (
    usage: string,
    description: string,
    work: (store: LongTermMemory, words: string[], options: Options) => Promise<boolean>,
  ) =>
    memory
      .command(usage)
      .description(description)
      .option('--file <file>', 'the memory file', 'memory.db')
      .action(async (...given: unknown[]) => {
        const [options, ...words] = given.slice(0, -1).reverse() as [Options, ...(string | string[] | undefined)[]];
        const done = await withStore(options.file, (store) =>
          work(
            store,
            words.reverse().flatMap((word) => word ?? []),
            options,
          ),
        );
        setCode(done ? EXIT.done : EXIT.failed);
      });

  command('search <query...>', 'Show what a search finds.', search)
    .requiredOption('--namespace <name>', 'where to search')
    .option('--top <count>', 'at most so many', '5')
    .option('--json', 'one JSON a line');
  command('list', 'List the current entries of a namespace, the newest first; without one, the namespaces.', list)
    .option('--namespace <name>')
    .option('--limit <count>', 'at most so many', '50')
    .option('--json', 'one JSON a line');
  command('show <id>', 'Show an entry with all its versions.', show).option('--json', 'one JSON a line');
  command('forget [id]', 'Remove an entry, or all that came from a source or an origin, for good.', forget)
    .option('--source <source>')
    .option('--origin <origin>')
    .option('--namespace <name>', 'only there');
  command('export', 'Write every version to stdout, one JSON a line.', exportAll)
    .option('--namespace <name>', 'only that one')
    .option('--vectors', 'with vectors');
  memory
    .command('files [folder]')
    .description('Show the lines of AGENTS.md in all its layers, and which file each comes from.')
    .option('--trusted', 'read the layers of the project too')
    .option('--organisation <file>', "the organisation's file")
    .action(async (folder: string | undefined, options: Options) => {
      await files(folder ?? '.', options);
      setCode(EXIT.done);
    });
}

async function withStore(file: string, work: (store: LongTermMemory) => Promise<boolean>): Promise<boolean> {
  if (!existsSync(file)) {
    throw new ConfigurationError('--file', `there is no ${JSON.stringify(file)}`, 'Name a memory file.');
  }
  const { longTermMemory } = await import('../../memory/long-term-memory.ts');
  const store = longTermMemory({ file });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function search(
  store: LongTermMemory,
  words: string[],
  { namespace = '', top, json }: Options,
): Promise<boolean> {
  const hits = await store.search(words.join(' '), { namespace, topK: countOf(top, '--top') });
  for (const hit of hits) {
    print(
      json
        ? JSON.stringify(hit)
        : `${hit.score.toFixed(3)}  ${hit.id}  ${firstWords(hit.text)}  (${visible(hit.source)})`,
    );
  }
  if (hits.length === 0 && !json) print('nothing');
  return true;
}

async function list(store: LongTermMemory, _: string[], { namespace, limit, json }: Options): Promise<boolean> {
  if (namespace === undefined) {
    for (const one of await store.namespaces()) {
      print(json ? JSON.stringify(one) : `${String(one.entries).padStart(8)}  ${visible(one.name)}`);
    }
    return true;
  }
  const entries = await store.list({ namespace, limit: countOf(limit, '--limit') });
  if (entries.length === 0 && !json) print('nothing');
  for (const entry of entries) {
    print(json ? JSON.stringify(entry) : `${day(entry.validFrom)}  ${entry.id}  ${firstWords(entry.text)}`);
  }
  return true;
}

async function show(store: LongTermMemory, [id = '']: string[], { json }: Options): Promise<boolean> {
  const history = await store.history(id);
  if (history.length === 0) process.stderr.write('there is no such entry\n');
  for (const version of history) print(json ? JSON.stringify(version) : versionText(version));
  return history.length > 0;
}

function versionText(version: MemoryVersion): string {
  const { label, source, namespace, kind, key, agent, run, metadata } = version;
  const until = version.validTo === undefined ? 'now' : `${day(version.validTo)} (${version.closedBy})`;
  const facts = {
    namespace,
    source,
    label: `${label.integrity}, ${label.confidentiality}${label.origins.map((origin) => `, ${origin}`).join('')}`,
    kind,
    key,
    agent,
    run,
    metadata: metadata && JSON.stringify(metadata),
  };
  const lines = Object.entries(facts).flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${name.padEnd(10)} ${visible(value)}`],
  );
  return [
    `version ${version.version}, ${day(version.validFrom)} to ${until}`,
    ...lines,
    visibleLines(version.text),
    '',
  ].join('\n');
}

async function forget(store: LongTermMemory, [id]: string[], { source, origin, namespace }: Options): Promise<boolean> {
  if (id === undefined) {
    if (source === undefined && origin === undefined) {
      throw new ConfigurationError('forget', 'names nothing', 'Give an id, --source or --origin.');
    }
    const count = await store.removeFrom({ namespace, source, origin });
    print(`${count} ${count === 1 ? 'version' : 'versions'} removed`);
    return true;
  }
  if (source !== undefined || origin !== undefined) {
    throw new ConfigurationError('forget', 'got an id and a source or origin', 'Give one of them.');
  }
  const removed = await store.remove(id);
  print(removed ? 'removed' : 'there is no such entry');
  return removed;
}

async function exportAll(
  store: LongTermMemory,
  _: string[],
  { namespace, vectors = false }: Options,
): Promise<boolean> {
  for await (const line of store.export({ ...(namespace === undefined ? {} : { namespace }), vectors })) print(line);
  return true;
}

async function files(folder: string, { trusted = false, organisation }: Options): Promise<void> {
  const { layeredFiles } = await import('../../memory/layered-files.ts');
  const { lines, notes } = layeredFiles({ project: '.', folder, trusted, organisation });
  for (const { layer, file, line, text } of lines) print(`${layer}  ${visible(file)}:${line}  ${visible(text)}`);
  for (const note of notes) process.stderr.write(`${visible(note)}\n`);
}

function countOf(text: string | undefined, flag: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new ConfigurationError(
    flag,
    `expected a whole number above 0, got ${JSON.stringify(text)}`,
    `Write ${flag} 5.`,
  );
}

function day(time: number): string {
  return new Date(time).toISOString().slice(0, 16).replace('T', ' ');
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
