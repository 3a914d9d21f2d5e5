/**
 * Checks which folder of src/ imports what. A room is a folder directly below src/, a floor a folder directly below a room; the
 * tables say what each may use.
 * Type-only imports count as well: a room that knows another's types depends on it.
 */
import { globSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ESTree, parseSync, Visitor } from 'vite';

const BELOW_ORCHESTRATION = ['core', 'agents', 'context', 'memory', 'models', 'journal', 'security', 'telemetry'];
const BELOW_INTEROP = [...BELOW_ORCHESTRATION, 'orchestration', 'tools', 'testing'];
const ALL = [...BELOW_INTEROP, 'interop', 'cli', 'studio', 'index.ts'];

/** Room → the rooms it may import from, besides itself. Node's own modules are open to all. */
const ROOMS: Record<string, readonly string[]> = {
  core: [],
  agents: ['core'],
  context: ['core', 'models'],
  memory: ['core', 'models'],
  models: ['core'],
  journal: ['core'],
  security: ['core'],
  // What leaves is redacted where it leaves: the forms of secrets are known in `security`.
  telemetry: ['core', 'security'],
  orchestration: BELOW_ORCHESTRATION,
  tools: ['core', 'security'],
  testing: ['core', 'models', 'journal', 'orchestration'],
  interop: BELOW_INTEROP,
  cli: ALL,
  studio: ALL,
  'index.ts': ALL,
};

/** The files directly in a room's folder, as a floor, less those that the table names: each of these is a floor. */
const OWN = '.';

/**
 * Room → its floors from the ground up: a floor may import itself and the floors below it. Those of one list are side by side:
 * none of them imports another. A room without an entry has one floor.
 */
const FLOORS: Record<string, readonly (string | readonly string[])[]> = {
  core: ['values', 'schema', 'contract', 'runtime', 'turn', 'call', 'loop', OWN],
  journal: [OWN, 'sqlite'],
  orchestration: ['budget', 'approvals', 'detached', 'run', 'entry', OWN],
  telemetry: ['otel', 'log'],
  memory: ['vectors', 'file', 'search', 'long-term-memory-type.ts', 'tools', 'upkeep', OWN],
  models: ['failure', 'answer', 'request', OWN, ['anthropic', 'openai'], 'from-env.ts', 'index.ts'],
  testing: ['wire', OWN],
  cli: [OWN, 'commands', 'cox.ts'],
  tools: ['workspace', ['commands', 'fetch', 'skills'], OWN],
  interop: [OWN, 'http', ['a2a', 'ai-sdk', 'langchain', 'mcp', 'openai-agents']],
};

/**
 * Folder → the packages it may import. `lazy` ones only with `import()`, `createRequire` or `import type`, so that
 * importing coxswain does not load them. What is not here (zod above all) is imported nowhere.
 */
const PACKAGES: readonly { folder: string; name: RegExp; label: string; lazy: boolean }[] = [
  { folder: 'src/core/', name: /^ajv$/, label: 'ajv', lazy: true },
  { folder: 'src/orchestration/', name: /^p-limit$/, label: 'p-limit', lazy: false },
  { folder: 'src/orchestration/', name: /^eventemitter3$/, label: 'eventemitter3', lazy: false },
  { folder: 'src/models/anthropic/', name: /^@anthropic-ai\/sdk$/, label: '@anthropic-ai/sdk', lazy: true },
  { folder: 'src/models/openai/', name: /^openai$/, label: 'openai', lazy: true },
  { folder: 'src/models/', name: /^@pydantic\/genai-prices$/, label: '@pydantic/genai-prices', lazy: true },
  { folder: 'src/telemetry/', name: /^@opentelemetry\/api$/, label: '@opentelemetry/api', lazy: false },
  { folder: 'src/telemetry/', name: /^@opentelemetry\//, label: '@opentelemetry/*', lazy: true },
  { folder: 'src/tools/', name: /^re2js$/, label: 're2js', lazy: true },
  { folder: 'src/tools/', name: /^ipaddr\.js$/, label: 'ipaddr.js', lazy: true },
  { folder: 'src/interop/mcp/', name: /^@modelcontextprotocol\//, label: '@modelcontextprotocol/*', lazy: true },
  { folder: 'src/interop/a2a/', name: /^@a2a-js\/sdk$/, label: '@a2a-js/sdk', lazy: true },
  { folder: 'src/interop/ai-sdk/', name: /^ai$/, label: 'ai', lazy: true },
  { folder: 'src/interop/openai-agents/', name: /^@openai\/agents$/, label: '@openai/agents', lazy: true },
  { folder: 'src/interop/langchain/', name: /^@langchain\/core$/, label: '@langchain/core', lazy: true },
  { folder: 'src/tools/', name: /^yaml$/, label: 'yaml', lazy: true },
  { folder: 'src/interop/', name: /^yaml$/, label: 'yaml', lazy: true },
  { folder: 'src/cli/', name: /^commander$/, label: 'commander', lazy: false },
];

export type SourceFile = { file: string; text: string };
type Import = { specifier: string; how: 'static' | 'dynamic' | 'type' };

/** Every violation in the given files, whose names are relative to the project's root; an empty list is a pass. */
export function checkRooms(files: readonly SourceFile[]): string[] {
  return files.flatMap((source) => {
    const room = roomOf(source.file);
    const rooms = ROOMS[room];
    if (rooms === undefined)
      return [`${source.file}: ${room} is no room; the rooms are ${Object.keys(ROOMS).join(', ')}`];
    const { imports, error } = importsOf(source);
    if (error !== undefined) return [`${source.file}: does not parse: ${error}`];
    const unlisted = unlistedFloor(source.file, room);
    if (unlisted !== undefined) return [unlisted];
    return imports.flatMap((found) => violation(source.file, room, rooms, found) ?? []);
  });
}

function violation(
  file: string,
  room: string,
  rooms: readonly string[],
  { specifier, how }: Import,
): string | undefined {
  if (isBuiltin(specifier)) return undefined;
  const packages = PACKAGES.filter((entry) => file.startsWith(entry.folder));
  const allowed = [...rooms, ...packages.map((entry) => entry.label), 'node:*'].join(', ');
  const refusal = `${file}: imports ${specifier}; ${room} may import only ${allowed}`;

  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(file), specifier);
    if (!target.startsWith('src/')) return refusal;
    const targetRoom = roomOf(target);
    if (targetRoom === room) return upward(file, target, specifier);
    return rooms.includes(targetRoom) ? undefined : refusal;
  }
  const name = packageOf(specifier);
  if (name === 'coxswain') return room !== 'index.ts' && rooms.includes('index.ts') ? undefined : refusal;
  const entry = packages.find((candidate) => candidate.name.test(name));
  if (entry === undefined) return refusal;
  if (entry.lazy && how === 'static') return `${refusal} (${entry.label} with import() or import type)`;
  return undefined;
}

/** A file of a floor that the table does not have. */
function unlistedFloor(file: string, room: string): string | undefined {
  const floors = FLOORS[room]?.flat();
  if (floors === undefined || floors.includes(floorOf(file))) return undefined;
  return `${file}: ${floorName(room, floorOf(file))} is no floor; the floors of ${room} are ${floors.join(', ')}`;
}

/** An import within a room that runs up, or beside. */
function upward(file: string, target: string, specifier: string): string | undefined {
  const room = roomOf(file);
  const floors = FLOORS[room];
  const [from, to] = [floorOf(file), floorOf(target)];
  if (floors === undefined || from === to) return undefined;
  const height = floors.findIndex((floor) => [floor].flat().includes(from));
  const below = floors.slice(0, height).flat();
  if (below.includes(to)) return undefined;
  const allowed = [...below, from].join(', ');
  return `${file}: imports ${specifier}; ${floorName(room, from)} may import of ${room} only ${allowed}`;
}

/** What a file imports, in any form whose specifier is written out. */
function importsOf({ file, text }: SourceFile): { imports: Import[]; error?: string } {
  const { program, errors } = parseSync(file, text);
  const [first] = errors;
  if (first !== undefined) return { imports: [], error: first.message };

  const imports: Import[] = [];
  const requires = new Set(['require']);
  const add = (how: Import['how'], node: ESTree.Node | null) => {
    if (node?.type === 'Literal' && typeof node.value === 'string') imports.push({ specifier: node.value, how });
    const quasi =
      node?.type === 'TemplateLiteral' && node.quasis.length === 1 ? node.quasis[0]?.value.cooked : undefined;
    if (quasi) imports.push({ specifier: quasi, how });
  };
  // `import { type A } from 'a'` still loads 'a' under verbatimModuleSyntax: only `import type` is a type import.
  const kind = (node: { importKind?: string; exportKind?: string }) =>
    (node.importKind ?? node.exportKind) === 'type' ? 'type' : 'static';

  new Visitor({
    ImportDeclaration: (node) => add(kind(node), node.source),
    ExportNamedDeclaration: (node) => add(kind(node), node.source),
    ExportAllDeclaration: (node) => add(kind(node), node.source),
    ImportExpression: (node) => add('dynamic', node.source),
    TSImportType: (node) => add('type', node.source),
    VariableDeclarator(node) {
      if (node.id.type === 'Identifier' && isCreateRequire(node.init)) requires.add(node.id.name);
    },
    CallExpression(node) {
      const { callee } = node;
      const isRequire = callee.type === 'Identifier' ? requires.has(callee.name) : isCreateRequire(callee);
      if (isRequire) add('dynamic', node.arguments[0] ?? null);
    },
  }).visit(program);
  return { imports };
}

function isCreateRequire(node: ESTree.Node | null): boolean {
  return node?.type === 'CallExpression' && node.callee.type === 'Identifier' && node.callee.name === 'createRequire';
}

/** `src/core/loop/loop.ts` → `core`, `src/index.ts` → `index.ts`. */
function roomOf(file: string): string {
  return file.split('/')[1] ?? file;
}

/** `src/core/loop/loop.ts` → `loop`, `src/core/index.ts` → `.`, `src/cli/cox.ts` → `cox.ts`. */
function floorOf(file: string): string {
  const [, room = '', floor = '', ...rest] = file.split('/');
  return rest.length > 0 || FLOORS[room]?.flat().includes(floor) ? floor : OWN;
}

function floorName(room: string, floor: string): string {
  return floor === OWN ? room : `${room}/${floor}`;
}

/** `@scope/name/sub` → `@scope/name`, `name/sub` → `name`. */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function main(): void {
  const files = globSync('src/**/*.{ts,mts,cts}').map((file) => ({
    file: file.replaceAll('\\', '/'),
    text: readFileSync(file, 'utf8'),
  }));
  const violations = files.length === 0 ? ['src/: no files found, so nothing was checked'] : checkRooms(files);
  for (const line of violations) console.error(line);
  console.log(`Rooms: ${files.length} files, ${violations.length} violations`);
  if (violations.length > 0) process.exitCode = 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main();
