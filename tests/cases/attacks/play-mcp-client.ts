import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defineAgent } from 'coxswain';
import { mcpTools } from 'coxswain/mcp';
import { scriptedModel } from 'coxswain/testing';
import { type Shown, showRun } from './shown.ts';

/** http-ui, `client: mcp`: a server that wants us to log in, and says where. Nobody is sent anywhere that is no page. */
export async function playMcpClient(metadata: { readonly [name: string]: unknown }): Promise<Shown> {
  const sent: string[] = [];
  let base = '';
  const server = createServer((request, response) => {
    const answer = (body: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const path = request.url ?? '';
    if (path.includes('oauth-protected-resource')) answer({ resource: `${base}/mcp`, authorization_servers: [base] });
    else if (path.includes('.well-known')) answer({ ...PLAIN(base), ...metadata });
    else if (path.includes('register')) answer({ client_id: 'c', redirect_uris: ['http://127.0.0.1/back'] });
    else
      response
        .writeHead(401, {
          'www-authenticate': `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource"`,
        })
        .end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const auth = providerOf((url) => sent.push(url.href));
  const tools = [mcpTools({ name: 'away', url: `${base}/mcp`, auth, startTimeoutMs: 5_000 })];
  const agent = defineAgent({ name: 'caller', instructions: 'Call.', tools });
  const shown = await showRun(agent, 'go', { model: scriptedModel(['done']) });
  server.close();
  const message = shown.result !== undefined && 'error' in shown.result ? shown.result.error.message : '';
  const refusal = {
    kind: 'denied',
    code: /is none that a person is sent to/.test(message) ? 'net_url_denied' : undefined,
    message,
  };
  return { ...shown, outcome: sent.length > 0 ? 'allowed' : 'denied', refusal };
}

const PLAIN = (base: string) => ({
  issuer: base,
  authorization_endpoint: `${base}/login`,
  token_endpoint: `${base}/token`,
  registration_endpoint: `${base}/register`,
  response_types_supported: ['code'],
  grant_types_supported: ['authorization_code'],
  code_challenge_methods_supported: ['S256'],
});

function providerOf(redirect: (url: URL) => void) {
  let verifier = '';
  let client: object | undefined;
  return {
    redirectUrl: 'http://127.0.0.1/back',
    clientMetadata: { client_name: 'case', redirect_uris: ['http://127.0.0.1/back'] },
    clientInformation: () => client as never,
    saveClientInformation: (given: object) => {
      client = given;
    },
    tokens: () => undefined,
    saveTokens: () => {},
    redirectToAuthorization: redirect,
    saveCodeVerifier: (given: string) => {
      verifier = given;
    },
    codeVerifier: () => verifier,
  };
}
