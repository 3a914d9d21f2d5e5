import { styleText } from 'node:util';
import type { RunRecord, View } from '../core/contract/record.ts';
import { textOf } from '../core/values/message.ts';
import type { Run } from '../orchestration/run/run-handle.ts';
import { PROGRESS_EVENTS, type ProgressFacts, type ProgressLine, progressLine } from './progress-lines.ts';

const STYLE = { plain: undefined, quiet: 'dim', good: 'green', bad: 'red', ask: 'yellow' } as const;

/** Collects facts that lines need beside events: one small entry for each open invocation and delegate call. */
export function briefs(): View & ProgressFacts {
  const briefByPath = new Map<string, string>();
  const delegates = new Set<string>();
  const view = (record: RunRecord) => {
    if (record.kind === 'agent') {
      if (record.event === 'started')
        briefByPath.set(record.node.path, textOf(record.request.brief.at(-1)?.content ?? ''));
      else briefByPath.delete(record.node.path);
    } else if (record.kind === 'tool' && record.event === 'started' && record.request.delegate !== undefined) {
      delegates.add(record.key);
    }
  };
  return Object.assign(view, {
    brief: (path: string) => briefByPath.get(path),
    isDelegate: (key: string) => delegates.has(key),
  });
}

/** Writes a run's progress to stderr, a line each. Coloured if the stream and `NO_COLOR` allow it. */
export function showProgress(run: Run, facts: ProgressFacts, stream: NodeJS.WriteStream = process.stderr): void {
  for (const type of PROGRESS_EVENTS) {
    run.on(type, (event) => {
      const line = progressLine(event, facts);
      if (line !== undefined) stream.write(`${styled(line, stream)}\n`);
    });
  }
}

function styled({ path, text, tone }: ProgressLine, stream: NodeJS.WriteStream): string {
  const style = STYLE[tone];
  return `${styleText('bold', path, { stream })}  ${style === undefined ? text : styleText(style, text, { stream })}`;
}
