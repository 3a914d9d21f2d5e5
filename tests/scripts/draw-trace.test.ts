import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { drawTrace, type JaegerTrace } from '../../scripts/draw-trace.ts';

type Span = JaegerTrace['spans'][number];

function span(
  spanID: string,
  operationName: string,
  startTime: number,
  duration: number,
  more: Partial<Span> = {},
): Span {
  return {
    spanID,
    traceID: 't',
    processID: 'p1',
    operationName,
    references: [],
    startTime,
    duration,
    tags: [],
    logs: [],
    ...more,
  };
}
const below = (spanID: string) => ({ references: [{ refType: 'CHILD_OF', traceID: 't', spanID }] });

const trace: JaegerTrace = {
  traceID: '0123456789abcdef',
  spans: [
    span('c', 'chat <b>"x"</b>', 1_500, 200, { ...below('b'), tags: [{ key: 'error', value: true }], processID: 'p2' }),
    span('b', 'invoke_agent worker', 1_200, 1_000, { ...below('a'), logs: [{ timestamp: 1_250 }], processID: 'p2' }),
    span('a', 'invoke_workflow lead', 1_000, 2_000),
    span('d', 'chat gpt-5', 2_500, 100, below('a')),
  ],
  processes: { p1: { serviceName: 'team' }, p2: { serviceName: 'team.worker' } },
};

test('a trace is drawn as the tree it is, in the order in which its spans began', () => {
  const drawn = drawTrace(trace);
  const names = [...drawn.matchAll(/<text x="(\d+)" y="\d+" fill="#222">([^<]*)<\/text>/g)];
  expect(names.map(([, x, name]) => [name?.split(' ')[0], Number(x)])).toEqual([
    ['invoke_workflow', 21],
    ['invoke_agent', 35],
    ['chat', 60],
    ['chat', 35],
  ]);
  expect(drawn).toContain('<title>team: invoke_workflow lead: 4 spans, 2 services, 1 errors, 2.0 ms</title>');
  // What a span is called is text and nothing else.
  expect(drawn).toContain('chat &#60;b&#62;&#34;x&#34;&#60;/b&#62;');
});

test('the picture of the documentation is one', () => {
  const picture = readFileSync(new URL('../../docs/images/research-team.svg', import.meta.url), 'utf8');
  expect(picture).toMatch(/^<svg /);
  for (const agent of ['lead', 'reader', 'indexer', 'doubter', 'checker'])
    expect(picture).toContain(`>invoke_agent ${agent}<`);
});
