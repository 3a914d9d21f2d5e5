import type { Command } from 'commander';
import { strictJson } from '../../core/schema/strict-json.ts';
import { ConfigurationError, messageOf, ToolError } from '../../core/values/errors.ts';
import { isPlainObject } from '../../core/values/json.ts';
import type { ConnectOptions, LiveServer } from '../../interop/mcp/connect.ts';
import { EXIT } from '../exit-code.ts';
import { report, visible, visibleLines } from '../visible.ts';

interface Options {
  readonly url?: string;
  readonly tokenEnv?: string;
  readonly env?: readonly string[];
  readonly protocol?: 'auto' | '2025' | '2026';
  readonly timeout: string;
  readonly json?: boolean;
  readonly pins?: boolean;
}

const SERVER = `
The server is a command after --, or --url. A command gets HOME, LOGNAME, PATH, SHELL, TERM, USER and what --env names.`;

/** `cox mcp …`: try an MCP server by hand. Passes the exit code to `setCode`. */
export function addMcpCommand(program: Command, setCode: (code: number) => void): void {
  const mcp = program.command('mcp').description('Try an MCP server by hand.');
  const command = (usage: string, description: string) =>
    mcp
      .command(usage)
      .description(description)
      .option('--url <url>', 'a server over HTTP')
      .option('--token-env <name>', 'with --url: the environment variable that holds the token')
      .option('--env <names...>', 'with a command: variables of this environment that it gets')
      .option('--protocol <revision>', '2025, 2026 or auto', 'auto')
      .option('--timeout <seconds>', 'for the start, and for a call', '30')
      .option('--json', 'as JSON')
      .addHelpText('after', SERVER);
  command('list [command...]', 'List what the server offers, as an agent would have it.')
    .option('--pins', 'the hashes of its tools, for the option `pins` of mcpTools')
    .action(async (words: string[], options: Options) => setCode(await withServer(words, options, list)));
  command('call <tool> <arguments> [command...]', 'Call a tool; the arguments are a JSON object.').action(
    async (tool: string, text: string, words: string[], options: Options) => {
      const args = argumentsOf(text);
      setCode(await withServer(words, options, (live) => call(live, tool, args, options)));
    },
  );
}

async function withServer(
  words: readonly string[],
  options: Options,
  work: (live: LiveServer, options: Options) => Promise<number>,
): Promise<number> {
  const { connect } = await import('../../interop/mcp/connect.ts');
  const { checkStart } = await import('../../interop/mcp/server-start.ts');
  const start = startOf(words, options);
  checkStart('server', { ...start });
  const over = new AbortController();
  try {
    const listener = { changed: () => report('the server says that its tools have changed'), closed: () => {} };
    const live = await connect('tried', start, { listener, revision: {}, signal: over.signal });
    try {
      return await work(live, options);
    } finally {
      await live.close();
    }
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) throw thrown;
    if (thrown instanceof ToolError && thrown.code === 'mcp_unauthorized') {
      const mend = 'Write --token-env and the name of the variable that holds its token.';
      throw new ConfigurationError('--token-env', 'the server refuses us (401)', mend);
    }
    report(visible(messageOf(thrown)));
    return EXIT.failed;
  }
}

function startOf([command, ...args]: readonly string[], options: Options): ConnectOptions {
  const { url, protocol = 'auto' } = options;
  const common = { protocol, startTimeoutMs: Number(options.timeout) * 1_000 };
  if (!(common.startTimeoutMs > 0))
    throw new ConfigurationError('--timeout', `got ${options.timeout}`, 'Write seconds, such as 30.');
  if (!['auto', '2025', '2026'].includes(protocol))
    throw new ConfigurationError('--protocol', `got ${protocol}`, 'Write 2025, 2026 or auto.');
  if (command !== undefined && url !== undefined)
    throw new ConfigurationError('--url', 'there is a command as well', 'Give one of them.');
  if (command !== undefined) {
    const env = Object.fromEntries((options.env ?? []).map((name) => [name, variable('--env', name)]));
    return { command, args, env, stderr: 'inherit', ...common };
  }
  if (url === undefined) throw new ConfigurationError('server', 'missing', 'Write --url <url>, or a command after --.');
  const token = options.tokenEnv === undefined ? undefined : variable('--token-env', options.tokenEnv);
  return { url, ...common, ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }) };
}

function variable(option: string, name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== '') return value;
  throw new ConfigurationError(option, `the variable ${name} is not set`, 'Set it.');
}

function argumentsOf(text: string): Record<string, unknown> {
  const read = strictJson(text);
  if (read.ok && isPlainObject(read.value)) return { ...read.value };
  const problem = read.ok ? 'they are no object' : read.message;
  throw new ConfigurationError('arguments', problem, `Write a JSON object: '{"path":"README.md"}'.`);
}

async function list({ client, protocol }: LiveServer, { json, pins }: Options): Promise<number> {
  const { readOffer, pinOf } = await import('../../interop/mcp/offer.ts');
  const { tools } = await client.listTools();
  const offered = readOffer(tools, 'tried', {});
  if (pins) print(JSON.stringify(Object.fromEntries(offered.map((one) => [one.tool, pinOf(one)])), null, 2));
  else if (json) for (const one of offered) print(JSON.stringify({ ...one, pin: pinOf(one) }));
  else {
    const { name = 'a server without a name', version = '' } = client.getServerVersion() ?? {};
    print(`${visible(name)} ${visible(version)}, revision ${visible(protocol)}`);
    for (const { tool, description, inputSchema } of offered) {
      print(`\n${visible(tool)} ${visible(JSON.stringify(inputSchema.properties ?? {}))}`);
      print(visibleLines(description));
    }
    if (offered.length === 0) print('no tools');
  }
  return EXIT.done;
}

async function call(
  { client }: LiveServer,
  tool: string,
  args: Record<string, unknown>,
  options: Options,
): Promise<number> {
  const { toolResult } = await import('../../interop/mcp/tool-result.ts');
  const result = await client.callTool(
    { name: tool, arguments: args },
    {
      timeout: Number(options.timeout) * 1_000,
      onprogress: ({ progress, total, message = '' }) =>
        report(visible(`${progress}${total === undefined ? '' : ` of ${total}`} ${message}`)),
    },
  );
  if (options.json) {
    print(JSON.stringify(result));
    return result.isError ? EXIT.failed : EXIT.done;
  }
  try {
    const value = toolResult(result, tool);
    print(typeof value === 'string' ? visibleLines(value) : JSON.stringify(value, null, 2));
    return EXIT.done;
  } catch (thrown) {
    if (!(thrown instanceof ToolError)) throw thrown;
    report(visibleLines(thrown.message));
    return EXIT.failed;
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
