import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { safeAuth } from '../../../src/interop/mcp/connect.ts';

class Provider {
  readonly sent: string[] = [];
  #verifier = 'v';
  redirectToAuthorization(url: URL): void {
    this.sent.push(url.href);
  }
  codeVerifier(): string {
    return this.#verifier;
  }
}

function sentTo(url: string): string[] {
  const provider = new Provider();
  const safe = safeAuth(provider as unknown as OAuthClientProvider) as OAuthClientProvider;
  expect(safe.codeVerifier()).toBe('v');
  void safe.redirectToAuthorization(new URL(url));
  return provider.sent;
}

test.each([
  'https://login.example/authorize?client_id=c&scope=a%20b&state=x-y_z.~',
  'http://127.0.0.1:4000/login',
  'http://localhost/login#a',
])('a person is sent to %s', (url) => {
  expect(sentTo(url)).toEqual([url]);
});

test.each([
  'http://127.0.0.1/$(calc)',
  'https://login.example/a;calc',
  "https://login.example/a'b",
  'https://login.example/?a=`calc`',
  'https://login.example/a|calc',
  'http://login.example/',
  'https://user:word@login.example/',
  'file:///etc/passwd',
  'javascript:alert(1)',
])('and not to %s', (url) => {
  expect(() => sentTo(url)).toThrow(/none that a person is sent to/);
});

test('a provider that gives tokens alone is left as it is', () => {
  const auth = { token: async () => 't' };
  expect(safeAuth(auth as never)).toBe(auth);
});
