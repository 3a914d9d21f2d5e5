import type { Message } from '../core/values/message.ts';

/** Where a transcript cannot be sent, and why. `index` is that of the message to mend. */
export interface TranscriptProblem {
  readonly index: number;
  readonly problem: string;
}

/**
 * Checks what providers ask of a transcript: it starts with a user message, and each tool call is answered exactly once, by
 * tool messages directly after its turn. Equal call ids within one turn are counted: two calls, two results.
 */
export function checkTranscript(messages: readonly Message[]): TranscriptProblem | undefined {
  if (messages[0]?.role !== 'user') return { index: 0, problem: 'a transcript starts with a user message' };
  /** Calls of the latest turn without a result, in call order from `next` on. */
  let open: string[] = [];
  let next = 0;
  let turn = 0;
  for (let index = 1; index < messages.length; index++) {
    const message = messages[index];
    if (message === undefined) continue;
    if (message.role === 'tool') {
      if (open[next] !== message.callId) {
        const callIndex = open.indexOf(message.callId, next);
        if (callIndex < 0) return { index, problem: orphan(message.callId) };
        open[callIndex] = open[next] ?? '';
      }
      next++;
      continue;
    }
    if (next < open.length) return { index: turn, problem: unanswered(open[next]) };
    if (message.role === 'user') continue;
    turn = index;
    if (open.length > 0) open = [];
    next = 0;
    const { content } = message;
    for (let part = 0; part < content.length; part++) {
      const call = content[part];
      if (call?.type === 'tool_call') open.push(call.id);
    }
  }
  return next < open.length ? { index: turn, problem: unanswered(open[next]) } : undefined;
}

function orphan(callId: string): string {
  return `the result of call ${JSON.stringify(callId)} answers no open call of the turn before it`;
}

function unanswered(callId: string | undefined): string {
  return `call ${JSON.stringify(callId)} has no result directly after its turn`;
}
