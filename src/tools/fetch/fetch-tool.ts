import { defineTool } from '../../core/call/define-tool.ts';
import type { LeafTool } from '../../core/contract/tool.ts';
import { short } from '../../core/schema/issue-text.ts';
import { ConfigurationError, ToolError } from '../../core/values/errors.ts';
import { checkFunction, checkOptions, checkPositive, checkWhole, shown } from '../../core/values/options.ts';
import { type HostRule, readHost, type UrlRules } from './allowed-url.ts';
import { follow, networkFailure } from './follow.ts';
import { type Page, readPage } from './read-page.ts';
import type { Connect } from './send-request.ts';

/** What {@link fetchTool} takes. */
export interface FetchOptions {
  /** The allowed hosts: `docs.example.org`, `*.example.org` (all subdomains), `*` (any), each optionally with `:port`. */
  readonly hosts: readonly string[];
  /** Hosts in the same form that may be in a private network or on this machine. Default none. */
  readonly localHosts?: readonly string[] | undefined;
  /** Default `['https']`. */
  readonly protocols?: readonly ('https' | 'http')[] | undefined;
  /** Bytes of an answer that are read; the rest is left out with a note. Default 1,048,576. */
  readonly maxBytes?: number | undefined;
  /** Milliseconds for all of it, redirects too. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Redirects that are followed, each judged like the first address. Default 5. */
  readonly maxRedirects?: number | undefined;
  /** Default `fetch_url`. */
  readonly name?: string | undefined;
  /** Characters of a result that the model is shown, front and back. Default 20,000. */
  readonly maxResultChars?: number | undefined;
  /** Resolves a name. Default the system's resolver. Called once per request; the connection uses exactly the checked addresses. */
  readonly resolve?: ((host: string) => Promise<readonly string[]>) | undefined;
  /** Opens the connection to a judged address: through a proxy, or in a test. Default a TCP connection. */
  readonly connect?: Connect | undefined;
}

const OPTIONS = [
  ...['hosts', 'localHosts', 'protocols', 'maxBytes', 'timeoutMs', 'maxRedirects', 'name', 'maxResultChars'],
  ...['resolve', 'connect'],
];

/**
 * `fetch_url` (access `send`, since a URL carries data out; `ruleArg` `url`): reads a page by GET. Hosts by list, no private address
 * whatever a name leads to, no credentials, each redirect judged anew, bounded in bytes and time.
 *
 * @throws ConfigurationError that names the option.
 * @example fetchTool({ hosts: ['*.example.org'] })
 */
export function fetchTool(options: FetchOptions): LeafTool<{ readonly url: string }, Page> {
  checkOptions('fetchTool', options, OPTIONS);
  const { name = 'fetch_url', protocols = ['https'], timeoutMs = 10_000, maxBytes = 1_048_576 } = options;
  checkPositive('fetchTool.timeoutMs', timeoutMs);
  checkWhole('fetchTool.maxBytes', maxBytes, 1);
  checkWhole('fetchTool.maxRedirects', options.maxRedirects, 0);
  checkWhole('fetchTool.maxResultChars', options.maxResultChars, 1_000);
  checkFunction('fetchTool.resolve', options.resolve);
  checkFunction('fetchTool.connect', options.connect);
  if (!Array.isArray(protocols) || protocols.length === 0 || protocols.some((one) => one !== 'https' && one !== 'http'))
    throw new ConfigurationError(
      'fetchTool.protocols',
      `got ${shown(protocols)}`,
      "Write ['https'] or ['https', 'http'].",
    );
  const hosts = readHosts('fetchTool.hosts', options.hosts);
  const localHosts = readHosts('fetchTool.localHosts', options.localHosts ?? []);
  if (hosts.length + localHosts.length === 0)
    throw new ConfigurationError(
      'fetchTool.hosts',
      'the list is empty',
      "Name who may be asked: ['docs.example.org'].",
    );
  const rules: UrlRules = { protocols, hosts, localHosts };
  const who = [...options.hosts, ...(options.localHosts ?? [])].join(', ');
  return defineTool({
    name,
    description: `Reads a page or file by its URL (GET). Hosts: ${short(who, 500)}.`,
    access: 'send',
    idempotent: true,
    ruleArg: 'url',
    timeoutMs: timeoutMs + 1_000,
    maxResultChars: options.maxResultChars ?? 20_000,
    input: URL_INPUT,
    async execute(input, { signal }): Promise<Page> {
      const { url } = input as { readonly url: string };
      const limit = AbortSignal.timeout(timeoutMs);
      try {
        const either = AbortSignal.any([signal, limit]);
        const { answer, at } = await follow(url, rules, options, either);
        return await readPage(answer, at, maxBytes, either);
      } catch (thrown) {
        if (signal.aborted) throw signal.reason;
        throw limit.aborted ? tooSlow(timeoutMs) : networkFailure(thrown);
      }
    },
  }) as LeafTool<{ readonly url: string }, Page>;
}

const URL_INPUT = {
  type: 'object',
  properties: { url: { type: 'string', description: 'An absolute URL' } },
  required: ['url'],
  additionalProperties: false,
} as const;

function readHosts(field: string, given: unknown): readonly HostRule[] {
  const mend = "List hosts: ['docs.example.org', '*.example.com', 'localhost:8080'].";
  if (!Array.isArray(given)) throw new ConfigurationError(field, `expected an array, got ${shown(given)}`, mend);
  return given.map((text, index) => {
    const host = readHost(text);
    if (host === undefined) throw new ConfigurationError(`${field}[${index}]`, `${shown(text)} is no host`, mend);
    return host;
  });
}

function tooSlow(timeoutMs: number): ToolError {
  return new ToolError('timeout', `no whole answer within ${timeoutMs} ms`, { code: 'net_timeout' });
}
