import { AbstractChat, type ChatState, type ChatTransport } from 'ai';
import type { UiRunMessage } from 'coxswain/ai-sdk';
import { z } from 'zod';

class State implements ChatState<UiRunMessage> {
  status: ChatState<UiRunMessage>['status'] = 'ready';
  error: Error | undefined;
  messages: UiRunMessage[] = [];
  pushMessage = (message: UiRunMessage) => {
    this.messages = [...this.messages, message];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UiRunMessage) => {
    this.messages = this.messages.with(index, message);
  };
  snapshot = <T>(thing: T): T => structuredClone(thing);
}

/** The forms of the data parts, as a page would give them to `useChat`. */
export const dataPartSchemas = {
  progress: z.strictObject({ path: z.string(), agent: z.string(), text: z.string() }),
  approval: z.strictObject({
    request: z.looseObject({ id: z.string(), agent: z.string() }),
    decision: z.enum(['allow', 'deny', 'happened', 'retry', 'failed', 'answer']).optional(),
  }),
  usage: z.strictObject({
    runId: z.string(),
    status: z.string(),
    usage: z.looseObject({ inputTokens: z.number() }),
    costUsd: z.number().optional(),
  }),
};

/** What `useChat` is without React: the AI SDK's own chat, which checks each chunk and each data part. */
export class Chat extends AbstractChat<UiRunMessage> {
  constructor(transport: ChatTransport<UiRunMessage>, id = 'chat-1') {
    // Its types want the exact data of each part; the schemas here know them loosely.
    super({ id, transport, state: new State(), dataPartSchemas: dataPartSchemas as never });
  }
}
