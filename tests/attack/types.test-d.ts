import { type Agent, callAgent, defineAgent, runAgent, startRun, toTool } from 'coxswain';
import { it } from 'vitest';

const plain = defineAgent({ name: 'plain', instructions: 'Answer.' });
const wired = defineAgent({ name: 'wired', instructions: ({ deps }: { deps: { url: string } }) => deps.url } as never);

it('runs what a list of agents holds, with or without options', () => {
  const agents: Agent[] = [plain, wired as Agent];
  for (const agent of agents) {
    void (() => runAgent(agent, 'go'));
    void (() => startRun(agent, { task: 'go' }, { deps: { url: 'x' } }));
    void (() => callAgent(agent, 'go'));
    void (() => toTool(agent));
    void defineAgent({ name: 'flow', run: (_, ctx) => ctx.call(agent, 'go') });
  }
});

it('still asks for the input and the deps that are known', () => {
  const needy = plain as unknown as Agent<string, string, { url: string }>;
  // @ts-expect-error a number is no input
  void (() => runAgent(plain, 5));
  // @ts-expect-error deps are missing
  void (() => runAgent(needy, 'go'));
  // @ts-expect-error deps of another kind
  void (() => runAgent(needy, 'go', { deps: { url: 5 } }));
  void (() => runAgent(needy, 'go', { deps: { url: 'x' } }));
});
