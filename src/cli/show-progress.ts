import { styleText } from 'node:util';
import type { RunRecord, View } from '../core/contract/record.ts';
import { textOf } from '../core/values/message.ts';
import type { Run } from '../orchestration/run/run-handle.ts';
import { type ProgressLine, progressLine, type Seen, SHOWN } from './progress-lines.ts';

const STYLE = { plain: undefined, quiet: 'dim', good: 'green', bad: 'red', ask: 'yellow' } as const;

/** Remembers what lines need beside events; one small entry for each invocation and delegate call that is open. */
export function briefs(): View & Seen {
  const known = new Map<string, string>();
  const delegates = new Set<string>();
  const view = (record: RunRecord) => {
    if (record.kind === 'agent') {
      if (record.event === 'started') known.set(record.node.path, textOf(record.request.brief.at(-1)?.content ?? ''));
      else known.delete(record.node.path);
    } else if (record.kind === 'tool' && record.event === 'started' && record.request.delegate !== undefined) {
      delegates.add(record.key);
    }
  };
  return Object.assign(view, {
    brief: (path: string) => known.get(path),
    isDelegate: (key: string) => delegates.has(key),
  });
}

/** Writes a run's progress to stderr, a line each. Coloured where the stream and `NO_COLOR` let it be. */
export function showProgress(run: Run, seen: Seen, stream: NodeJS.WriteStream = process.stderr): void {
  for (const type of SHOWN) {
    run.on(type, (event) => {
      const line = progressLine(event, seen);
      if (line !== undefined) stream.write(`${styled(line, stream)}\n`);
    });
  }
}

function styled({ path, text, tone }: ProgressLine, stream: NodeJS.WriteStream): string {
  const style = STYLE[tone];
  return `${styleText('bold', path, { stream })}  ${style === undefined ? text : styleText(style, text, { stream })}`;
}
