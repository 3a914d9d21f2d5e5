// Bounded, so that a long text without an address takes no longer than its length.
const URLS = /[a-z][a-z0-9+.-]{0,30}:[\\/]{2}[^\s"'<>]+/giu;
const MAIL_HOST = /@([^\s@<>"',;:/?#()]+)/gu;
const HOST = /^[^\s@<>"',;:/?#()]+$/u;
/** No name of a host is longer (RFC 1035), and reading one takes its time. */
const MAX_HOST = 253;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

/** A text with host names in their ASCII form, since letters of two scripts can look the same. */
export function asciiHosts(shown: string, texts: readonly string[]): string {
  const hosts = texts.flatMap(hostsOf).filter((host) => /[^ -~]/.test(host) && !HIDDEN.test(host));
  // The longest first: one may be the end of another.
  const ordered = [...new Set(hosts)].sort((a, b) => b.length - a.length);
  return ordered.reduce((text, host) => text.replaceAll(host, ascii(host) ?? host), shown);
}

/** The host of a URL, if it differs from the host that a reader sees. */
export function hostWarnings(text: string): string[] {
  const warnings = new Set<string>();
  for (const [url] of text.matchAll(URLS)) {
    const literal = literalHost(url);
    if (literal === undefined || literal.host.length > MAX_HOST || !URL.canParse(url)) continue;
    const { host } = new URL(url);
    if (host === '') continue;
    if (literal.user || bare(literal.host) !== bare(host)) warnings.add(`leads to the host ${host}`);
  }
  for (const host of hostsOf(text)) {
    const form = ascii(host);
    if (form !== undefined && form !== host.toLowerCase() && /[^ -~]/.test(host))
      warnings.add(`leads to the host ${form}`);
  }
  return [...warnings];
}

/** The hosts of URLs and mail addresses, and of a text that is only a host name. */
function hostsOf(text: string): string[] {
  const urls = [...text.matchAll(URLS)].flatMap(([url]) => literalHost(url)?.host ?? []);
  const mails = [...text.matchAll(MAIL_HOST)].flatMap(([, host]) => host ?? []);
  const own = HOST.test(text) && /[.。．｡]/.test(text) ? [text] : [];
  const all = [...urls.map((host) => host.replace(/:\d*$/, '')), ...mails, ...own];
  return all.filter((host) => host.length <= MAX_HOST);
}

function literalHost(url: string): { readonly host: string; readonly user: boolean } | undefined {
  const authority = /^[^:]*:[\\/]{2,}([^\\/?#]*)/u.exec(url)?.[1];
  if (authority === undefined || authority === '') return undefined;
  const at = authority.lastIndexOf('@');
  return { host: authority.slice(at + 1), user: at !== -1 };
}

function ascii(host: string): string | undefined {
  const url = `http://${host}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** A host without its case and its default port. */
function bare(host: string): string {
  return host.toLowerCase().replace(/:(?:80|443)?$/, '');
}
