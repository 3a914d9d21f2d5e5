import { defineAgent, runAgent } from 'coxswain';
import { jsonlLog } from 'coxswain/log';
import { mcpTools } from 'coxswain/mcp';
import { otel } from 'coxswain/otel';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';
import { describe, expect, it } from 'vitest';
import { loggedRecords } from '../../../src/telemetry/log/logged-records.ts';
import { rebuildSpans } from '../../../src/telemetry/otel/rebuild-spans.ts';
import { loadTraceSdk } from '../../../src/telemetry/otel/sdk.ts';
import { collecting, only, treeFaults } from '../../telemetry/collecting.ts';
import { attributesOf } from '../../telemetry/receiver.ts';
import { callsOf, hostile, logFile, notes } from './played.ts';
import { answering, EVERY, researcher, serve } from './served.ts';

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

  it('fails as the conventions have it: by JSON-RPC’s code, or because the tool says that it failed', async () => {
    const log = logFile();
    const views = [jsonlLog(log.path, { content: 'none' })];
    const broken = hostile('refuses');
    await callsOf(
      [notes(), broken],
      [
        ['notes_fail', {}],
        ['h_read', {}],
      ],
      { instrument: otel(), views },
    );
    const spans = await collector.spans();
    expect(treeFaults(spans)).toEqual([]);
    const [run] = await loggedRecords(log.path);
    const sdk = await loadTraceSdk('test');
    const told = {
      sdk,
      serviceName: 'x',
      servicePerAgent: false,
      content: 'none',
      transfer: false,
      isLive: false,
    } as const;
    const again = new Map(rebuildSpans(run?.records ?? [], told).map(({ name, attributes }) => [name, attributes]));
    for (const [name, fault, code] of [
      ['execute_tool notes_fail', 'tool_error', undefined],
      ['execute_tool h_read', '-32000', '-32000'],
    ] as const) {
      const span = only(spans, name);
      expect(span.status).toEqual({ code: 2, message: fault });
      for (const attributes of [attributesOf(span), again.get(name)]) {
        expect(attributes?.['error.type']).toBe(fault);
        expect(attributes?.['rpc.response.status_code']).toBe(code);
      }
    }
    expect(collector.bodies.join() + log.lines().join()).not.toMatch(/canary-mcp|disk is full/);
  });

  it.each(EVERY)('holds the run that a server of %s does for it', async (protocol) => {
    const { url = '' } = await serve([researcher], { run: { ...answering('found'), instrument: otel() } });
    const remote = mcpTools({ name: 'remote', url, protocol });
    await callsOf([remote], [['remote_researcher', { task: 'tea' }]], { instrument: otel() });
    const spans = await collector.spans();
    expect(treeFaults(spans)).toEqual([]);
    const call = only(spans, 'execute_tool remote_researcher');
    expect(only(spans, 'invoke_agent researcher').parentSpanId).toBe(call.spanId);
    expect(attributesOf(call)).toMatchObject({
      'network.transport': 'tcp',
      'network.protocol.name': 'http',
      'server.address': new URL(url).hostname,
      'server.port': Number(new URL(url).port),
    });
  });
});
