import { short } from '../../core/schema/issue-text.ts';
import { ToolError } from '../../core/values/errors.ts';

/** Which addresses a tool may ask for; what of them is a rule of the developer's, not of the model's. */
export interface UrlRules {
  readonly protocols: readonly ('https' | 'http')[];
  readonly hosts: readonly HostRule[];
  /** Hosts that may be in a private network. */
  readonly localHosts: readonly HostRule[];
}

/** One entry of a list of hosts: `docs.example.org`, `*.example.org`, `*`, each with `:port` if wanted. */
export interface HostRule {
  /** In ASCII; begins with `.` if it matches all subdomains; empty for any host. */
  readonly host: string;
  readonly port: string | undefined;
}

export interface AllowedUrl {
  readonly url: URL;
  /** Without the brackets of IPv6. */
  readonly hostname: string;
  readonly port: number;
  readonly isLocal: boolean;
}

/** Undefined where the text is no such entry. */
export function readHost(text: unknown): HostRule | undefined {
  const match = typeof text === 'string' ? /^(\*\.|\*)?(.*?)(?::(\d{1,5}))?$/.exec(text) : null;
  if (match === null) return undefined;
  const [, star, rest = '', port] = match;
  if (star === '*') return rest === '' ? { host: '', port } : undefined;
  if (rest === '' || /[/?#@\\\s]/.test(rest)) return undefined;
  const name = `http://${rest}`;
  // As the WHATWG reads it: lower case, ASCII, an IPv4 address in its usual form.
  if (!URL.canParse(name)) return undefined;
  const { hostname } = new URL(name);
  return { host: star === '*.' ? `.${hostname}` : hostname, port };
}

/**
 * Judges an address by its text; where its name leads is judged later.
 *
 * @throws ToolError `net_url_denied`.
 */
export function allowedUrl(text: string, { protocols, hosts, localHosts }: UrlRules): AllowedUrl {
  const denied = (problem: string) =>
    new ToolError('denied', `${JSON.stringify(short(text, 200))} ${problem}`, { code: 'net_url_denied' });
  if (!URL.canParse(text)) throw denied('is no absolute URL.');
  const url = new URL(text);
  const protocol = url.protocol.slice(0, -1);
  if (!protocols.some((one) => one === protocol)) throw denied(`is no URL of ${protocols.join(' or ')}.`);
  if (url.username !== '' || url.password !== '') throw denied('holds a user or password; leave them out.');
  const isNamed = (rules: readonly HostRule[]) => rules.some((rule) => fits(rule, url));
  const isLocal = isNamed(localHosts);
  if (!isLocal && !isNamed(hosts)) throw denied(`has a host that is not on the list.`);
  const port = url.port === '' ? (protocol === 'https' ? 443 : 80) : Number(url.port);
  return { url, hostname: url.hostname.replace(/^\[|\]$/g, ''), port, isLocal };
}

function fits({ host, port }: HostRule, url: URL): boolean {
  const own = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  if (port !== undefined && port !== own) return false;
  // `example.org.` is the same name.
  const name = url.hostname.replace(/\.$/, '');
  return host === '' || name === host || (host.startsWith('.') && name.endsWith(host));
}
