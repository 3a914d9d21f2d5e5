/**
 * The client under test: an agent that is given the suite's server and calls its tools. The suite appends the address and says
 * the scenario in the environment. Authorization is an application's: here one that follows every redirect by itself.
 */
import { auth, type OAuthClientProvider } from '@modelcontextprotocol/client';
import { defineAgent, type Json, runAgent } from 'coxswain';
import { type McpToolSettings, mcpTools } from 'coxswain/mcp';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';

const url = process.argv.at(-1) ?? '';
const { MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_PROTOCOL_VERSION: version } = process.env;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Json }[];
};
const protocol: McpToolSettings['protocol'] = version?.startsWith('2026') ? '2026' : '2025';

/** What each scenario wants called; an unknown tool is said to be one, and the run goes on. */
const CALLS: { readonly [scenario: string]: readonly (readonly [string, Json])[] } = {
  tools_call: [['add_numbers', { a: 5, b: 3 }]],
  'sse-retry': [['test_reconnection', {}]],
  'elicitation-sep1034-client-defaults': [['test_client_elicitation_defaults', {}]],
  'http-invalid-tool-headers': [['valid_tool', { region: 'us-east1' }]],
  'http-standard-headers': [['test_headers', {}]],
  'sep-2322-client-request-state': [['test_mrtr_echo_state', {}]],
};

const OTHERS = [['test-tool', {}]] as const;

function known() {
  const { client_id, client_secret = '' } = context;
  return client_id === undefined ? undefined : { client_id, client_secret };
}

/** An application's own: keeps what it gets in memory, and its person consents at once. */
class Consenting implements OAuthClientProvider {
  code: URLSearchParams | undefined;
  readonly redirectUrl = 'http://localhost:3000/callback';
  readonly clientMetadataUrl = 'https://conformance-test.local/client-metadata.json';
  readonly clientMetadata = { client_name: 'conformance', redirect_uris: [this.redirectUrl] };
  /** By the server that registered it: another one knows nothing of it. */
  readonly #clients = new Map<string | undefined, Awaited<ReturnType<OAuthClientProvider['clientInformation']>>>();
  #tokens: Awaited<ReturnType<OAuthClientProvider['tokens']>>;
  #verifier = '';
  #discovery: Awaited<ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>>;
  clientInformation: OAuthClientProvider['clientInformation'] = (at) => this.#clients.get(at?.issuer) ?? known();
  saveClientInformation: NonNullable<OAuthClientProvider['saveClientInformation']> = (client, at) => {
    this.#clients.set(at?.issuer, client);
  };
  tokens = () => this.#tokens;
  saveTokens: OAuthClientProvider['saveTokens'] = (tokens) => {
    this.#tokens = tokens;
  };
  codeVerifier = () => this.#verifier;
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier;
  };
  discoveryState = () => this.#discovery;
  saveDiscoveryState: NonNullable<OAuthClientProvider['saveDiscoveryState']> = (state) => {
    this.#discovery = state;
  };
  async redirectToAuthorization(address: URL): Promise<void> {
    const answer = await fetch(address, { redirect: 'manual' });
    this.code = new URL(answer.headers.get('location') ?? '', address).searchParams;
  }
}

const provider = scenario.startsWith('auth/') ? new Consenting() : undefined;

/** Its schema has no null there: what is null is left out, as the scenario allows. */
function withoutNulls(args: Json): Json {
  return Object.fromEntries(Object.entries(args ?? {}).filter(([, value]) => value !== null));
}

async function run() {
  const calls =
    context.toolCalls?.map((call) => [call.name, withoutNulls(call.arguments)] as const) ?? CALLS[scenario] ?? OTHERS;
  const source = mcpTools({ url, protocol, prefix: '', startTimeoutMs: 60_000, ...(provider && { auth: provider }) });
  const agent = defineAgent({ name: 'caller', instructions: 'Call.', tools: [source] });
  const turns = [...calls.map(([name, args]) => callTools(toolCall(name, args))), 'done'];
  const echo = scriptedModel(({ tools, messages }) => {
    const schema = tools.find(({ name }) => name !== 'json_schema_echo')?.parameters;
    if (schema === undefined || messages.length > 1) return { content: [{ type: 'text', text: 'done' }], stop: 'end' };
    return callTools(toolCall('json_schema_echo', { schema }));
  });
  return runAgent(agent, 'go', {
    model: scenario.startsWith('json-schema-2020-12') ? echo : scriptedModel(turns),
    permissions: { mode: 'acceptAll' },
    approve: () => ({ decision: 'allow' }),
  });
}

for (let left = 3; left > 0; left -= 1) {
  const result = await run();
  const told = result.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
  process.stderr.write(
    `${JSON.stringify({ scenario, status: result.status, told, error: 'error' in result && result.error })}\n`,
  );
  const { code } = provider ?? {};
  if (provider === undefined || code === undefined) break;
  provider.code = undefined;
  const authorizationCode = code.get('code') ?? '';
  const iss = code.get('iss');
  await auth(provider, { serverUrl: url, authorizationCode, ...(iss !== null && { iss }) });
}
