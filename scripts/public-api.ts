/**
 * The public API as text, by entry of package.json: each exported name with its declaration, without comments, and the declarations that these refer to. `npm run api` writes it to `tests/api`; a test compares. The changelog names each removal and change.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ESTree, parseSync, Visitor } from 'vite';

/** A declaration of one name; an overloaded function has several texts. */
interface Declared {
  readonly kind: string;
  readonly isDeprecated: boolean;
  readonly texts: string[];
  readonly nodes: ESTree.Node[];
}

/** The declarations of one file. */
interface Module {
  readonly declared: Map<string, Declared>;
  /** Local name → where it comes from. */
  readonly imported: Map<string, Source>;
  /** Exported name → a local name, or where it comes from. */
  readonly exported: Map<string, string | Source>;
  readonly stars: string[];
}
interface Source {
  readonly file: string;
  readonly name: string;
}

/** Of what no entry exports, and declarations of exported names lean on. */
const BEHIND = 'behind';

/** The API of each entry, from the declarations that tsc wrote into a folder, and the declarations behind it. */
export function publicApi(dist: string, entries: ReadonlyMap<string, string>): Map<string, string> {
  const modules = new Map<string, Module>();
  const moduleOf = (file: string): Module => {
    const module = modules.get(file) ?? readModule(file);
    modules.set(file, module);
    return module;
  };
  const seen = new Set<Declared>();
  const pending: Source[] = [];
  const texts = new Map<string, string>();
  for (const [entry, file] of entries) {
    const lines: [string, Declared][] = [];
    for (const [name, source] of exportsOf(join(dist, file), moduleOf)) {
      const [declared, leans] = look(source, moduleOf);
      if (declared === undefined) continue;
      lines.push([name, declared]);
      seen.add(declared);
      pending.push(...leans);
    }
    texts.set(entry, textOf(lines));
  }
  const behind: [string, Declared][] = [];
  for (const source of pending) {
    const [declared, leans] = look(source, moduleOf);
    if (declared === undefined || seen.has(declared)) continue;
    seen.add(declared);
    behind.push([source.name, declared]);
    pending.push(...leans);
  }
  return texts.set(BEHIND, textOf(behind));
}

/** A declaration and the names that it leans on; neither where it is a package's. */
function look(source: Source, moduleOf: (file: string) => Module): [Declared | undefined, Source[]] {
  const at = resolve(source, moduleOf);
  const declared = at && moduleOf(at.file).declared.get(at.name);
  if (at === undefined || declared === undefined) return [undefined, []];
  return [declared, [...namesIn(declared)].map((name) => ({ file: at.file, name }))];
}

function textOf(all: readonly [string, Declared][]): string {
  const key = ([name, { texts }]: readonly [string, Declared]) => `${name} ${texts[0]}`;
  return [...all]
    .sort((a, b) => (key(a) < key(b) ? -1 : 1))
    .map(
      ([name, { kind, isDeprecated, texts }]) =>
        `${[`${isDeprecated ? 'deprecated ' : ''}${kind} ${name}`, ...texts.map(indented)].join('\n')}\n`,
    )
    .join('\n');
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}

/** Every name that a module gives away, and where it is declared or passed on from. */
function exportsOf(file: string, moduleOf: (file: string) => Module): [string, Source][] {
  const { exported, stars } = moduleOf(file);
  const own = [...exported].map(([as, from]): [string, Source] => [
    as,
    typeof from === 'string' ? { file, name: from } : from,
  ]);
  const names = new Set(own.map(([as]) => as));
  return [...own, ...stars.flatMap((star) => exportsOf(star, moduleOf)).filter(([as]) => !names.has(as))];
}

/** Follows imports and re-exports to the declaration; undefined where it leads into a package. */
function resolve({ file, name }: Source, moduleOf: (file: string) => Module): Source | undefined {
  const module = moduleOf(file);
  if (module.declared.has(name)) return { file, name };
  const imported = module.imported.get(name);
  if (imported !== undefined) return resolve(imported, moduleOf);
  const passed = exportsOf(file, moduleOf).find(([as]) => as === name)?.[1];
  return passed === undefined || (passed.file === file && passed.name === name) ? undefined : resolve(passed, moduleOf);
}

/** The names in a declaration. */
function namesIn({ nodes }: Declared): Set<string> {
  const names = new Set<string>();
  const visitor = new Visitor({
    Identifier(node) {
      names.add(node.name);
    },
  });
  for (const node of nodes) visitor.visit({ type: 'Program', body: [node] } as unknown as ESTree.Program);
  return names;
}

function readModule(file: string): Module {
  const text = readFileSync(file, 'utf8');
  const { program, comments, errors } = parseSync(file, text);
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`);
  const module: Module = { declared: new Map(), imported: new Map(), exported: new Map(), stars: [] };
  const at = (specifier: string) => join(dirname(file), specifier.replace(/\.(ts|js)$/, '.d.ts'));
  const declare = (node: ESTree.Node, whole: ESTree.Node): string[] => {
    const names = declaredNames(node);
    const comment = comments.find(({ end }) => text.slice(end, whole.start).trim() === '' && end <= whole.start);
    const isDeprecated = comment?.value.includes('@deprecated') ?? false;
    for (const { name, kind } of names) {
      const before = module.declared.get(name);
      const plain = withoutComments(text, whole, comments);
      if (before === undefined) module.declared.set(name, { kind, isDeprecated, texts: [plain], nodes: [node] });
      else {
        before.texts.push(plain);
        before.nodes.push(node);
      }
    }
    return names.map(({ name }) => name);
  };
  for (const node of program.body) {
    if (node.type === 'ImportDeclaration') {
      for (const one of node.specifiers) {
        const name = one.type === 'ImportSpecifier' ? nameOf(one.imported) : '*';
        if (node.source.value.startsWith('.'))
          module.imported.set(one.local.name, { file: at(node.source.value), name });
      }
    } else if (node.type === 'ExportAllDeclaration') {
      if (node.source.value.startsWith('.')) module.stars.push(at(node.source.value));
    } else if (node.type === 'ExportNamedDeclaration') {
      if (node.declaration !== null)
        for (const name of declare(node.declaration, node)) module.exported.set(name, name);
      for (const { local, exported } of node.specifiers) {
        const from = node.source?.value;
        if (from === undefined) module.exported.set(nameOf(exported), nameOf(local));
        else if (from.startsWith('.')) module.exported.set(nameOf(exported), { file: at(from), name: nameOf(local) });
      }
    } else declare(node, node);
  }
  return module;
}

function declaredNames(node: ESTree.Node): { name: string; kind: string }[] {
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
      return node.id === null ? [] : [{ name: node.id.name, kind: 'function' }];
    case 'ClassDeclaration':
      return node.id === null ? [] : [{ name: node.id.name, kind: 'class' }];
    case 'TSInterfaceDeclaration':
      return [{ name: node.id.name, kind: 'interface' }];
    case 'TSTypeAliasDeclaration':
      return [{ name: node.id.name, kind: 'type' }];
    case 'VariableDeclaration':
      return node.declarations.flatMap(({ id }) =>
        id.type === 'Identifier' ? [{ name: id.name, kind: 'const' }] : [],
      );
    default:
      return [];
  }
}

function nameOf(node: ESTree.ModuleExportName): string {
  return node.type === 'Literal' ? String(node.value) : node.name;
}

/** The text of a node, a member a line. */
function withoutComments(
  text: string,
  { start, end }: ESTree.Node,
  comments: ReturnType<typeof parseSync>['comments'],
): string {
  let plain = '';
  let at = start;
  for (const comment of comments) {
    if (comment.start < at || comment.end > end) continue;
    plain += text.slice(at, comment.start);
    at = comment.end;
  }
  plain += text.slice(at, end);
  const lines = plain.replace(/^export (declare )?/, '').split('\n');
  return lines
    .map((line) => line.trimEnd())
    .filter((line) => line.trim() !== '')
    .join('\n');
}

type Manifest = { exports: Record<string, { types: string }> };

/** Writes the declarations of a checkout into a temporary folder, and describes the exports of its entries. */
export function apiOf(root: string): Map<string, string> {
  const { exports }: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const entries = new Map(
    Object.entries(exports).map(([entry, { types }]) => [
      entry.replace(/^\.\/?/, '') || 'index',
      relative('dist', types),
    ]),
  );
  const dist = mkdtempSync(join(tmpdir(), 'api-'));
  const bin = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  try {
    const args = [bin, '-p', 'tsconfig.build.json', '--emitDeclarationOnly', '--outDir', dist];
    execFileSync(process.execPath, args, { cwd: root, stdio: 'pipe' });
    return publicApi(dist, entries);
  } finally {
    rmSync(dist, { recursive: true, force: true });
  }
}

/** One file for each entry. */
export function apiFile(root: string, entry: string): string {
  return join(root, 'tests/api', `${entry}.txt`);
}

if (import.meta.main) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  rmSync(join(root, 'tests/api'), { recursive: true, force: true });
  mkdirSync(join(root, 'tests/api'));
  for (const [entry, text] of apiOf(root)) writeFileSync(apiFile(root, entry), text);
}
