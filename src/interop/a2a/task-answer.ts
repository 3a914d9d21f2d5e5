import type { Artifact, Message, Part, StreamResponse, Task, TaskState, TaskStatus } from '@a2a-js/sdk';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import { partsText } from './message-input.ts';

/** The state of another agent's task, as far as it has been reported. */
export class TaskAnswer {
  taskId: string | undefined;
  contextId = '';
  status: TaskStatus | undefined;
  /** An answer that is no task. */
  message: Message | undefined;
  metadata: { readonly [key: string]: unknown } = {};
  readonly #artifacts = new Map<string, Part[]>();

  /** Takes an event; returns the text of its status, which is progress. */
  take({ payload }: StreamResponse): string | undefined {
    switch (payload?.$case) {
      case 'task':
        this.takeTask(payload.value);
        return undefined;
      case 'message':
        this.message = payload.value;
        return undefined;
      case 'statusUpdate': {
        const { status, taskId, contextId, metadata } = payload.value;
        this.taskId ??= taskId;
        this.contextId = contextId;
        this.status = status;
        this.metadata = { ...this.metadata, ...metadata };
        return status?.message === undefined ? undefined : partsText(status.message.parts);
      }
      case 'artifactUpdate': {
        const { artifact, append } = payload.value;
        if (artifact !== undefined) this.#takeArtifact(artifact, append);
        return undefined;
      }
      default:
        return undefined;
    }
  }

  takeTask({ id, contextId, status, artifacts, metadata }: Task): void {
    this.taskId = id;
    this.contextId = contextId;
    this.status = status;
    this.metadata = { ...this.metadata, ...metadata };
    for (const artifact of artifacts) this.#takeArtifact(artifact, false);
  }

  #takeArtifact({ artifactId, parts }: Artifact, append: boolean): void {
    const before = append ? (this.#artifacts.get(artifactId) ?? []) : [];
    this.#artifacts.set(artifactId, [...before, ...parts]);
  }

  is(...states: readonly TaskState[]): boolean {
    return this.status !== undefined && states.includes(this.status.state);
  }

  /** The text of the latest status: the agent's last words, or its question. */
  get statusText(): string {
    return this.status?.message === undefined ? '' : partsText(this.status.message.parts);
  }

  /** The data of the latest status; null if there is none. */
  get statusData(): Json {
    return dataOf(this.status?.message?.parts ?? []) ?? null;
  }

  /** The answer: a text if there is nothing else, otherwise text, data and files. */
  value(): Json {
    const parts = this.message?.parts ?? [...this.#artifacts.values()].flat();
    const text = parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])).join('');
    const data = dataOf(parts);
    const files = parts.flatMap(({ content, filename, mediaType }) =>
      content?.$case === 'url' || content?.$case === 'raw'
        ? [{ name: filename, mediaType, ...(content.$case === 'url' && { url: content.value }) }]
        : [],
    );
    if (data === undefined && files.length === 0) return text || this.statusText;
    return { ...(text !== '' && { text }), ...(data !== undefined && { data }), ...(files.length > 0 && { files }) };
  }
}

function dataOf(parts: readonly Part[]): Json | undefined {
  const found = parts.flatMap(({ content }) => (content?.$case === 'data' ? [content.value as unknown] : []));
  if (found.length === 0) return undefined;
  const plain = JSON.parse(JSON.stringify(found.length === 1 ? found[0] : found)) as Json;
  return isPlainObject(plain) || plain !== null ? plain : undefined;
}
