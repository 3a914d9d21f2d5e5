import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  cancelRun,
  defineAgent,
  defineTool,
  type Model,
  type RecordStore,
  type RunLog,
  replayRun,
  resumeRun,
  runAgent,
  startRun,
} from 'coxswain';
import { sqlite } from 'coxswain/sqlite';

/** On the disk of the checkout, or in BENCH_FOLDER: that for temporary files may be memory, which has nothing to flush. */
const PARENT = process.env.BENCH_FOLDER ?? fileURLToPath(new URL('../.runs', import.meta.url));
mkdirSync(PARENT, { recursive: true });
export const FOLDER = mkdtempSync(join(PARENT, 'bench-'));
process.on('exit', () => rmSync(FOLDER, { recursive: true, force: true }));

/** What a tool gives: 500 bytes. */
export const RESULT = 'x'.repeat(500);
const input = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const;
const limits = { steps: 10_000, toolCalls: 100_000 };
/** The history is not compacted: each request is one turn longer. */
const context = { maxTokens: 100_000_000 };

const look = defineTool({ name: 'look', description: 'Looks', input, access: 'read', execute: async () => RESULT });
/** Its results count as trusted, since the second write would otherwise need approval. */
const write = defineTool({
  name: 'write',
  description: 'Writes',
  input,
  access: 'write',
  parallel: true,
  result: { integrity: 'trusted' },
  execute: async () => RESULT,
});
const TOOLS = { read: look, write } as const;
export type Kind = keyof typeof TOOLS;

let files = 0;

/** A separate file for each journal. */
export function newFile(): string {
  files += 1;
  return join(FOLDER, `${files}.db`);
}

/** Bytes of a journal once its log is folded in. */
export function sizeOf(file: string): number {
  return statSync(file).size;
}

/** Concurrent branches, each with `each` consecutive calls. */
export function branches(kind: Kind, parallel: number, each: number) {
  const tool = TOOLS[kind];
  const agent = defineAgent({
    name: 'fan',
    description: 'Calls',
    input,
    limits,
    async run(_, ctx) {
      await Promise.all(
        Array.from({ length: parallel }, async (_value, branch) => {
          for (let n = 0; n < each; n += 1) await ctx.tool(tool, { n }, { id: `b${branch}.${n}` });
        }),
      );
      return 'done';
    },
  });
  const permissions = { rules: ['allow write'] };
  return async (journal?: RecordStore) => {
    const { status } = await runAgent(agent as never, { n: 0 } as never, { journal, permissions } as never);
    if (status !== 'completed') throw new Error(`the branches ended ${status}`);
    return parallel * each;
  };
}

/** `steps` turns with one tool call each, then an answer; or none, depending on `answers`: the last request then goes to `onLast`. */
export function turns(steps: number, latencyMs = 0, onLast?: () => void): Model {
  return {
    provider: 'bench',
    id: 'bench',
    async generate({ messages }, { signal }) {
      if (latencyMs > 0) await sleep(latencyMs);
      const step = (messages.length - 1) / 2;
      if (step >= steps && onLast !== undefined) {
        onLast();
        await sleep(10_000, undefined, { signal });
      }
      if (step >= steps) return { content: [{ type: 'text', text: 'Done' }], stop: 'end' };
      const call = { type: 'tool_call', id: `call_${step}`, name: 'look', arguments: `{"n":${step}}` } as const;
      return { content: [call], stop: 'tool_calls' };
    },
  };
}

export const lone = defineAgent({ name: 'lone', instructions: 'Go', tools: [look], limits, context });

/** A run of so many turns; gives its id. */
export async function longRun(steps: number, journal?: RecordStore, latencyMs = 0): Promise<string> {
  const result = await runAgent(lone, 'Go', { model: turns(steps, latencyMs), journal, limits: { timeMs: 3_600_000 } });
  if (result.status !== 'completed') throw new Error(`the long run ended ${result.status}`);
  return result.runId;
}

/** A run that is broken off in the model call after so many turns; gives its id. */
export async function brokenRun(steps: number, journal: RecordStore): Promise<string> {
  const { runId } = await broken(steps, (options) => runAgent(lone, 'Go', { ...options, journal }));
  return runId;
}

/** Milliseconds from a resume to its first request to the model. */
export async function resumeOnce(steps: number, journal: RecordStore, runId: string): Promise<number> {
  const since = performance.now();
  const { asked } = await broken(steps, (options) => resumeRun(lone, runId, { ...options, journal }).result);
  return asked - since;
}

async function broken(
  steps: number,
  begin: (options: { model: Model; signal: AbortSignal; limits: { timeMs: number } }) => Promise<{ runId: string }>,
) {
  const controller = new AbortController();
  let asked = Number.NaN;
  const model = turns(steps, 0, () => {
    asked = performance.now();
    setImmediate(() => controller.abort());
  });
  const { runId } = await begin({ model, signal: controller.signal, limits: { timeMs: 3_600_000 } });
  return { runId, asked };
}

export async function replayOnce(journal: RecordStore, runId: string): Promise<number> {
  const since = performance.now();
  const { status } = await replayRun(lone, { journal, runId }).result;
  if (status !== 'completed') throw new Error(`the replay ended ${status}`);
  return performance.now() - since;
}

/** A run whose only call is active until it is stopped. */
export async function longCall(journal: RecordStore | undefined) {
  const begun = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<number>();
  const dig = defineTool({
    ...{ name: 'dig', description: 'Takes long', input, access: 'read' },
    async execute(_args, { signal }) {
      signal.addEventListener('abort', () => stopped.resolve(performance.now()));
      begun.resolve();
      await stopped.promise;
    },
  });
  const agent = defineAgent({
    name: 'digger',
    description: 'd',
    input,
    limits,
    run: (_, ctx) => ctx.tool(dig, { n: 1 }),
  });
  const run = startRun(agent as never, { n: 0 } as never, { journal } as never);
  await begun.promise;
  return { run, stopped: stopped.promise };
}

/** Milliseconds until a run in a long call notices a cancellation through another connection. */
export async function hearingMs(file: string): Promise<number> {
  const [store, elsewhere] = [sqlite(file), sqlite(file)];
  const { run, stopped } = await longCall(store);
  const since = performance.now();
  await cancelRun(run.id, { journal: elsewhere });
  const heard = (await stopped) - since;
  await run.result;
  store.close();
  elsewhere.close();
  return heard;
}

/** A store that counts how often its logs have written. */
export function counted(file: string): { readonly store: RecordStore; commits(): number } {
  const store = sqlite(file);
  let count = 0;
  const counting = (log: RunLog): RunLog => {
    let told: (() => void) | undefined;
    let pending = false;
    log.onCommit = () => {
      if (pending) count += 1;
      pending = false;
      told?.();
    };
    return new Proxy(log, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (name === 'append') pending = true;
          return Reflect.apply(value, target, args);
        };
      },
      set(target, name, value) {
        if (name === 'onCommit') told = value as () => void;
        else Reflect.set(target, name, value, target);
        return true;
      },
    });
  };
  return {
    store: {
      create: async (run) => counting(await store.create(run)),
      open: async (id, options) => counting(await store.open(id, options)),
      read: (id) => store.read(id),
      list: () => store.list(),
      signal: (run, signal) => store.signal(run, signal),
      prune: (before) => store.prune(before),
      close: () => store.close(),
    },
    commits: () => count,
  };
}
