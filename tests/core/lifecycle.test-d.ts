import {
  type AskContext,
  defineAgent,
  defineSupervisor,
  defineTool,
  delegate,
  type Run,
  startRun,
  steerRun,
  type UserMessage,
} from 'coxswain';
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
const bob = defineAgent({
  name: 'bob',
  description: 'b',
  instructions: 'b',
  tools: [
    defineTool({
      name: 'mail',
      description: 'm',
      input: {},
      access: 'send',
      execute: (_input, ctx: { deps: { mail: number } }) => ctx.deps.mail,
    }),
  ],
});
declare const db: Db;
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

describe('what a supervisor lets its workers do', () => {
  it('is said in its definition', () => {
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'l',
      workers: [ada, delegate(bob, { handoff: true })],
      background: true,
      continueWorkers: true,
      mailbox: true,
    });
    // Whoever may take the conversation over needs its deps as well.
    startRun(lead, 'go', { deps: { db, mail: 1 } });
    // @ts-expect-error the deps of the one that may take over
    startRun(lead, 'go', { deps: { db } });
    // @ts-expect-error no flag is a text
    defineSupervisor({ name: 'lead', instructions: 'l', workers: [ada], background: 'yes' });
    // @ts-expect-error only a supervisor has workers
    defineAgent({ name: 'solo', instructions: 's', background: true });
  });

  it('makes a handoff a tool of its own input', () => {
    const tool = delegate(ada, { handoff: true });
    expectTypeOf(tool.run).parameter(0).toEqualTypeOf<{ readonly message?: string }>();
    expectTypeOf(delegate(ada).run).parameter(0).not.toEqualTypeOf<{ readonly message?: string }>();
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
