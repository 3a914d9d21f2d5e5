import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { here, SOURCE, startedServer } from './started-server.ts';

const CONFORMANCE = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
);
const cwd = mkdtempSync(join(tmpdir(), 'conformance-'));

const OTHER_KINDS = 'agents are served as tools alone: no resources, prompts, completions or logging';
const TEXT_ONLY = 'what an agent answers is text and structured content';
const NO_SAMPLING = 'a served agent has its own model, and asks the client for none; nor for its roots';
const OWN_FORM = 'approvals and answers are asked for with a form of our own, not the one of the scenario';
const NO_INPUT = 'a server that asks our client for a person’s input or a model is refused';

const OWN_PROVIDER =
  'another kind of authorization, which the provider of the application has; the one of this test consents to codes';
const AS_SHOWN = 'a model is shown an object at the root: composition there is folded into it, and $schema left out';
const EXTENSIONS = reasons(OWN_PROVIDER, [
  ...['auth/client-credentials-jwt', 'auth/client-credentials-basic', 'auth/enterprise-managed-authorization'],
  ...['auth/dpop', 'auth/dpop-nonce', 'auth/wif-jwt-bearer'],
]);

/** What fails, and why it may. A scenario that is listed and passes is an error, so that the list stays true. */
const EXPECTED: { readonly [suite: string]: { readonly [scenario: string]: string } } = {
  'server 2025-11-25': {
    ...reasons(OTHER_KINDS, ['logging-set-level', 'completion-complete', 'tools-call-with-logging']),
    ...reasons(OTHER_KINDS, ['resources-list', 'resources-read-text', 'resources-read-binary']),
    ...reasons(OTHER_KINDS, ['resources-templates-read', 'resources-subscribe', 'resources-unsubscribe']),
    ...reasons(OTHER_KINDS, ['prompts-list', 'prompts-get-simple', 'prompts-get-with-args']),
    ...reasons(OTHER_KINDS, ['prompts-get-embedded-resource', 'prompts-get-with-image']),
    ...reasons(TEXT_ONLY, [
      'tools-call-image',
      'tools-call-audio',
      'tools-call-embedded-resource',
      'tools-call-mixed-content',
    ]),
    'tools-call-sampling': NO_SAMPLING,
    ...reasons(OWN_FORM, ['tools-call-elicitation', 'elicitation-sep1034-defaults', 'elicitation-sep1330-enums']),
    'json-schema-2020-12': 'its tool is none of ours',
  },
  'server 2026-07-28': {
    'server-stateless': `${NO_SAMPLING}: there is no tool that needs a capability; all other checks pass`,
    'completion-complete': OTHER_KINDS,
    ...reasons(OTHER_KINDS, [
      'resources-list',
      'resources-read-text',
      'resources-read-binary',
      'resources-templates-read',
    ]),
    ...reasons(OTHER_KINDS, ['prompts-list', 'prompts-get-simple', 'prompts-get-with-args']),
    ...reasons(OTHER_KINDS, ['prompts-get-embedded-resource', 'prompts-get-with-image']),
    ...reasons(TEXT_ONLY, [
      'tools-call-image',
      'tools-call-audio',
      'tools-call-embedded-resource',
      'tools-call-mixed-content',
    ]),
    caching: `${OTHER_KINDS}; its checks of tools/list and server/discover pass`,
    ...reasons(NO_SAMPLING, ['input-required-result-basic-sampling', 'input-required-result-basic-list-roots']),
    ...reasons(NO_SAMPLING, [
      'input-required-result-multiple-input-requests',
      'input-required-result-capability-check',
    ]),
    'input-required-result-non-tool-request': OTHER_KINDS,
    'input-required-result-basic-elicitation': OWN_FORM,
    'json-schema-2020-12': 'its tool is none of ours',
    'http-custom-header-server-validation': 'a served agent declares no header for an argument',
    'tasks-lifecycle': 'no call of an agent ends in an error of the protocol; all other checks pass',
    'tasks-mrtr-composition': OWN_FORM,
    'tasks-required-task-error': 'a served agent can always be called without a task',
  },
  'client 2025-11-25': {
    'elicitation-sep1034-client-defaults': NO_INPUT,
    'json-schema-2020-12-preservation': AS_SHOWN,
    ...EXTENSIONS,
  },
  'client 2026-07-28': {
    'sep-2322-client-request-state': NO_INPUT,
    'auth/authorization-server-migration': OWN_PROVIDER,
    'json-schema-2020-12-preservation': AS_SHOWN,
    ...EXTENSIONS,
  },
};

function reasons(reason: string, scenarios: readonly string[]): { readonly [scenario: string]: string } {
  return Object.fromEntries(scenarios.map((scenario) => [scenario, reason]));
}

/** Runs what a revision requires; each scenario of its summary, and whether it passed. */
async function suite(args: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [CONFORMANCE, ...args], { cwd, maxBuffer: 1e8 }, (_, out, err) =>
      resolve(`${out}${err}`),
    );
  });
  const [, summary = ''] = output.split(/=== (?:SUITE )?SUMMARY ===/);
  return new Map(
    [...summary.matchAll(/^(✓|✗) (\S+): \d+ passed/gm)].map(([, sign, name = '']) => [name, sign === '✓']),
  );
}

const server = startedServer();
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

describe.each(['2025-11-25', '2026-07-28'])('the MCP conformance suite of %s', (revision) => {
  it.each(['server', 'client'] as const)(
    'holds for our %s, but for what is listed',
    { timeout: 600_000 },
    async (side) => {
      const client = `${process.execPath} ${SOURCE} ${here('conformance-client.ts')}`;
      const at = side === 'server' ? ['--url', server.url] : ['--command', client, '--timeout', '120000'];
      const results = await suite([side, ...at, '--requirements', revision]);
      const expected = EXPECTED[`${side} ${revision}`] ?? {};
      expect(results.size).toBeGreaterThan(20);
      const failed = [...results].filter(([, passed]) => !passed).map(([name]) => name);
      for (const name of failed)
        process.stdout.write(`${side} ${revision} ${name}: ${expected[name] ?? 'NOT EXPECTED'}\n`);
      expect(failed.sort()).toEqual(Object.keys(expected).sort());
    },
  );
});
