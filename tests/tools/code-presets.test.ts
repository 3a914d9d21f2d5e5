import { ConfigurationError } from 'coxswain';
import type { CommandParameter, CommandPreset } from 'coxswain/tools';
import { describe, expect, test } from 'vitest';
import { checkPreset } from '../../src/tools/commands/preset.ts';

const PARAMETERS: { readonly [letter: string]: CommandParameter } = {
  T: { param: 't', type: 'text' },
  D: { param: 'd', type: 'text', dash: true },
  P: { param: 'p', type: 'path' },
  N: { param: 'n', type: 'int', min: 1, max: 9 },
  C: { param: 'c', type: 'choice', of: ['one', 'two'] },
};

/** A line as presets in short: `<T>` is a text of the model's, `--x=<T>` one with a prefix. */
function preset(line: string): CommandPreset {
  const [file = '', ...words] = line.split(' ');
  return {
    file,
    args: words.map((word) => {
      const [, prefix, letter] = /^(.*)<([TDPNC])>$/.exec(word) ?? [];
      const parameter = letter === undefined ? undefined : PARAMETERS[letter];
      return parameter === undefined ? word : { ...parameter, ...(prefix ? { prefix } : {}) };
    }),
  };
}

/** Programs and options that take the text of the model for code. */
const CODE = [
  ...[
    'awk <T> a.txt',
    'awk -F , <T>',
    'gawk --source <T>',
    'gawk -f <P>',
    'mawk -- <T>',
    'awk <P>',
    'gawk -i <T> x',
    'awk BEGIN{<T>',
  ],
  ...[
    'sed <T> a.txt',
    'sed -n <T>',
    'sed -e <T> a.txt',
    'sed p a.txt -e <T>',
    'sed --expression=<T>',
    'sed p <D>',
    'sed -f <P>',
    'sed s/a/<T>',
  ],
  ...[
    'sh -c <T>',
    'sh run.sh <T>',
    'bash --rcfile <T>',
    'bash --rcfile <P>',
    'bash --init-file <P>',
    'bash <P>',
    'fish -c <T>',
    'zsh <T>',
  ],
  ...[
    'node <T>',
    'node <P>',
    'node -e <T>',
    'node --eval=<T>',
    'node -pe <T>',
    'node --import <T>',
    'node --import=<P>',
    'node --require <P>',
  ],
  ...[
    'node --experimental-loader <T>',
    'node --test <T>',
    'deno eval <T>',
    'deno run <T>',
    'bun run <T>',
    'bun -e <T>',
    'npm exec <T>',
    'go run <P>',
  ],
  ...[
    'python3.12 -c <T>',
    'python -m <T>',
    'python3 <P>',
    'perl -ne <T>',
    'perl -MX=<T>',
    'perl -M <T>',
    'ruby -r <T>',
    'php -r <T>',
    'lua <T>',
  ],
  ...[
    'java -jar <P>',
    'java -cp <P>',
    'Rscript -e <T>',
    'julia -e <T>',
    'osascript -e <T>',
    'uv run <T>',
    'pnpm dlx <T>',
    'npx <T>',
  ],
  ...[
    'make <T>',
    'make -f <P>',
    'm4 <T>',
    'vim -c <T>',
    'sqlite3 a.db <T>',
    'psql -c <T>',
    'ssh host <T>',
    'watch <T>',
    'docker run x <T>',
  ],
  ...[
    'tar -I <T>',
    'tar --to-command=<T>',
    'tar --checkpoint-action=exec=<T>',
    'rsync -e <T>',
    'sort --compress-program=<T>',
    'fd -x <T>',
  ],
  ...[
    'rg --pre <T>',
    'find . -exec <T> ;',
    'find . -name x -execdir sh -c <T> ;',
    'find . -ok awk <T> ;',
    'find . <D>',
  ],
];

/** What the developer wrote whole, and texts that are data. */
const DATA = [
  ...[
    'awk {print} <P>',
    'awk -F <T> {print} <P>',
    'awk -v x=<T> {print}',
    'awk -f count.awk <T>',
    'gawk -e {print} <P>',
    'sed -n 1,5p <P>',
  ],
  ...[
    'sed -e p <T>',
    'sed -i.bak p <P>',
    'sed -ne p <P>',
    'sh run.sh <P> <N> <C>',
    'bash -c ls <P>',
    'node build.mjs <T>',
    'node --test <P>',
  ],
  ...[
    'node build.mjs -m <T>',
    'node -e 1 -- <T>',
    'python -m pytest <T>',
    'python3 run.py <P>',
    'npm run <C>',
    'perl -ne print <P>',
  ],
  ...[
    'make <C>',
    'sqlite3 <P> .tables',
    'grep -rn -e <D> .',
    'rg <T>',
    'tar -tf <P>',
    'find . -name <T>',
    'find <P> -exec wc -l {} ;',
  ],
  ...[
    'timeout <N> grep <T>',
    'nice -n <N> node build.mjs <T>',
    'env -u X CI=1 grep <T> a',
    'timeout -k 1 5 sed p <P>',
    'xargs -n 1 echo <T>',
  ],
  ...['nohup echo <T>', 'my-own-runner <T>', 'curl -o <P> https://example.org'],
];

/** `env -S` splits a fixed line, and what follows belongs to it. */
const SPLIT = ['env -S', 'env -vS', 'env --split-string'];

const refusal = (line: string) => () => checkPreset('commandTool.presets.any', preset(line));

describe('a preset', () => {
  test.each(CODE)('that would run the text of the model is refused: %s', (line) => {
    expect(refusal(line)).toThrow(ConfigurationError);
    expect(refusal(line)).toThrow(
      /commandTool\.presets\.any\.args\[\d+\]: .*(as code|would start what the model names)/,
    );
  });

  test.each(DATA)('whose code is the developer’s is taken: %s', (line) => {
    expect(refusal(line)).not.toThrow();
  });

  test.each(SPLIT)('behind a line that %s splits is judged as it is alone', (option) => {
    const [, flag = ''] = option.split(' ');
    const behind = (line: string, args: CommandPreset['args']) => () =>
      checkPreset('commandTool.presets.any', { file: 'env', args: [flag, line, ...(args ?? [])] });
    const text = { param: 't', type: 'text' } as const;
    expect(behind('sh -c', [text])).toThrow(/as code/);
    expect(behind('A=1 timeout 5 node -e', [text])).toThrow(/as code/);
    expect(behind('-i', [text])).toThrow(/would start/);
    expect(behind('node build.mjs', [text])).not.toThrow();
  });

  const wrappers = [
    ...[
      'timeout 5',
      'timeout -k 1 --foreground 5',
      'env',
      'env -i A=1 -u B',
      'nice',
      'nice -n 5',
      'nohup',
      'setsid -w',
      'stdbuf -o L',
      'time -p',
    ],
    ...[
      'sudo -u x',
      'doas',
      'chroot /x',
      'taskset 1',
      'flock file',
      'xargs -n 1',
      'xargs -I {}',
      'busybox',
      'strace -o x',
      'ionice -c 2',
      'gosu x',
      'tini --',
      'cross-env A=1',
    ],
    ...['find . -exec', 'find . -type f -execdir', 'env timeout 5 nice', '/usr/bin/timeout 5', 'unshare -r'],
  ];

  test.each(wrappers)('behind %s is judged as it is alone', (wrapper) => {
    for (const line of CODE) expect(refusal(`${wrapper} ${line}`), line).toThrow(ConfigurationError);
    for (const line of DATA) expect(refusal(`${wrapper} ${line}`), line).not.toThrow();
    for (const letter of ['T', 'D', 'P'])
      expect(refusal(`${wrapper} <${letter}>`)).toThrow(/would start what the model names|would run/);
    expect(refusal(`${wrapper} git log`)).toThrow(/Write git as the file of the preset/);
  });

  test.each(['env -S <T>', 'env --split-string=<T>', 'flock f -c <T>', 'timeout <T> ls'])(
    '%s is judged by its options',
    (line) => {
      if (line === 'timeout <T> ls') expect(refusal(line)).not.toThrow();
      else expect(refusal(line)).toThrow(/would start what the model names/);
    },
  );
});
