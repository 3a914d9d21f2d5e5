import { defineAgent, runAgent } from 'coxswain';
import { otel } from 'coxswain/otel';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { collecting, only, treeFaults } from '../../telemetry/collecting.ts';
import { attributesOf } from '../../telemetry/receiver.ts';
import { logFile, notes } from './played.ts';

const collector = collecting();

describe('the span of a call to an MCP server', () => {
  it('says which server and tool it was, and goes on there', async () => {
    const log = logFile();
    const agent = defineAgent({ name: 'caller', instructions: 'Call.', tools: [notes({}, ['--log', log.path])] });
    const model = scriptedModel([callTools(toolCall('notes_search', { query: 'tea' })), 'done']);
    await runAgent(agent, 'go', { model, permissions: { mode: 'acceptAll' }, instrument: otel() });
    const spans = await collector.spans();
    expect(treeFaults(spans)).toEqual([]);
    const span = only(spans, 'execute_tool notes_search');
    expect(attributesOf(span)).toMatchObject({
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': '2026-07-28',
      'network.transport': 'pipe',
      'coxswain.mcp.server': 'notes',
      'coxswain.mcp.tool': 'search',
    });
    expect(log.lines().find((line) => line.startsWith('search'))).toContain(`"00-${span.traceId}-${span.spanId}-01"`);
  });
});
