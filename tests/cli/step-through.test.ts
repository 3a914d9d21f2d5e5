import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { stepThrough } from '../../src/cli/commands/replay-command.ts';
import { shellLine } from '../../src/cli/visible.ts';

async function typed(text: string): Promise<{ shown: number; out: string }> {
  const input = new PassThrough();
  const output = new PassThrough();
  input.end(text);
  const shown = await stepThrough(['one', 'two', 'three'], { input, output });
  return { shown, out: String(output.read()) };
}

test('Enter shows the next frame, until there is none', async () => {
  expect(await typed('\n\n\n')).toEqual({ shown: 3, out: '[1/3] one [2/3] two [3/3] three\n' });
});

test('q and the end of the input end it', async () => {
  expect(await typed('\nq\n')).toEqual({ shown: 2, out: '[1/3] one [2/3] two ' });
  expect((await typed('')).shown).toBe(1);
});

test('words are quoted for a shell where they must be', () => {
  expect(shellLine(['cox', 'run', "it's", 'a b', 'lead/1.0/@approval', '$HOME', ''])).toBe(
    "cox run 'it'\\''s' 'a b' lead/1.0/@approval '$HOME' ''",
  );
  expect(shellLine(['a\u001bb'])).toBe("'a\\u001bb'");
});
