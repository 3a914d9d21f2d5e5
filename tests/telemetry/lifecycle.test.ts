import { defineAgent, defineSupervisor, defineTool, delegate, type Message, type Model } from 'coxswain';
import { longTermMemory } from 'coxswain/memory';
import { scriptedModel } from 'coxswain/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { asksForSummary, reading } from '../support/reading.ts';
import { results, text, turn } from '../support/turns.ts';
import { attributesOf, type WireSpan } from './receiver.ts';
import { shape, sorted, threeWays, told } from './three-ways.ts';

const { compare } = threeWays();

const note = defineTool({ name: 'note', description: 'Notes', input: {}, access: 'read', execute: () => 'noted' });
const ada = defineAgent({ name: 'ada', description: 'a', instructions: 'You are ada.', tools: [note] });
const bob = defineAgent({ name: 'bob', description: 'b', instructions: 'You are bob.' });
const turnsOf = (messages: readonly Message[]) => messages.filter(({ role }) => role === 'assistant').length;

type Turn = ReturnType<typeof text>;

/** Each agent goes through its turns; what is asked of it beside them it answers. */
function script(turns: {
  readonly [agent: string]: readonly (Turn | ((messages: readonly Message[]) => Turn))[];
}): Model {
  return scriptedModel(({ messages, toolChoice }, { agent = '' }) => {
    if (toolChoice === 'none') return text('The museum.');
    const next = turns[agent]?.[turnsOf(messages)] ?? text(`${agent}: done`);
    return typeof next === 'function' ? next(messages) : next;
  });
}

/** Names from the outermost span to each, with what is asked of it. */
function lines(spans: readonly WireSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const line = (span: WireSpan): string => {
    const parent = span.parentSpanId === undefined ? undefined : byId.get(span.parentSpanId);
    return parent === undefined ? span.name : `${line(parent)} > ${span.name}`;
  };
  return spans.map(line).sort();
}

function checkTimes(spans: readonly WireSpan[]): void {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  for (const span of spans) {
    const parent = byId.get(span.parentSpanId ?? '');
    if (parent === undefined) continue;
    expect(BigInt(span.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(parent.startTimeUnixNano));
    expect(BigInt(span.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(parent.endTimeUnixNano));
  }
}

describe('the spans of a run whose workers do more than take a brief', () => {
  it('have a background worker below its supervisor, also from the journal and the log', async () => {
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'You are lead.',
      workers: [ada, bob],
      background: true,
    });
    const begin = turn(
      ['start_worker', { worker: 'ada', brief: 'a' }],
      ['start_worker', { worker: 'bob', brief: 'b' }],
    );
    const model = script({ lead: [begin, turn(['wait_for_workers'])], ada: [turn(['note'])] });
    const { result, live, fromJournal, fromLog } = await compare(lead, { model });
    expect(result.status).toBe('completed');
    expect(lines(live)).toContain('invoke_workflow lead > invoke_agent lead > invoke_agent ada > execute_tool note');
    const worker = live.find(({ name }) => name === 'invoke_agent bob') as WireSpan;
    expect(attributesOf(worker)).toMatchObject({ 'coxswain.path': 'lead/1.1/bob', 'coxswain.parent_step': 1 });
    checkTimes(live);
    expect(sorted(fromJournal)).toEqual(sorted(live));
    expect(shape(fromLog)).toEqual(shape(live));
    expect(told(fromLog)).toEqual(told(live));
  });

  it('have an answer beside the transcript below the call that asked for it', async () => {
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'You are lead.',
      workers: [delegate(ada, { ask: 'supervisor' })],
    });
    const asks = turn(['ask_supervisor', { question: 'The company or the museum?' }]);
    const model = script({ lead: [turn(['delegate_ada', { task: 'When?' }])], ada: [asks] });
    const { live, fromJournal, fromLog } = await compare(lead, { model });
    const beside = 'invoke_agent ada > execute_tool ask_supervisor > chat scripted';
    expect(lines(live)).toContain(`invoke_workflow lead > invoke_agent lead > execute_tool delegate_ada > ${beside}`);
    checkTimes(live);
    expect(sorted(fromJournal)).toEqual(sorted(live));
    expect(shape(fromLog)).toEqual(shape(live));
    expect(told(fromLog)).toEqual(told(live));
  });

  it('have a follow-up below the call that continued the worker', async () => {
    const lead = defineSupervisor({
      name: 'lead',
      instructions: 'You are lead.',
      workers: [ada],
      continueWorkers: true,
    });
    const goOn = (messages: readonly Message[]) => {
      expect(results(messages).at(-1)?.text).toContain('(worker 1.0/ada)');
      return turn(['continue_worker', { id: '1.0/ada', message: 'And who drew it?' }]);
    };
    const model = script({ lead: [turn(['delegate_ada', { task: 'Who?' }]), goOn] });
    const { live, fromJournal, fromLog } = await compare(lead, { model });
    expect(lines(live)).toContain(
      'invoke_workflow lead > invoke_agent lead > execute_tool continue_worker > invoke_agent ada > chat scripted',
    );
    checkTimes(live);
    expect(sorted(fromJournal)).toEqual(sorted(live));
    expect(shape(fromLog)).toEqual(shape(live));
    expect(told(fromLog)).toEqual(told(live));
  });

  it('have who took a conversation over below who handed it over', async () => {
    const desk = defineSupervisor({
      name: 'desk',
      instructions: 'You are desk.',
      workers: [delegate(ada, { handoff: true }), bob],
    });
    const hand = turn(['handoff_to_ada', { message: 'Charged twice.' }], ['delegate_bob', { task: 'orders' }]);
    const model = script({ desk: [hand], ada: [text('none'), turn(['note'])] });
    const { result, live, fromJournal, fromLog } = await compare(desk, { model });
    expect(result.text).toBe('ada: done');
    expect(lines(live)).toContain('invoke_workflow desk > invoke_agent desk > invoke_agent ada > execute_tool note');
    checkTimes(live);
    expect(sorted(fromJournal)).toEqual(sorted(live));
    expect(shape(fromLog)).toEqual(shape(live));
    expect(told(fromLog)).toEqual(told(live));
  });

  it('have the workers of a fan-out below its call', async () => {
    const lead = defineSupervisor({ name: 'lead', instructions: 'You are lead.', workers: [ada], fanOutTool: true });
    const items = { worker: 'ada', briefs: ['x', 'y', 'z'] };
    const model = script({ lead: [turn(['fan_out', items])] });
    const { live, fromJournal, fromLog } = await compare(lead, { model });
    expect(lines(live).filter((line) => line.endsWith('execute_tool fan_out > invoke_agent ada'))).toHaveLength(3);
    checkTimes(live);
    expect(sorted(fromJournal)).toEqual(sorted(live));
    expect(shape(fromLog)).toEqual(shape(live));
    expect(told(fromLog)).toEqual(told(live));
  });

  it('have letters of workers, and what reaches a supervisor as it goes on', async () => {
    const lead = defineSupervisor({ name: 'lead', instructions: 'You are lead.', workers: [ada, bob], mailbox: true });
    const both = turn(['delegate_ada', { task: 'a' }], ['delegate_bob', { task: 'b' }]);
    const write = turn(['send_message', { to: 'supervisor', text: 'The brief is wrong.' }]);
    const model = script({ lead: [both], ada: [write] });
    const { live, fromJournal, fromLog } = await compare(lead, { model });
    expect(lines(live).some((line) => line.endsWith('execute_tool send_message'))).toBe(true);
    const arrived = live
      .flatMap(({ name, events = [] }) => events.map((event) => ({ on: name, ...event })))
      .filter(({ name }) => name === 'coxswain.message.arrived');
    expect(arrived.map((event) => [event.on, attributesOf(event)])).toEqual([
      ['invoke_agent lead', { 'coxswain.message.from': ['ada'] }],
    ]);
    checkTimes(live);
    expect(sorted(fromJournal)).toEqual(sorted(live));
    expect(shape(fromLog)).toEqual(shape(live));
    expect(told(fromLog)).toEqual(told(live));
  });

  it('have what a memory’s model picks below the search', async () => {
    const notes = longTermMemory({ file: ':memory:' });
    onTestFinished(() => notes.close());
    for (const city of ['Porto', 'Lyon', 'Graz'])
      await notes.add({ namespace: 'team', text: `A note on ${city}`, source: city });
    const reader = defineAgent({
      name: 'reader',
      instructions: 'You are reader.',
      memory: [{ store: notes, namespace: 'team', select: { model: scriptedModel([]) } }],
    });
    const search = turn(['memory_search', { query: 'note', topK: 1 }]);
    const model = scriptedModel(({ messages }, { agent }) => {
      if (agent === 'memory_select') return text(JSON.stringify({ pick: [1] }));
      return turnsOf(messages) === 0 ? search : text('read');
    });
    const { result, live, fromJournal, fromLog } = await compare(reader, { model });
    expect(result.status).toBe('completed');
    expect(lines(live)).toContain(
      'invoke_agent reader > execute_tool memory_search > invoke_agent memory_select > chat scripted',
    );
    checkTimes(live);
    expect(sorted(fromJournal)).toEqual(sorted(live));
    expect(shape(fromLog)).toEqual(shape(live));
    expect(told(fromLog)).toEqual(told(live));
  });

  it('have the summaries of an agent below it', async () => {
    const { agent, model } = reading({ compact: 'summarize' });
    const { live, fromJournal, fromLog } = await compare(agent, { model });
    const summaries = model.requests.filter(asksForSummary);
    expect(summaries.length).toBeGreaterThan(0);
    expect(live.filter(({ name }) => name.startsWith('chat ')).length).toBe(model.requests.length);
    const events = live.flatMap(({ events = [] }) => events.map(({ name }) => name));
    expect(events).toContain('coxswain.context.compact');
    checkTimes(live);
    expect(sorted(fromJournal)).toEqual(sorted(live));
    expect(shape(fromLog)).toEqual(shape(live));
    expect(told(fromLog)).toEqual(told(live));
  });
});
