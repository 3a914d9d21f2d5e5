import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Access } from '../../src/core/contract/access.ts';
import { compileSchema } from '../../src/core/schema/compile-schema.ts';
import { TRUSTED } from '../../src/core/values/label.ts';
import { type ApprovedTool, approvalRequest, argsHash, checkDecision } from '../../src/security/approval.ts';
import { parseRule } from '../../src/security/rules.ts';

const tool = (access: Access = 'write', more: Partial<ApprovedTool> = {}): ApprovedTool => ({
  name: 'save',
  access,
  risk: 'medium',
  hash: 'h1',
  ruleArg: 'path',
  input: compileSchema(z.object({ path: z.string(), n: z.number().optional() }), 'input'),
  ...more,
});
const request = (more: Partial<Parameters<typeof approvalRequest>[0]> = {}) =>
  approvalRequest({
    id: 'lead/1.0/@approval',
    runId: 'r1',
    path: 'lead',
    agent: 'lead',
    tool: tool(),
    args: { path: 'a.txt' },
    reason: 'risk',
    label: TRUSTED,
    ...more,
  });
const check = (answer: unknown, on = request(), by = tool(), now = 0) => checkDecision(answer, on, by, now);

test('a request is frozen, a copy, and bound to arguments and tool', () => {
  const args = { path: 'a.txt' };
  const made = request({ args, expiresAt: 0, rule: 'ask save' });
  args.path = 'b.txt';
  expect(made).toMatchObject({
    args: { path: 'a.txt' },
    toolHash: 'h1',
    expiresAt: '1970-01-01T00:00:00.000Z',
    rule: 'ask save',
  });
  expect(Object.isFrozen(made.args)).toBe(true);
  expect(made.argsHash).toBe(argsHash({ path: 'a.txt' }));
  expect(argsHash({ a: 1, b: 2 })).toBe(argsHash({ b: 2, a: 1 }));
  expect(argsHash({ d: new Date(0) })).not.toBe(argsHash({ d: new Date(1) }));
});

describe('an answer from outside', () => {
  test('allow runs what was shown, deny says why', () => {
    expect(check({ decision: 'allow' })).toEqual({
      verdict: 'allow',
      args: { path: 'a.txt' },
      argsHash: request().argsHash,
    });
    expect(check({ decision: 'deny', reason: 'no' })).toEqual({ verdict: 'deny', reason: 'no' });
  });
  test.each([
    [{ approved: 'false' }],
    [true],
    ['allow'],
    [null],
    [undefined],
    [{}],
    [{ decision: 'yes' }],
    [{ decision: 'constructor' }],
    [{ decision: 'allow', argz: {} }],
    [{ decision: 'allow', always: 'yes' }],
    [{ decision: 'answer', value: 1 }],
    [{ decision: 'happened' }],
    [{ decision: 'retry' }],
    [[{ decision: 'allow' }]],
    [Object.create({ decision: 'allow' })],
  ])('%j is a denial that says it is no decision', (answer) => {
    expect(check(answer)).toMatchObject({ verdict: 'deny', reason: /not a decision/ });
  });
  test('nothing but a decision to allow ever allows', () => {
    fc.assert(
      fc.property(fc.anything(), (answer) => {
        expect(check(answer).verdict).toBe('deny');
      }),
      { numRuns: 500 },
    );
  });
  test('it must fit the tool and the arguments that were shown, and be in time', () => {
    expect(check({ decision: 'allow' }, request(), tool('write', { hash: 'h2' }))).toMatchObject({
      reason: /definition changed/,
    });
    const forged = { ...request(), args: { path: 'b.txt' } };
    expect(check({ decision: 'allow' }, forged)).toMatchObject({
      verdict: 'deny',
      reason: /not the ones that were shown/,
    });
    const timed = request({ expiresAt: 1_000 });
    expect(check({ decision: 'allow' }, timed, tool(), 999).verdict).toBe('allow');
    expect(check({ decision: 'allow' }, timed, tool(), 1_000)).toMatchObject({ verdict: 'deny', reason: /too late/ });
  });
  test('changed arguments are validated and hashed anew', () => {
    expect(check({ decision: 'allow', args: { path: 'b.txt' } })).toEqual({
      verdict: 'allow',
      args: { path: 'b.txt' },
      argsHash: argsHash({ path: 'b.txt' }),
    });
    for (const args of [{ path: 5 }, { path: 'b', x: 1 }, 'b', { path: 'b', n: 2 ** 60 }]) {
      expect(check({ decision: 'allow', args }), JSON.stringify(args)).toMatchObject({
        verdict: 'deny',
        reason: /changed arguments/,
      });
    }
  });
  test('always writes a rule for this very value', () => {
    const verdict = check({ decision: 'allow', always: true });
    expect(verdict).toMatchObject({ verdict: 'allow', rule: 'allow save:a.txt' });
    expect(parseRule('allow save:a.txt').scope).toBeDefined();
  });
  test('always is refused without ruleArg, for values no rule can say, and for what acts outside', () => {
    const always = { decision: 'allow', always: true };
    expect(check(always, request(), { ...tool(), ruleArg: undefined })).toMatchObject({
      verdict: 'deny',
      reason: /ruleArg/,
    });
    for (const path of ['*', 'a?', '../x', 'a\nb', ' a', 'a\u200bb']) {
      expect(check(always, request({ args: { path } })), path).toMatchObject({ verdict: 'deny', reason: /always/ });
    }
    for (const access of ['send', 'spend', 'delete', 'execute'] as const) {
      expect(check(always, request(), tool(access))).toMatchObject({ verdict: 'deny', reason: /access/ });
    }
  });
  test('always is refused where a flow asked, since no such rule was shown', () => {
    const asked = request({ reason: 'flow' });
    expect(asked.always).toBeUndefined();
    expect(check({ decision: 'allow', always: true }, asked)).toMatchObject({
      verdict: 'deny',
      reason: /what a flow asks for is allowed once/,
    });
    expect(check({ decision: 'allow' }, asked).verdict).toBe('allow');
  });
  test('a doubt is resolved by its own three answers', () => {
    const doubt = request({ reason: 'unknown' });
    for (const decision of ['happened', 'retry', 'failed']) {
      expect(check({ decision }, doubt)).toEqual({ verdict: 'resolved', decision: { decision } });
    }
    expect(check({ decision: 'allow' }, doubt)).toMatchObject({ verdict: 'deny', reason: /happened, retry or failed/ });
  });
});
