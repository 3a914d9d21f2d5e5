import type { Contender } from '../script.ts';

/** Loaded one by one, so that a child process that measures one of them loads no other. */
const LOADERS: { readonly [name: string]: () => Promise<Contender> } = {
  L0: async () => (await import('./hand-loop.ts')).handLoop,
  floor: async () => (await import('./floor.ts')).floor,
  coxswain: async () => (await import('./coxswain.ts')).coxswain,
  'AI SDK': async () => (await import('./ai-sdk.ts')).aiSdk,
};

export const NAMES = Object.keys(LOADERS);

export function contenderNamed(name: string): Promise<Contender> {
  const load = LOADERS[name];
  if (load === undefined) throw new Error(`no contender ${name}; there are ${NAMES.join(', ')}`);
  return load();
}
