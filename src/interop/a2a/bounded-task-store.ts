import type { ListTasksRequest, ListTasksResponse, Task } from '@a2a-js/sdk';
import type { ServerCallContext, TaskStore } from '@a2a-js/sdk/server';
import type { ServerSdk } from './sdk.ts';

/** Keeps the last tasks of each client in memory; the oldest go. */
export class BoundedTaskStore implements TaskStore {
  readonly #sdk: ServerSdk;
  readonly #max: number;
  readonly #tasks = new Map<string, Map<string, Task>>();

  constructor(sdk: ServerSdk, max: number) {
    this.#sdk = sdk;
    this.#max = max;
  }

  async save(task: Task, context: ServerCallContext): Promise<void> {
    const owner = ownerOf(context);
    const own = this.#tasks.get(owner) ?? new Map<string, Task>();
    this.#tasks.set(owner, own);
    own.set(task.id, structuredClone(task));
    const [oldest] = own.keys();
    if (own.size > this.#max && oldest !== undefined) own.delete(oldest);
  }

  async load(taskId: string, context: ServerCallContext): Promise<Task | undefined> {
    const task = this.#tasks.get(ownerOf(context))?.get(taskId);
    return task === undefined ? undefined : structuredClone(task);
  }

  /** Order, filters and pages are the SDK's. */
  async list(params: ListTasksRequest, context: ServerCallContext): Promise<ListTasksResponse> {
    const listed = new this.#sdk.InMemoryTaskStore();
    for (const task of this.#tasks.get(ownerOf(context))?.values() ?? []) await listed.save(task, context);
    return listed.list(params, context);
  }
}

function ownerOf({ user, tenant }: ServerCallContext): string {
  return JSON.stringify([user?.userName, tenant]);
}
