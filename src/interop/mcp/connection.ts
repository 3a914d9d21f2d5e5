import type { Progress as Reported } from '@modelcontextprotocol/client';
import type { LeafTool, McpFacts, Progress, ToolContext } from '../../core/contract/tool.ts';
import type { OpenSource } from '../../core/contract/tool-source.ts';
import { DivergenceError, ToolError } from '../../core/values/errors.ts';
import { isPlainObject, type Json } from '../../core/values/json.ts';
import { LONGEST_TIMER_MS } from '../../core/values/time.ts';
import { traceCarrier } from '../../telemetry/otel/carrier.ts';
import { callError } from './call-error.ts';
import { type ConnectOptions, connect, type LiveServer, orAborted, type RevisionMemo } from './connect.ts';
import { type Offer, type OfferedTool, pinOf, readOffer, toolsOf } from './offer.ts';
import { loadClient } from './sdk.ts';
import { startText } from './server-start.ts';
import { toolResult } from './tool-result.ts';
import type { McpToolSettings } from './tool-settings.ts';

export type McpOptions = ConnectOptions & McpToolSettings;

const LIST_TIMEOUT_MS = 30_000;
const LONGEST_NOTE = 500;

/** The connection of one run to one server: opened when it is first needed, its tools pinned as the run first saw them, closed with the run. */
export class Connection implements OpenSource {
  readonly #name: string;
  readonly #options: McpOptions;
  readonly #revision: RevisionMemo;
  readonly #over = new AbortController();
  #live: Promise<LiveServer> | undefined;
  #listing: Promise<OfferedTool[]> | undefined;
  /** The hash of each tool when the run first saw it. */
  readonly #pins = new Map<string, string>();
  /** Whether the server may have other tools now. */
  #isStale = false;
  #stopped: ToolError | undefined;

  constructor(name: string, options: McpOptions, revision: RevisionMemo) {
    this.#name = name;
    this.#options = options;
    this.#revision = revision;
  }

  async offer(signal: AbortSignal): Promise<Json> {
    const live = await orAborted(this.#connected(), signal);
    const tools = await orAborted(this.#list(live), signal);
    return { server: this.#name, start: startText(this.#options), protocol: live.protocol, tools } satisfies Offer;
  }

  tools(recorded: Json): readonly LeafTool[] {
    const offer = readRecorded(recorded);
    const now = startText(this.#options);
    if (offer.server !== this.#name || offer.start !== now) throw otherStart(this.#name, offer, now);
    for (const one of offer.tools) if (!this.#pins.has(one.tool)) this.#pins.set(one.tool, pinOf(one));
    // In a resumed run the tools are listed again before the first call.
    if (this.#live === undefined) this.#isStale = true;
    return toolsOf(offer, this.#options, this.#facts(), (tool, args, context) => this.#call(tool, args, context));
  }

  async close(): Promise<void> {
    this.#over.abort(new ToolError('threw', `The run that the server ${this.#name} was opened for is over`));
    const live = await this.#live?.catch(() => undefined);
    await live?.close();
  }

  #facts(): Omit<McpFacts, 'server' | 'tool' | 'protocol'> {
    const { command, url } = this.#options;
    if (command !== undefined) return { transport: 'pipe' };
    const { hostname, port, protocol } = new URL(url);
    return {
      transport: 'tcp',
      address: hostname,
      port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    };
  }

  async #call(tool: OfferedTool, args: never, context: ToolContext): Promise<unknown> {
    if (this.#stopped !== undefined) throw this.#stopped;
    const { signal } = context;
    const live = await orAborted(this.#connected(), signal);
    if (this.#isStale) await orAborted(this.#list(live), signal);
    if (this.#stopped !== undefined) throw this.#stopped;
    const sdk = await loadClient();
    try {
      const result = await live.client.callTool(
        { name: tool.tool, arguments: args, _meta: { ...traceCarrier() } },
        {
          signal,
          // The run's own timer applies: it aborts the signal.
          timeout: LONGEST_TIMER_MS,
          toolDefinition: definitionOf(tool),
          onprogress: (progress) => context.progress(progressOf(progress)),
        },
      );
      return toolResult(result, tool.tool);
    } catch (thrown) {
      signal.throwIfAborted();
      const isUnsafe = (this.#options.tools?.[tool.tool] || this.#options).access !== 'read';
      throw callError(sdk, thrown, { server: this.#name, tool: tool.tool, complaint: live.complaint, isUnsafe });
    }
  }

  #connected(): Promise<LiveServer> {
    if (this.#stopped !== undefined) return Promise.reject(this.#stopped);
    this.#over.signal.throwIfAborted();
    if (this.#live === undefined) {
      const listener = {
        changed: () => {
          this.#isStale = true;
        },
        closed: () => {
          // Another server process may answer the next call, so its tools are listed first.
          this.#live = undefined;
          this.#isStale = true;
        },
      };
      const live = connect(this.#name, this.#options, {
        listener,
        revision: this.#revision,
        signal: this.#over.signal,
      });
      this.#live = live;
      live.catch(() => {
        if (this.#live === live) this.#live = undefined;
      });
    }
    return this.#live;
  }

  /** The server's current tools. Simultaneous callers share one request. */
  #list(live: LiveServer): Promise<OfferedTool[]> {
    this.#listing ??= this.#listed(live).finally(() => {
      this.#listing = undefined;
    });
    return this.#listing;
  }

  async #listed({ client, complaint }: LiveServer): Promise<OfferedTool[]> {
    const sdk = await loadClient();
    this.#isStale = false;
    const timeout = this.#options.startTimeoutMs ?? LIST_TIMEOUT_MS;
    const { signal } = this.#over;
    const { tools } = await client
      .listTools(undefined, { timeout, signal, cacheMode: 'bypass' })
      .catch((thrown: unknown) => {
        const of = { server: this.#name, tool: 'tools/list', complaint, isUnsafe: false };
        throw callError(sdk, thrown, of);
      });
    const offered = readOffer(tools, this.#name, this.#options);
    for (const one of offered) {
      const pin = this.#pins.get(one.tool);
      if (pin === undefined) this.#pins.set(one.tool, pinOf(one));
      else if (pin !== pinOf(one)) throw this.#stop(one.tool);
    }
    return offered;
  }

  /** A tool differs from the one that the run first saw or a person approved, so no tool of this server is called any more. */
  #stop(tool: string): ToolError {
    const problem = `The server ${this.#name} changed its tool ${tool} after the run had begun, so none of its tools is called any more. Look at it (cox mcp list), then start a new run.`;
    this.#stopped = new ToolError('denied', problem, { code: 'tool_definition_changed' });
    void this.#live?.then((live) => live.close()).catch(() => {});
    return this.#stopped;
  }
}

/** The SDK checks answers against the pinned schema. */
function definitionOf({ tool, inputSchema, outputSchema }: OfferedTool) {
  const input = { ...inputSchema, type: 'object' as const };
  return { name: tool, inputSchema: input, ...(outputSchema !== undefined && { outputSchema }) };
}

function progressOf({ progress, total, message }: Reported): Progress {
  const note = message === undefined ? {} : { note: message.slice(0, LONGEST_NOTE) };
  return { done: progress, ...(total !== undefined && { total }), ...note };
}

function readRecorded(recorded: Json): Offer {
  if (isPlainObject(recorded) && typeof recorded.start === 'string' && Array.isArray(recorded.tools))
    return recorded as unknown as Offer;
  throw new ToolError('threw', 'what is recorded of a server’s tools is no offer', { code: 'mcp_names' });
}

function otherStart(name: string, offer: Offer, now: string): DivergenceError {
  const key = `@tools.${name}`;
  const message = `${key}: the run began with ${offer.server} as \`${offer.start}\`, and ${name} is now \`${now}\`. Give it the same server, or start a new run.`;
  return new DivergenceError(key, ['mcp'], message, [{ part: 'mcp', recorded: offer.start, now }]);
}
