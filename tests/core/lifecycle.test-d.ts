import { type AskContext, defineAgent, defineTool, delegate, type Run, steerRun, type UserMessage } from 'coxswain';
import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';

interface Db {
  find(query: string): string[];
}
declare const run: Run;

const search = defineTool({
  name: 'search',
  description: 'Search',
  input: z.object({ query: z.string() }),
  access: 'read',
  execute: ({ query }, ctx: { deps: { db: Db } }) => ctx.deps.db.find(query),
});
const ada = defineAgent({ name: 'ada', description: 'a', instructions: 'a', tools: [search] });

describe('what can be said to a run', () => {
  it('takes a text, parts, or a user message', () => {
    expectTypeOf(run.steer('lead', 'x')).resolves.toBeVoid();
    run.steer('lead', [{ type: 'image', mediaType: 'image/png', data: new Uint8Array(1) }]);
    run.steer('lead', {
      role: 'user',
      content: 'x',
      label: { integrity: 'untrusted', confidentiality: 'public', origins: [] },
    });
    // @ts-expect-error no transcript has a number
    run.steer('lead', 5);
    // @ts-expect-error only users steer
    run.steer('lead', { role: 'assistant', content: 'x' });
    expectTypeOf(steerRun).returns.resolves.toBeString();
  });

  it('shows what entered at a step', () => {
    run.on('step.start', ({ arrived }) => {
      expectTypeOf(arrived).toEqualTypeOf<readonly UserMessage[] | undefined>();
    });
  });
});

describe('who answers a worker', () => {
  it('is somebody that there is, or a function of the question and the worker’s deps', () => {
    delegate(ada, { ask: 'supervisor' });
    delegate(ada, { ask: 'person' });
    delegate(ada, {
      ask: (question, { deps, path }) => {
        expectTypeOf(question).toBeString();
        expectTypeOf(path).toBeString();
        expectTypeOf(deps.db).toEqualTypeOf<Db>();
        return deps.db.find(question);
      },
    });
    expectTypeOf<AskContext<{ a: 1 }>['deps']>().toEqualTypeOf<{ a: 1 }>();
    // @ts-expect-error nobody is called that
    delegate(ada, { ask: 'boss' });
  });
});
