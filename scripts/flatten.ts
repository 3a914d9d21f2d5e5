/**
 * Flattens dist/ for the published package: a module costs about a third of a millisecond to load, and the core has over a
 * hundred. Every entry of package.json stays where it is; what several entries need, they share, so that each class and
 * each AsyncLocalStorage exists once. What is imported with `import()` stays detached and is loaded when it is needed.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OutputChunk, type Plugin, rolldown } from 'rolldown';

/** Packages that are bundled into the core: loading them separately costs a quarter of the import's ten milliseconds. */
const INLINED = /^(p-limit|yocto-queue|eventemitter3)(\/|$)/;

/** Files of the flattened dist/ by their name in it: modules, and the licences of the packages that went into them. */
export async function flattened(root: string): Promise<Map<string, string>> {
  const dist = join(root, 'dist');
  const entries = entriesOf(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  const core = new Set<string>();
  const bundle = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry.replace(/\.js$/, ''), join(dist, entry)])),
    external: (id) => !id.startsWith('.') && !isAbsolute(id) && !INLINED.test(id),
    cwd: root,
    platform: 'node',
    plugins: [reachable(join(dist, 'index.js'), core)],
  });
  const { output } = await bundle.generate({
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    minifyInternalExports: false,
    // One module for all that `import 'coxswain'` loads, not one for each set of entries that share something.
    codeSplitting: { groups: [{ name: 'core', test: (id) => core.has(id) }] },
  });
  await bundle.close();

  const chunks = output.filter((file) => file.type === 'chunk');
  const licences = licencesOf(chunks);
  return new Map([
    ...chunks.map((chunk) => [chunk.fileName, chunk.code] as const),
    ...(licences === '' ? [] : [['third-party-licences.txt', licences] as const]),
  ]);
}

/** Replaces the modules that tsc wrote with the flattened ones; declarations stay unchanged. */
export function replaceModules(dist: string, files: ReadonlyMap<string, string>): void {
  for (const file of globSync('**/*.js', { cwd: dist })) rmSync(join(dist, file));
  for (const [name, text] of files) {
    mkdirSync(dirname(join(dist, name)), { recursive: true });
    writeFileSync(join(dist, name), text);
  }
}

type Manifest = { exports: Record<string, { default: string }>; bin: Record<string, string> };

/** What package.json leads to, relative to dist/. */
function entriesOf({ exports, bin }: Manifest): string[] {
  const targets = [...Object.values(exports).map((entry) => entry.default), ...Object.values(bin)];
  return targets.map((target) => relative('dist', target));
}

/** Collects what a module imports statically, and that in turn. */
function reachable(from: string, into: Set<string>): Plugin {
  return {
    name: 'reachable',
    buildEnd() {
      const pending = [resolve(from)];
      for (const id of pending) {
        const module = this.getModuleInfo(id);
        if (module === null || into.has(id)) continue;
        into.add(id);
        pending.push(...module.importedIds);
      }
    },
  };
}

function licencesOf(chunks: readonly OutputChunk[]): string {
  const folders = chunks.flatMap(({ moduleIds }) =>
    moduleIds.flatMap((id) => /^.*\/node_modules\/[^/]+/.exec(id) ?? []),
  );
  return [...new Set(folders)]
    .sort()
    .map((folder) => {
      const [file] = globSync('{license,LICENSE}*', { cwd: folder });
      if (file === undefined) throw new Error(`${folder} has no licence to pass on`);
      return `${folder.replace(/^.*\//, '')}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
    })
    .join('\n---\n\n');
}

if (import.meta.main) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  replaceModules(join(root, 'dist'), await flattened(root));
}
