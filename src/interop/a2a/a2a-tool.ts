import type { AgentCard } from '@a2a-js/sdk';
import { defineForeignLeaf } from '../../core/call/define-tool.ts';
import type { LeafTool, ToolContext } from '../../core/contract/tool.ts';
import { short } from '../../core/schema/issue-text.ts';
import { ConfigurationError } from '../../core/values/errors.ts';
import type { Json } from '../../core/values/json.ts';
import { checkFunction, checkOptions, checkPositive, checkWhole, shown } from '../../core/values/options.ts';
import type { FollowOptions } from '../../tools/fetch/follow.ts';
import type { ForeignToolOptions } from '../foreign-tool.ts';
import { RemoteAgent } from './remote-agent.ts';
import { clientSdk } from './sdk.ts';

/** The input that another agent asks for before it continues. */
export interface InputRequest {
  readonly text: string;
  /** Data beside the text; null if there is none. */
  readonly data: Json;
}

/** What {@link a2aTool} takes beside the address. */
export interface A2AToolOptions<Deps = unknown> extends ForeignToolOptions, FollowOptions {
  /** Default: the card's name, with what a tool's name cannot hold as `_`. */
  readonly name?: string | undefined;
  /** SHA-256 of the card that you have accepted; without it, the one that is there when the tool is made. A call is refused once it is another. */
  readonly cardHash?: string | undefined;
  /** Hosts that may be called beside the host of the card. */
  readonly hosts?: readonly string[] | undefined;
  /** Hosts that may be in a private network or on this machine. Default none. */
  readonly localHosts?: readonly string[] | undefined;
  /** Headers of each request, such as a token. They are never shown, logged or recorded. */
  readonly headers?: Headers | ((context: ToolContext<Deps>) => Headers | Promise<Headers>) | undefined;
  /** Returns the input that the agent asks for: a text, or data. Default: the call fails with the agent's question, and the agent's task is cancelled. */
  readonly onInput?: ((request: InputRequest, context: ToolContext<Deps>) => Json | Promise<Json>) | undefined;
  /** Bytes of all that the agent answers to one call. Default 4,194,304. */
  readonly maxBytes?: number | undefined;
}

type Headers = { readonly [name: string]: string };

const OWN = ['cardHash', 'hosts', 'localHosts', 'headers', 'onInput', 'maxBytes', 'resolve', 'connect', 'maxRedirects'];
const OF_TOOL = [
  ...[
    'name',
    'description',
    'access',
    'risk',
    'idempotent',
    'onUnknownOutcome',
    'timeoutMs',
    'graceMs',
    'maxResultChars',
  ],
  ...['needsApproval', 'result', 'ruleArg', 'parallel', 'repeatable', 'aliases'],
];
const TIMEOUT_MS = 300_000;

/**
 * Another agent as a tool (access `execute`): its card is read now and pinned, each call is a separate task, whose progress is shown. An abort cancels the task. The agent's answers are untrusted; hosts, addresses and sizes are bounded.
 *
 * @throws ConfigurationError (the promise rejects) that names the option, or says why the card cannot be read.
 * @example const weather = await a2aTool('https://weather.example.org', { headers: { authorization: `Bearer ${key}` } });
 */
export async function a2aTool<Deps = unknown>(
  address: string,
  options: A2AToolOptions<Deps> = {},
): Promise<LeafTool<{ readonly task: string }, Json, Deps>> {
  checkOptions('a2aTool', options, [...OF_TOOL, ...OWN]);
  checkPositive('a2aTool.timeoutMs', options.timeoutMs);
  checkWhole('a2aTool.maxBytes', options.maxBytes, 1);
  for (const name of ['onInput', 'resolve', 'connect'] as const) checkFunction(`a2aTool.${name}`, options[name]);
  const url = cardUrl(address);
  const sdk = await clientSdk();
  const remote = new RemoteAgent(sdk, url, options as A2AToolOptions<never>);
  const card = await remote.pin();
  const given = Object.fromEntries(OF_TOOL.map((key) => [key, options[key as keyof ForeignToolOptions]]));
  return defineForeignLeaf({
    ...given,
    name: options.name ?? toolName(card.name),
    description: options.description ?? descriptionOf(card),
    access: options.access ?? 'execute',
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    input: TASK,
    execute: (input, context) => remote.call((input as { readonly task: string }).task, context as ToolContext<never>),
  }) as unknown as LeafTool<{ readonly task: string }, Json, Deps>;
}

const TASK = {
  type: 'object',
  properties: { task: { type: 'string', description: 'What the agent is to do, with all it needs to know' } },
  required: ['task'],
  additionalProperties: false,
} as const;

function cardUrl(address: unknown): URL {
  const url = typeof address === 'string' ? URL.parse(address) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || `${url.username}${url.password}` !== '')
    throw new ConfigurationError('a2aTool', `${shown(address)} is no address`, "Write 'https://agent.example.org'.");
  if (!url.pathname.endsWith('.json')) url.pathname = `${url.pathname.replace(/\/+$/, '')}/.well-known/agent-card.json`;
  return url;
}

function toolName(name: string): string {
  return (
    name
      .replace(/[^\w-]/g, '_')
      .replace(/^[^a-zA-Z]+/, '')
      .slice(0, 64) || 'agent'
  );
}

/** The card's own description for the model, shortened, without facts that only a client needs. */
function descriptionOf({ name, description, skills }: AgentCard): string {
  const can = skills.map((skill) => `${skill.name}: ${skill.description}`).join('; ');
  return short(`${description || name}${can === '' ? '' : ` (${can})`}`, 1_000);
}
