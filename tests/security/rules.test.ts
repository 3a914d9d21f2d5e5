import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../src/core/values/errors.ts';
import { readRuleValue } from '../../src/security/rule-value.ts';
import { checkRules, namesTool, parseRule, parseRules, scopeHolds } from '../../src/security/rules.ts';

const holds = (rule: string, value: unknown) => scopeHolds(parseRule(rule), readRuleValue(value));

describe('reading a rule', () => {
  test('all parts are read', () => {
    expect(parseRule(' allow! pay ')).toMatchObject({
      effect: 'allow!',
      tool: 'pay',
      scope: undefined,
      text: 'allow! pay',
    });
    expect(parseRule('deny fetch:https://evil.example/**')).toMatchObject({ tool: 'fetch', effect: 'deny' });
    expect(parseRule('ask mcp/files/*').tool).toBe('mcp/files/*');
    expect(parseRule('ask mcp/files/read:a b').scope).toBeDefined();
  });
  test.each([
    '',
    'allow',
    'permit a',
    'allow a b',
    'Allow a',
    'allow a:',
    'allow a:[b]',
    'allow a:{b,c}',
    'allow a:b?',
    'allow a:b\\c',
    'allow 1a',
    'allow mcp/x',
    'allow mcp/*/y',
    'allow a*',
    'allow a:..',
    'allow a:x/../../b',
    'allow a:b\u200b',
    'allow re\u0430d',
  ])('%j is refused with its place', (text) => {
    expect(() => parseRules(['allow ok', text])).toThrow(ConfigurationError);
    expect(() => parseRules(['allow ok', text])).toThrow(/^permissions\.rules\[1\]: /);
  });
  test('a rule that names no tool is refused, and one whose tool has no ruleArg', () => {
    const tools = [{ name: 'pay' }, { name: 'read_file', ruleArg: 'path', aliases: ['cat'] }];
    const check = (rule: string) => () => checkRules(parseRules([rule]), tools);
    expect(check('deny grep_search:*')).toThrow(/permissions\.rules\[0\]: grep_search is no tool/);
    expect(check('allow Read_File')).toThrow(ConfigurationError);
    expect(check('allow mcp/files/*')).toThrow(ConfigurationError);
    expect(check('allow pay:5')).toThrow(/pay has no argument/);
    expect(check('deny *:x')).toThrow(/pay has no argument/);
    for (const fine of ['allow *', 'ask pay', 'deny read_file:x', 'allow cat:x']) expect(check(fine)).not.toThrow();
  });
  test('a server’s wildcard stops at the server', () => {
    const rule = parseRule('allow mcp/files/*');
    expect(namesTool(rule, { name: 'files_read', mcp: { server: 'files', tool: 'read' } })).toBe(true);
    expect(namesTool(rule, { name: 'x', mcp: { server: 'files-evil', tool: 'read' } })).toBe(false);
    expect(namesTool(rule, { name: 'mcp/files/read' })).toBe(true);
    expect(namesTool(rule, { name: 'files' })).toBe(false);
  });
});

describe('what a scope holds for', () => {
  test.each<[string, unknown, boolean]>([
    ['allow t:docs/**', 'docs/../src/k', false],
    ['allow t:docs/**', 'docs//a/./b', true],
    ['allow t:docs/**', './docs/a', true],
    ['allow t:docs/**', 'docs\\a', true],
    ['allow t:docs/**', 'docs\\..\\k', false],
    ['allow t:**', '../k', false],
    ['allow t:**', 'a/../../k', false],
    ['allow t:**', '/etc/passwd', true],
    ['allow t:docs/**', '/docs/a', false],
    ['allow t:a.txt', 'A.txt', false],
    ['allow t:caf\u00e9', 'cafe\u0301', true],
    ['allow t:a.txt', '\uff41.txt', false],
    ['allow t:**', 'a\u200bb', false],
    ['allow t:**', 'a\nb', false],
    ['allow t:*', undefined, true],
    ['allow t:**', undefined, false],
    ['allow t:a/**', ['a/b', 'a/c'], true],
    ['allow t:a/**', ['a/b', 'c'], false],
    ['allow t:a/**', [], false],
    ['allow t:a/**', { path: 'a/b' }, false],
    ['allow t:5', 5, true],
    ['allow t:https://docs.example.com/**', 'https://docs.example.com/a', true],
    ['allow t:https://docs.example.com/**', 'https://docs.example.com@evil.example/a', false],
    ['allow t:https://docs.example.com/**', 'https://docs.example.com/../../evil.example/a', false],
    ['allow t:https://docs.example.com/**', 'https://docs.example.com.evil.example/a', false],
    ['deny t:.env', '.ENV', true],
    ['deny t:.env', './x/../.env', true],
    ['deny t:.env', '.e\u00adnv', true],
    ['deny t:.env', '\uff0eenv', true],
    ['deny t:.env', '.env.', true],
    ['deny t:.env', '.env ', true],
    ['deny t:**/.env', 'a/\u2025/.env', true],
    ['deny t:secrets/**', 'secrets', true],
    ['deny t:secrets/**', 'SECRETS\\a', true],
    ['deny t:stra\u00dfe', 'STRASSE', true],
    ['deny t:a', ['b', 'a'], true],
    ['deny t:https://evil.example/**', 'HTTPS://EVIL.example:443/x', true],
    ['deny t:https://evil.example/**', 'https://%65vil.example/x', true],
    ['deny t:*', undefined, true],
    ['deny t:a', 'b', false],
    ['ask t:A', 'a', true],
  ])('%s on %j is %s', (rule, value, expected) => {
    expect(holds(rule, value)).toBe(expected);
  });
});
