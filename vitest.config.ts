import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  // Tests import `coxswain` as a user would; the condition leads that to src/ instead of dist/, so nothing is built first.
  // vite's default `module` is left out: OpenTelemetry's API puts files there that Node itself cannot load.
  ssr: { resolve: { conditions: ['@coxswain/source', 'node'] } },
  test: {
    include: ['tests/**/*.test.ts'],
    // A real model server takes minutes, and so does building a Jaeger: only when they are asked for by name.
    exclude: [
      ...configDefaults.exclude,
      ...['local-model', 'jaeger', 'interop-suites'].flatMap((name) =>
        process.argv.some((word) => word.includes(name)) ? [] : [`tests/${name}/**`],
      ),
    ],
    globalSetup: 'tests/support/short-form.ts',
    // Many tests wait for a process or a timer: of two cores one alone would often have nothing to do.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // The long form makes more tries in a test.
    testTimeout: process.env.LONG === '1' ? 60_000 : 20_000,
    hookTimeout: 20_000,
    // Only type tests are judged here; type errors elsewhere are what `npm run types` finds.
    typecheck: { enabled: true, include: ['tests/**/*.test-d.ts'], ignoreSourceErrors: true },
  },
});
