import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What a program prints, in a process that writes down each package it loads and that lacks one of them. */
async function play(program: string, missing = ''): Promise<{ packages: string[]; printed: string }> {
  const code = `
    import { registerHooks } from 'node:module';
    const packages = new Set();
    registerHooks({
      resolve(specifier, context, next) {
        if (${JSON.stringify(missing)} !== '' && specifier.startsWith(${JSON.stringify(missing)}))
          throw Object.assign(new Error("Cannot find package '${missing}' imported from here"), { code: 'ERR_MODULE_NOT_FOUND' });
        const found = next(specifier, context);
        const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(found.url)?.[1];
        if (name !== undefined) packages.add(name);
        return found;
      },
    });
    const print = (text) => console.log(text);
    ${program}
    console.log(JSON.stringify([...packages].sort()));
  `;
  const args = ['--conditions=@coxswain/source', '--input-type=module', '-e', code];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  const lines = stdout.trim().split('\n');
  return { packages: JSON.parse(lines.pop() ?? '') as string[], printed: lines.join('\n') };
}

test('the root of the package loads no SDK, no schema library and no parser', async () => {
  const { packages } = await play("await import('coxswain');");
  expect(packages).toEqual(['eventemitter3', 'p-limit', 'yocto-queue']);
});

test('a UI message stream and a tool of the AI SDK need none of its code', async () => {
  const { packages } = await play("await import('coxswain/ai-sdk');");
  expect(packages).not.toContain('ai');
});

test.each([
  ['@openai/agents', 'openai-agents', 'toOpenAIAgentsTool'],
  ['@langchain/core', 'langchain', 'toLangChainTool'],
])('without %s its entry loads, and the first tool says what to install', async (missing, entry, name) => {
  const program = `
    const { defineAgent } = await import('coxswain');
    const { ${name} } = await import('coxswain/${entry}');
    const agent = defineAgent({ name: 'a', description: 'Answers.', instructions: 'Answer.' });
    try { ${name}(agent); } catch (error) { print(error.name + ': ' + error.message); }`;
  const { printed } = await play(program, missing);
  expect(printed).toBe(`ConfigurationError: ${missing}: the package is not installed. Run npm install ${missing}.`);
});
