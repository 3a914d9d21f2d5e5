import { describe, expect, test } from 'vitest';
import { vectorsOf } from '../../src/models/openai/embedder.ts';
import { openaiEmbedder } from '../../src/models/openai/index.ts';
import { play } from './play.ts';

const item = (index: number | undefined, ...embedding: unknown[]) => ({ index, embedding });

test('an embedder gives the vectors in the order of the texts', async () => {
  const server = await play({ body: { data: [item(1, 0, 1), item(0, 1, 0.5)] } });
  const embedder = openaiEmbedder('nomic', { dimensions: 2, baseURL: `${server.url}/v1/` });
  const { port } = new URL(server.url);
  expect(embedder).toMatchObject({ id: 'openai/nomic/2', dimensions: 2, gate: `openai@127.0.0.1:${port}` });
  expect(await embedder.embed(['a', 'b'])).toEqual([Float32Array.of(1, 0.5), Float32Array.of(0, 1)]);
  expect(server.requests).toMatchObject([
    { path: '/v1/embeddings', body: { model: 'nomic', input: ['a', 'b'], encoding_format: 'float' } },
  ]);
  expect(server.requests[0]?.body).not.toHaveProperty('dimensions');
  expect(await embedder.embed([])).toEqual([]);
});

describe('vectors are refused', () => {
  test.each<[string, unknown]>([
    ['when one is missing', { data: [item(0, 1, 2)] }],
    ['when one comes twice', { data: [item(0, 1, 2), item(0, 1, 2)] }],
    ['when one belongs to no text', { data: [item(0, 1, 2), item(2, 1, 2)] }],
    ['when one is too short', { data: [item(0, 1, 2), item(1, 1)] }],
    ['when a number is none', { data: [item(0, 1, 2), item(1, 1, null)] }],
    ['when a number is too large for a vector', { data: [item(0, 1, 2), item(1, 1, 1e300)] }],
    ['when there are none', { error: 'x' }],
  ])('%s', (_, answer) => {
    expect(() => vectorsOf(answer, 2, 2)).toThrow(expect.objectContaining({ kind: 'malformed_response' }));
  });
});

test('an embedder fails like a model, and ends with its signal', async () => {
  const server = await play(
    { status: 429, headers: { 'retry-after': '2' }, body: { error: { message: 'slow' } } },
    { ends: 'hold' },
  );
  const embedder = openaiEmbedder('nomic', { dimensions: 2, baseURL: server.url });
  await expect(embedder.embed(['a'])).rejects.toMatchObject({ kind: 'rate_limit', retryAfterMs: 2000 });
  const controller = new AbortController();
  const embedded = embedder.embed(['a'], controller.signal);
  controller.abort('enough');
  await expect(embedded).rejects.toBe('enough');
});

test('openaiEmbedder() refuses what it does not know by name', () => {
  expect(() => openaiEmbedder('m', {} as never)).toThrow(/dimensions/);
  expect(() => openaiEmbedder('m', { dimensions: 2, stream: true } as never)).toThrow(/stream/);
});
