import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { printedLines } from '../support/printed-lines.ts';

const lines = printedLines();

test('ai-sdk: a model of the AI SDK calls a worker, and its code has what it spent', async () => {
  await import('../../examples/reuse/ai-sdk.ts');
  expect(lines).toEqual(['sounder calls depth', 'You can pass the bar.', 'Yes: 4.2 m at the bar. (210 tokens in)']);
});

test('chat: a page shows a run of the server', async () => {
  await import('../../examples/reuse/chat.ts');
  expect(lines).toEqual([
    '(sounder ended: completed)',
    '(sounder calls depth)',
    'Yes: 4.2 m at the bar.',
    'completed: 210 tokens in',
  ]);
});

test('openai-agents: a person approves the worker, and its usage is counted there', async () => {
  await import('../../examples/reuse/openai-agents.ts');
  expect(lines).toEqual([
    'approved: sounder {"mark":"bar","draught":1.8}',
    'You can pass the bar.',
    "4 requests, 290 tokens in, the worker's with them",
  ]);
});

test('langchain: a worker goes out, and a tool comes in', async () => {
  await import('../../examples/reuse/langchain.ts');
  expect(lines).toEqual(['Yes: 4.2 m at the bar. (210 tokens in)', 'At ten past two. completed']);
});

test('mcp-serve: a worker is a tool of an MCP client, which is told who does what', async () => {
  await import('../../examples/reuse/mcp-serve.ts');
  expect(lines).toEqual([
    'sounder: Says whether a boat can pass a mark',
    'sounder starts',
    'sounder calls depth',
    'sounder ended: completed',
    'Yes: 4.2 m at the bar.',
    '{"inputTokens":210,"outputTokens":21,"modelCalls":2,"modelCallsWithUsage":2}',
  ]);
});

test('mcp-tools: a server is taken in, and may do what the code lets it', async () => {
  await import('../../examples/reuse/mcp-tools.ts');
  expect(lines).toEqual([
    'tides_high_water: Bar: 14:10 [untrusted]',
    expect.stringMatching(/^tides_set_buoy: tides_set_buoy was denied: .*\[untrusted\]$/),
    'High water is at ten past two. I was not allowed to set a buoy.',
  ]);
});

test('skills: a clerk reads how letters are written, and the file that the skill names', async () => {
  await import('../../examples/skills/clerk.ts');
  expect(lines).toEqual([
    'read_skill {"name":"writing-letters"}: # Writing letters',
    expect.stringMatching(/^read_skill .*closings\.md"}: To customers: "Fair winds"/),
    'Dear Ms Rook, the rope leaves on Friday. Fair winds',
  ]);
});

test.each(['ai-sdk', 'openai-agents', 'langchain', 'sounder', 'mcp-serve', 'mcp-tools', 'tides-server'])(
  '%s is under 50 lines',
  (name) => {
    const text = readFileSync(new URL(`../../examples/reuse/${name}.ts`, import.meta.url), 'utf8');
    expect(text.trimEnd().split('\n').length).toBeLessThan(50);
  },
);

test('http: a worker is served, watched over a broken line, and a tool of another team', async () => {
  await import('../../examples/reuse/http.ts');
  expect(lines).toEqual([
    ...['run.start', 'agent.start', '… disconnected …', 'tool.start', 'tool.end', 'agent.end', 'run.end'],
    ...['Yes: 4.2 m at the bar.', 'Aye: the service says yes.'],
  ]);
});

test('a2a: a worker answers another agent, which sees it at work', async () => {
  await import('../../examples/reuse/a2a.ts');
  expect(lines).toEqual([
    'progress: the agent used 60 tokens in, 11 out',
    'pilot: Keep the church tower over the mole.',
    'We keep the tower over the mole.',
  ]);
});
