import { resolve } from 'node:path';
import { defineConfig, mergeConfig } from 'vitest/config';
import base from '../../vitest.config.ts';
import { MUTATIONS } from './mutations.ts';

/** MUTATION is the place of a mutation in the list: the file is changed on its way to the tests, never on the disk. */
const { MUTATION = '' } = process.env;
const mutation = MUTATION === '' ? undefined : MUTATIONS[Number(MUTATION)];
const root = resolve(import.meta.dirname, '../..');

export default mergeConfig(
  base,
  defineConfig({
    root,
    plugins: [
      {
        name: 'mutation',
        enforce: 'pre',
        transform(code, id) {
          if (mutation === undefined || id.split('?')[0] !== resolve(root, mutation.file)) return undefined;
          return code.replace(mutation.search, () => mutation.replacement);
        },
      },
    ],
    // The cache of transformed files knows nothing of mutations.
    test: { typecheck: { enabled: false }, fsModuleCache: false },
  }),
);
