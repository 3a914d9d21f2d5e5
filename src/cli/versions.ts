import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { release } from 'node:os';
import { join } from 'node:path';

/** Packages that a run may be made with. */
const PACKAGES = [
  ...['zod', 'openai', '@anthropic-ai/sdk', '@opentelemetry/api', '@opentelemetry/sdk-trace'],
  ...['@opentelemetry/exporter-trace-otlp-http', '@opentelemetry/resources'],
];

/** What a run was made with: of this installation, and of the packages that the current folder resolves. */
export function versions() {
  const own = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version as string;
  const { versions: of, platform, arch } = process;
  const packages = Object.fromEntries(PACKAGES.map((name) => [name, packageVersion(name)]));
  return {
    ...{ coxswain: own, node: of.node, v8: of.v8, sqlite: of.sqlite ?? null, platform, arch, release: release() },
    packages,
  };
}

/** Null where it is not installed. */
function packageVersion(name: string): string | null {
  for (const base of createRequire(join(process.cwd(), 'index.js')).resolve.paths(name) ?? []) {
    try {
      return JSON.parse(readFileSync(join(base, name, 'package.json'), 'utf8')).version as string;
    } catch {
      // In the next folder above, or nowhere.
    }
  }
  return null;
}
