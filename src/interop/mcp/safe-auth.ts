import type { AuthProvider, OAuthClientProvider } from '@modelcontextprotocol/client';
import { ToolError } from '../../core/values/errors.ts';

/** What a shell, or whatever opens a browser, gives a meaning to; an address has these as `%24` and the like. */
const MEANS_SOMETHING = /[^\w\-.~:/?#[\]@!*+,=%&]/;

/**
 * Wraps a provider so that a person is only sent to a web page: the server chooses the login address, and applications pass it
 * to a program that opens a browser (CVE-2025-6514).
 */
export function safeAuth(auth: AuthProvider | OAuthClientProvider): AuthProvider | OAuthClientProvider {
  if (!('redirectToAuthorization' in auth)) return auth;
  return new Proxy(auth, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (name !== 'redirectToAuthorization') return member.bind(target);
      return (url: URL) => {
        checkPage(url);
        return target.redirectToAuthorization(url);
      };
    },
  });
}

function checkPage(url: URL): void {
  const isLocal = url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(url.hostname);
  const isWeb = url.protocol === 'https:' || (url.protocol === 'http:' && isLocal);
  if (isWeb && url.username === '' && url.password === '' && !MEANS_SOMETHING.test(url.href)) return;
  const problem = `its address to log in at (${url.protocol}//${url.host}) is none that a person is sent to: it is no https, or holds signs that mean something to a shell`;
  throw new ToolError('denied', problem, { code: 'net_url_denied' });
}
