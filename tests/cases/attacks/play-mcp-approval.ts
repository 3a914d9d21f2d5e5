import { join } from 'node:path';
import { defineAgent, resumeRun, runAgent } from 'coxswain';
import { sqlite } from 'coxswain/sqlite';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { caseServer, type ServerTool } from './mcp-server.ts';
import type { ApprovalWords } from './play-approval.ts';
import { refusalOf, type Shown, showRun } from './shown.ts';

interface Config {
  readonly command?: string;
  readonly args?: readonly string[];
}

/** approval: a call of a server's tool waits; meanwhile the tool, or the way its server is started, becomes another. */
export async function playMcpApproval(words: ApprovalWords, folder: string): Promise<Shown> {
  const { mcpServer = 'server', tool = { name: 'run' }, thenTool, mcpServerConfig, thenConfig, approve = [] } = words;
  const server = caseServer(folder, mcpServer, [tool as ServerTool]);
  const name = `${mcpServer}_${tool.name}`;
  const caller = (config?: Config) =>
    defineAgent({ name: 'caller', instructions: 'Call.', tools: [server.source(config)] });
  const journal = sqlite(join(folder, 'runs.db'));
  try {
    const turns = [callTools(toolCall(name, {})), 'done'];
    await runAgent(caller(mcpServerConfig as Config), 'go', { model: scriptedModel(turns), journal, runId: 'r1' });
    if (thenTool !== undefined) server.change([thenTool as ServerTool]);
    const isAllowed = approve.some((id) => id === `${mcpServer}/${tool.name}` || id === mcpServer || id === 'server');
    const config = (thenConfig ?? mcpServerConfig) as Config;
    const shown = await showRun(caller(config), 'go', {
      ...{ model: scriptedModel(['done']), journal },
      approve: () => ({ decision: isAllowed ? 'allow' : 'deny' }),
      start: (_, options) => resumeRun(caller(config), 'r1', { ...options, journal } as never),
    });
    const outcome = shown.refusal !== undefined || shown.refusals?.length ? 'denied' : 'allowed';
    return { ...shown, outcome, handled: server.called() };
  } catch (thrown) {
    return { outcome: 'denied', refusal: refusalOf(thrown), handled: server.called() };
  } finally {
    journal.close();
  }
}
